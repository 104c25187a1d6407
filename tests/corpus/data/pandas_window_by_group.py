import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"]).sort_values("date")
df["ma3"] = df.groupby("region")["units"].transform(lambda s: s.rolling(3).mean())
df["prev"] = df.groupby("customer_id")["date"].shift()
df["gap"] = (df["date"] - df["prev"]).dt.days
print(df["gap"].describe().round(2))
print(df.groupby("region")["units"].rolling(2).sum().dropna().head(4))
print(df.set_index("date").groupby("region")["units"].resample("ME").sum().unstack(0))
print(df.groupby("region")["units"].pct_change().replace([float("inf")], 0).mean().round(3))
