import pandas as pd

df = pd.read_csv("sales.csv")
df["revenue"] = df["units"] * df["price"]
out = (
    df.groupby("region")
    .agg(
        orders=("order_id", "count"),
        units=("units", "sum"),
        revenue=("revenue", "sum"),
        avg_price=("price", "mean"),
        spread=("price", lambda s: s.max() - s.min()),
    )
    .sort_values("revenue", ascending=False)
    .round(2)
)
print(out)
print(out.reset_index().to_dict(orient="records")[0])
