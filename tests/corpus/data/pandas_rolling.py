import pandas as pd

df = pd.read_csv("prices.csv", parse_dates=["Date"]).set_index("Date")
df["SMA20"] = df["Close"].rolling(window=20).mean()
df["SMA50"] = df["Close"].rolling(50, min_periods=1).mean()
df["EMA12"] = df["Close"].ewm(span=12, adjust=False).mean()
df["vol"] = df["Close"].pct_change().rolling(21).std() * (252 ** 0.5)
df["max"] = df["Close"].expanding().max()
df["drawdown"] = df["Close"] / df["max"] - 1
print(df.tail(5).round(3))
print("max drawdown", round(df["drawdown"].min(), 4), df["drawdown"].idxmin().date())
df["signal"] = (df["SMA20"] > df["SMA50"]).astype(int)
crosses = df["signal"].diff().fillna(0)
print((crosses == 1).sum(), (crosses == -1).sum())
