import math
import numpy as np
import pandas as pd

df = pd.read_csv("iris.csv")
a, b = (df.loc[df["species"] == s, "petal_length"] for s in ("versicolor", "virginica"))
t = (a.mean() - b.mean()) / math.sqrt(a.var() / len(a) + b.var() / len(b))
print(f"Welch t = {t:.4f}, d = {(a.mean() - b.mean()) / math.sqrt((a.var() + b.var()) / 2):.4f}")
groups = [g["sepal_width"].to_numpy() for _, g in df.groupby("species")]
grand = df["sepal_width"].mean()
ssb = sum(len(g) * (g.mean() - grand) ** 2 for g in groups)
ssw = sum(((g - g.mean()) ** 2).sum() for g in groups)
print("F =", round((ssb / 2) / (ssw / (len(df) - 3)), 4))
obs = pd.crosstab(df["sepal_length"] > 5.8, df["species"]).to_numpy()
exp = np.outer(obs.sum(1), obs.sum(0)) / obs.sum()
print("chi2 =", ((obs - exp) ** 2 / exp).sum().round(4), exp.round(2))
x = np.sort(df["petal_width"])
cdf = np.arange(1, x.size + 1) / x.size
print(np.interp(0.5, cdf, x), df["petal_width"].rank(method="average").iloc[:3].tolist(), df.select_dtypes("number").apply(lambda c: pd.Series({"cv": c.std() / c.mean(), "mad": (c - c.median()).abs().median()})).round(4))
ranks = df[["sepal_length", "petal_length"]].rank()
print("spearman", ranks.corr().iloc[0, 1].round(5), df.select_dtypes("number").agg(["skew", "kurt"]).round(3))
