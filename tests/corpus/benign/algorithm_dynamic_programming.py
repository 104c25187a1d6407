def knapsack(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]

print(knapsack([(1, 1), (3, 4), (4, 5), (5, 7)], 7))

def lcs(a, b):
    memo = {}
    def go(i, j):
        if i == len(a) or j == len(b):
            return ""
        if (i, j) not in memo:
            if a[i] == b[j]:
                memo[i, j] = a[i] + go(i + 1, j + 1)
            else:
                memo[i, j] = max(go(i + 1, j), go(i, j + 1), key=len)
        return memo[i, j]
    return go(0, 0)
print(lcs("AGGTAB", "GXTXAYB"))
