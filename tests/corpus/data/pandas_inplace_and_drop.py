import pandas as pd

df = pd.read_csv("customers.csv")
df.rename(columns={"name": "customer"}, inplace=True)
df.drop(columns=["signup"], inplace=True)
df.sort_values("customer", inplace=True)
df.reset_index(drop=True, inplace=True)
df.insert(0, "row", range(1, len(df) + 1))
col = df.pop("country")
del df["segment"]
print(df.head(3), col.iloc[:2].tolist())
df.index.name = "n"
df.columns = ["a", "b", "c"]
df.index = df.index + 1
print(df.head(2), df.empty, df.size, df.ndim, df.axes[1].tolist())
