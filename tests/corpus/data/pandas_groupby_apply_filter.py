import pandas as pd

df = pd.read_csv("sales.csv")
top = df.groupby("region", group_keys=False)[["order_id", "units", "price"]].apply(lambda g: g.nlargest(2, "units"))
print(top)
big = df.groupby("product").filter(lambda g: g["units"].sum() > 900)
print(big["product"].unique())
print(df.groupby("region").size().sort_values())
print(df.groupby("region")["units"].nth(0).tolist())
print(df.groupby("region").ngroups, list(df.groupby("region").groups))
print(df.groupby("region").get_group("north").shape)
