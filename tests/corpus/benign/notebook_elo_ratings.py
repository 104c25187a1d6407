players = dict.fromkeys(["ann", "bo", "cy", "di"], 1000.0)
games = [("ann", "bo", 1), ("cy", "di", 0.5), ("ann", "cy", 0), ("bo", "di", 1), ("ann", "di", 1), ("bo", "cy", 0), ("ann", "bo", 1)]
K = 32


def expected(a, b):
    return 1 / (1 + 10 ** ((b - a) / 400))


history = {name: [rating] for name, rating in players.items()}
for a, b, score in games:
    change = K * (score - expected(players[a], players[b]))
    players[a] += change
    players[b] -= change
    history[a].append(players[a])
    history[b].append(players[b])

for rank, (name, rating) in enumerate(sorted(players.items(), key=lambda kv: -kv[1]), 1):
    trend = "".join("↑" if y > x else "↓" if y < x else "→" for x, y in zip(history[name], history[name][1:]))
    print(f"{rank}. {name:<4}{rating:8.1f} {trend}")
assert abs(sum(players.values()) - 4000) < 1e-9
print(f"{expected(1200, 1000):.3f} {expected(1000, 1200):.3f}")
