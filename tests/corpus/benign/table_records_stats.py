from statistics import mean, stdev, quantiles
scores = {"math": [70, 85, 90, 66], "art": [88, 92, 79, 95], "pe": [60, 61, 62, 63]}
for subject, values in scores.items():
    print(f"{subject:>5}: mean={mean(values):6.2f} sd={stdev(values):6.3f} q={[round(q, 1) for q in quantiles(values)]}")
best = max(scores, key=lambda s: mean(scores[s]))
print("best:", best)
columns = list(zip(*scores.values()))
print([round(sum(c) / len(c), 1) for c in columns])
