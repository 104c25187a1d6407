import pandas as pd
import numpy as np

df = pd.read_csv("passengers.csv")
before = df.memory_usage(deep=False).sum()
for c in df.select_dtypes(include="int64"):
    df[c] = pd.to_numeric(df[c], downcast="integer")
for c in df.select_dtypes(include="float64"):
    df[c] = pd.to_numeric(df[c], downcast="float")
df["Sex"] = df["Sex"].astype("category")
print(df.dtypes.astype(str).to_dict(), df.memory_usage(deep=False).sum() < before, df.select_dtypes(exclude=["number"]).columns.tolist(), df.select_dtypes(["category"]).columns[0])
print(df.dtypes.value_counts().to_dict().values(), df["Age"].dtype == np.float32, df["Sex"].dtype.name, df.astype({"Pclass": str})["Pclass"].str.len().max(), df["Sex"].cat.categories.tolist(), df.convert_dtypes().dtypes.iloc[0])
