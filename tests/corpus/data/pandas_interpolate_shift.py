import pandas as pd

df = pd.read_csv("weather.csv", parse_dates=["date"], index_col="date")
print(df["temp"].isna().sum(), df["temp"].interpolate().isna().sum(), df["temp"].ffill().bfill().isna().sum())
df["lag1"] = df["temp"].shift(1)
df["diff7"] = df["temp"].diff(7)
df["pct"] = df["rain"].pct_change().replace([float("inf"), float("-inf")], float("nan"))
print(df.head(9).round(2))
print(df.groupby(df.index.month)["rain"].agg(["sum", "max"]).round(1))
print(df["temp"].idxmax(), df.index[df["rain"] > 20].strftime("%Y-%m-%d").tolist()[:4])
full = df.reindex(pd.date_range(df.index.min(), periods=5, freq="D"))
print(full["rain"].tolist())
