import math
import random
from statistics import fmean, stdev

random.seed(2021)
prices = [100.0]
for _ in range(59):
    prices.append(round(prices[-1] * math.exp(random.gauss(0.001, 0.02)), 2))
returns = [b / a - 1 for a, b in zip(prices, prices[1:])]
len(prices), prices[-1]

# %%
def sma(values, n):
    return [None] * (n - 1) + [fmean(values[i - n + 1:i + 1]) for i in range(n - 1, len(values))]


def drawdown(values):
    peak, worst = values[0], 0
    for v in values:
        peak = max(peak, v)
        worst = min(worst, v / peak - 1)
    return worst


fast, slow = sma(prices, 5), sma(prices, 20)
signals = []
for day in range(20, len(prices)):
    before, now = fast[day - 1] > slow[day - 1], fast[day] > slow[day]
    if before != now:
        signals.append((day, "buy" if now else "sell", prices[day]))
for day, what, price in signals:
    print(f"day {day:>2}: {what:<4} at {price:.2f}")
print(f"last {prices[-1]:.2f}, mean return {fmean(returns):.4%}, volatility {stdev(returns) * math.sqrt(252):.1%}, worst {drawdown(prices):.1%}")
low, high = min(prices), max(prices)
for level in range(5, -1, -1):
    cut = low + (high - low) * level / 5
    print(f"{cut:7.2f} " + "".join("*" if p >= cut else " " for p in prices[::2]).rstrip())
