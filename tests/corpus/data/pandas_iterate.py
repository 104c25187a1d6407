import pandas as pd

df = pd.read_csv("customers.csv").head(3)
for i, row in df.iterrows():
    print(i, row["name"], row.country, type(row).__name__)
for row in df.itertuples(index=False):
    print(row.name, row.segment, row._fields[0], row._asdict()["country"])
for name, column in df.items():
    print(name, column.dtype)
for a, b in zip(df["name"], df["country"]):
    print(f"{a:>20} | {b}")
for c in df:
    print(c, end=" ")
print(list(df.T), len(df), "name" in df)
