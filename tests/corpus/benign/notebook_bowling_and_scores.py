def bowling(rolls):
    total, i = 0, 0
    frames = []
    for frame in range(10):
        if rolls[i] == 10:
            score, i = 10 + sum(rolls[i + 1:i + 3]), i + 1
        elif sum(rolls[i:i + 2]) == 10:
            score, i = 10 + rolls[i + 2], i + 2
        else:
            score, i = sum(rolls[i:i + 2]), i + 2
        total += score
        frames.append(total)
    return frames


def parse(text):
    rolls = []
    for ch in text.replace(" ", ""):
        rolls.append({"X": 10, "-": 0}.get(ch) if ch in "X-" else 10 - rolls[-1] if ch == "/" else int(ch))
    return rolls


for game in ("XXXXXXXXXXXX", "9-9-9-9-9-9-9-9-9-9-", "5/5/5/5/5/5/5/5/5/5/5", "X7/9-X-88/-6XXX81"):
    frames = bowling(parse(game))
    print(f"{game:<24}{frames[-1]:>4}  {' '.join(map(str, frames))}")
try:
    bowling(parse("X"))
except IndexError as e:
    print("unfinished game:", e)
results = {"Lions": "WWDLW", "Bears": "LDWWD", "Hawks": "DDLWW"}
table = sorted(((3 * r.count("W") + r.count("D"), r.count("W"), t) for t, r in results.items()), reverse=True)
for place, (points, wins, team) in enumerate(table, 1):
    streak = len(results[team]) - len(results[team].rstrip(results[team][-1]))
    print(f"{place}. {team:<6}{points:>3} pts {wins} wins, last {results[team][-1]} x{streak}")
