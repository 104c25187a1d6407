import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"])
df["amount"] = df["units"] * df["price"]
now = df["date"].max() + pd.Timedelta(days=1)
rfm = df.groupby("customer_id").agg({"date": lambda d: (now - d.max()).days, "order_id": "nunique", "amount": "sum"})
rfm.columns = ["recency", "frequency", "monetary"]
rfm["R"] = pd.qcut(rfm["recency"], 4, labels=[4, 3, 2, 1]).astype(int)
rfm["F"] = pd.qcut(rfm["frequency"].rank(method="first"), 4, labels=[1, 2, 3, 4]).astype(int)
rfm["M"] = pd.qcut(rfm["monetary"], 4, labels=[1, 2, 3, 4]).astype(int)
rfm["score"] = rfm[["R", "F", "M"]].sum(axis=1)
rfm["segment"] = rfm["score"].apply(lambda s: "gold" if s >= 10 else "silver" if s >= 7 else "bronze")
print(rfm.sort_values("score", ascending=False).head(5).round(2))
print(rfm.groupby("segment")[["recency", "frequency", "monetary"]].mean().round(1))
