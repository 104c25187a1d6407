import pandas as pd
import numpy as np

df = pd.read_csv("passengers.csv")
df["Title"] = df["Name"].str.extract(r",\s*([A-Za-z]+)\.", expand=False)
df["FamilySize"] = df["SibSp"] + df["Parch"] + 1
df["IsAlone"] = np.where(df["FamilySize"] == 1, 1, 0)
df["AgeBand"] = pd.cut(df["Age"], bins=[0, 12, 18, 35, 60, 100], labels=["child", "teen", "young", "adult", "senior"])
df["FareBand"] = pd.qcut(df["Fare"], 4, labels=False)
print(df["Title"].value_counts())
print(df.groupby("AgeBand", observed=False)["Survived"].agg(["mean", "count"]).round(3))
print(pd.crosstab(df["Sex"], df["Pclass"], margins=True))
print(df.groupby(["Sex", "Pclass"])["Survived"].mean().unstack().round(3))
print(df["FareBand"].value_counts().sort_index().to_dict())
