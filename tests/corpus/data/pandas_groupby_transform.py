import pandas as pd

df = pd.read_csv("sales.csv")
df["share"] = df["units"] / df.groupby("region")["units"].transform("sum")
df["rank"] = df.groupby("product")["price"].rank(method="dense", ascending=False)
df["z"] = df.groupby("product")["price"].transform(lambda x: (x - x.mean()) / x.std())
df["running"] = df.groupby("region")["units"].cumsum()
df["n"] = df.groupby("region").cumcount() + 1
print(df[["region", "product", "share", "rank", "z", "running", "n"]].head(10).round(4))
print(df.groupby("region")["share"].sum().round(6).tolist())
