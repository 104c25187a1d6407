import pandas as pd

df = pd.read_csv("sales.csv").head(12)
df["size"] = df["units"].apply(lambda u: "big" if u > 20 else "small")
df["code"] = df["region"].map({"north": "N", "south": "S", "east": "E", "west": "W"})
df["label"] = df.apply(lambda row: f"{row['product']}-{row['code']}-{row.units}", axis=1)
print(df[["size", "code", "label"]])
print(df[["units", "price"]].apply(lambda c: c.max() - c.min()).round(2))
print(df[["units", "price"]].map(lambda v: round(v * 2, 1)).head(2))
print(df.apply(lambda r: pd.Series({"a": r["units"], "b": r["price"]}), axis=1).sum().round(2))
def grade(units, low=5):
    return "C" if units < low else "A"
print(df["units"].apply(grade, low=10).value_counts().to_dict())
