import pandas as pd

df = pd.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "x", "y", "z"]})
print(df.duplicated().sum(), df.drop_duplicates("a", keep="last"), df[df.duplicated("a", keep=False)].index.tolist())
print(df["a"].is_unique, df.index.is_unique, df["b"].unique(), df["b"].nunique(), df["b"].mode().tolist())
print(df.value_counts(), df.groupby("a")["b"].nunique().to_dict())
