import pandas as pd

df = pd.read_csv("sales.csv")
print(df.shape)
print(df.head())
df.info()
print(df.describe())
print(df.dtypes)
print(df.columns.tolist())
print(df.isnull().sum())
