import numpy as np
import pandas as pd

s = pd.read_csv("prices.csv")["Close"]
r = s.rolling(10)
print(pd.DataFrame({"mean": r.mean(), "std": r.std(), "min": r.min(), "max": r.max(), "med": r.median(), "q": r.quantile(0.9), "skew": r.skew(), "sum": r.sum(), "count": r.count()}).iloc[-1].round(4).to_dict())
print(r.apply(lambda w: w[-1] - w[0], raw=True).iloc[-1].round(4), r.apply(np.ptp, raw=True).iloc[-1].round(4), r.agg(["mean", "std"]).tail(1).round(4).values.tolist(), r.corr(s.shift(1)).iloc[-1].round(4), s.rolling(5, center=True, min_periods=2).mean().head(2).round(4).tolist(), s.expanding(3).std().iloc[-1].round(4), s.ewm(alpha=0.3).std().iloc[-1].round(4), s.ewm(halflife=5).mean().iloc[-1].round(4))
for window in s.iloc[:4].rolling(2):
    print(window.tolist())
