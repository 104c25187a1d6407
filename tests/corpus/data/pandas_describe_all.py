import pandas as pd

df = pd.read_csv("passengers.csv")
print(df.describe(include="all").T.to_string())
print(df.describe(include=["object", "str"]))
print(df.nunique())
print(df.sample(5, random_state=42))
