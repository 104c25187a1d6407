import numpy as np
import pandas as pd

y = pd.read_csv("weather.csv", parse_dates=["date"]).set_index("date")["temp"].interpolate().resample("W").mean()
train, test = y[:-8], y[-8:]

def holt(series, alpha, beta, steps):
    level, trend = series.iloc[0], series.iloc[1] - series.iloc[0]
    for v in series.iloc[1:]:
        last = level
        level = alpha * v + (1 - alpha) * (level + trend)
        trend = beta * (level - last) + (1 - beta) * trend
    return np.array([level + (h + 1) * trend for h in range(steps)])

results = {}
for alpha in (0.2, 0.5, 0.8):
    for beta in (0.0, 0.1):
        f = holt(train, alpha, beta, len(test))
        results[alpha, beta] = np.mean(np.abs(f - test.values))
best = min(results, key=results.get)
print(best, round(results[best], 4))
print(pd.Series(results).rename_axis(["alpha", "beta"]).unstack().round(3))
