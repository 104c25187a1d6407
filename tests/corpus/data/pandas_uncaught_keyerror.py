import pandas as pd

df = pd.read_csv("sales.csv")
print("columns:", list(df.columns))
print(df["profit"].sum())
