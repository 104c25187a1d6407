import pandas as pd

df = pd.read_csv("passengers.csv")
missing = df.isna().sum()
percent = (missing / len(df) * 100).round(2)
summary = pd.DataFrame({"missing": missing, "percent": percent})
summary = summary[summary["missing"] > 0].sort_values("percent", ascending=False)
print(summary)
df["Age"] = df["Age"].fillna(df["Age"].median())
df["Embarked"] = df["Embarked"].fillna(df["Embarked"].mode()[0])
print(df[["Age", "Embarked"]].isna().any())
