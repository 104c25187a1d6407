items = [("map", 9, 150), ("compass", 13, 35), ("water", 153, 200), ("sandwich", 50, 160), ("glucose", 15, 60), ("tin", 68, 45), ("banana", 27, 60)]
capacity = 200

best = [[0] * (capacity + 1) for _ in range(len(items) + 1)]
for i, (_, weight, value) in enumerate(items, 1):
    for w in range(capacity + 1):
        best[i][w] = best[i - 1][w]
        if weight <= w:
            best[i][w] = max(best[i][w], best[i - 1][w - weight] + value)

chosen, w = [], capacity
for i in range(len(items), 0, -1):
    if best[i][w] != best[i - 1][w]:
        name, weight, _ = items[i - 1]
        chosen.append(name)
        w -= weight
print("value:", best[-1][-1], "weight:", capacity - w)
print("take:", ", ".join(reversed(chosen)))


def change(amount, coins):
    ways = [1] + [0] * amount
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
    return ways[amount]


change(100, [1, 5, 10, 25, 50])
print(change(100, [1, 5, 10, 25, 50]), [change(n, (2, 3)) for n in range(8)])
