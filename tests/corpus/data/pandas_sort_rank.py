import pandas as pd

df = pd.read_csv("sales.csv")
print(df.sort_values(["region", "units"], ascending=[True, False]).head(4))
print(df.nlargest(3, "price")[["order_id", "price"]], df.nsmallest(2, ["units", "price"])["order_id"].tolist())
print(df["units"].rank(pct=True).head(3).round(3).tolist())
print(df["product"].value_counts(normalize=True).round(3))
print(df.sort_values("product", key=lambda s: s.str.len()).iloc[0]["product"], df["units"].idxmax(), df["units"].argmax())
