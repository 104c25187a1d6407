import pandas as pd

df = pd.read_csv("sales.csv")
summary = df.groupby("product", as_index=False)["units"].sum()
summary.to_csv("summary.csv", index=False)
df[df["region"] == "north"].to_csv("north.csv", index=False, float_format="%.1f", sep=";")
print(pd.read_csv("summary.csv"))
print(pd.read_csv("north.csv", sep=";").shape)
print(summary.to_csv(index=False))
