import pandas as pd

df = pd.read_csv("sales.csv")
g = df.groupby(["region", "product"])[["units"]].sum()
print(g.loc["north"])
print(g.loc[("south", "pen"), "units"], g.xs("pen", level="product")["units"].to_dict())
print(g.index.get_level_values("region").unique().tolist(), g.index.names, g.index.nlevels)
print(g.swaplevel().sort_index().head(3))
print(g.groupby(level=0).sum().T)
idx = pd.IndexSlice
print(g.loc[idx[["east", "west"], "book"], :])
print(pd.MultiIndex.from_product([[1, 2], ["a", "b"]]).tolist(), g.reset_index().columns.tolist())
