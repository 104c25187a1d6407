import pandas as pd

df = pd.read_csv("sales.csv")
g = df.groupby(["region", "product"]).agg({"units": ["sum", "mean"], "price": ["min", "max"]})
g.columns = ["_".join(col) for col in g.columns]
print(g.head(8).round(2))
print(df.groupby("product")["units"].describe().round(1))
for name, group in df.groupby("region"):
    print(name, len(group), group["units"].sum())
