import numpy as np
import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"])
g = df.groupby("region")
print(g["units"].agg(["first", "last", "nunique", "idxmax"]), g["units"].cummax().tail(3).tolist(), g["price"].shift(1).isna().sum())
print(g.apply(lambda t: t["units"].corr(t["price"]), include_groups=False).round(4))
print(g["units"].value_counts().head(3), g["product"].unique().map(len).to_dict(), g.sample(1, random_state=0)["order_id"].tolist())
print(g[["units", "price"]].corr().round(3).head(4), g["units"].expanding().mean().tail(2).round(3).tolist(), g["price"].ewm(span=5).mean().tail(1).round(4).tolist())
print(g.pipe(lambda x: x["units"].max() - x["units"].min()).to_dict(), g.ngroup().value_counts().to_dict(), g["units"].diff().describe().round(2)["mean"])
print(df.groupby(["region", pd.cut(df["units"], [0, 10, 20, 40])], observed=True)["price"].mean().unstack().round(2))
print(df.groupby(df["date"].dt.quarter)["units"].sum(), df.groupby(lambda i: i % 3)["units"].sum().tolist(), df.groupby("region", as_index=False, sort=False)["units"].mean().round(2).values.tolist())
for (region, product), part in df.groupby(["region", "product"]):
    if len(part) > 28:
        print(region, product, len(part))
