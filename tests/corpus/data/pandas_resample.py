import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"], index_col="date").sort_index()
print(df["units"].resample("ME").sum())
print(df.resample("QE").agg({"units": "sum", "price": "mean"}).round(2))
weekly = df["units"].resample("W").sum()
print(weekly.head(), weekly.index.freqstr)
print(df.loc["2024-02", "units"].sum(), df.loc["2024-01-15":"2024-01-20"].shape)
print(df.groupby(pd.Grouper(freq="MS"))["price"].median().round(2).to_dict())
