import numpy as np
import pandas as pd

df = pd.read_csv("sales.csv")
def wavg(g):
    return np.average(g["price"], weights=g["units"])
print(df.groupby("product")[["price", "units"]].apply(wavg).round(4))
print((df["price"] * df["units"]).sum() / df["units"].sum())
print(df.groupby("region")["price"].quantile([0.1, 0.9]).unstack().round(2))
print(df.groupby("region")["price"].agg(lambda s: np.percentile(s, 75)).round(2).to_dict())
print(df.groupby("region")["price"].agg(["median", np.std, "var", "sem", "skew"]).round(3))
