import pandas as pd

df = pd.read_csv("sales.csv")
p = pd.pivot_table(df, values="units", index=["region"], columns=["product"], aggfunc=["sum", "count"])
print(p, p.columns.levels[0].tolist(), p["sum"].idxmax(axis=1).to_dict(), p.xs("pen", axis=1, level=1).shape)
flat = p.copy()
flat.columns = [f"{a}_{b}" for a, b in flat.columns.to_flat_index()]
print(flat.reset_index().head(2), pd.crosstab(df["region"], df["product"], normalize="index").round(3), pd.crosstab(df["region"], df["product"], values=df["price"], aggfunc="mean").round(2))
st = p["sum"].stack()
print(st.head(3), st.unstack(0).shape, p["sum"].T.sort_values("north").index.tolist(), p["sum"].div(p["sum"].sum(axis=1), axis=0).round(3), p["sum"].apply(lambda r: r.rank(), axis=1).iloc[0].tolist(), p["sum"].cumsum(axis=1).iloc[-1].tolist(), p["sum"].add_prefix("n_").columns.tolist(), p["sum"].squeeze().shape)
print(pd.get_dummies(df["region"]).sum().to_dict(), pd.from_dummies(pd.get_dummies(df["region"])).iloc[0, 0], df.set_index(["region", "product"]).sort_index().loc[("east", "pen")].shape, df.transpose().shape)
