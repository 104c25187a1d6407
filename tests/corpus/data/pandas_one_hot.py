import pandas as pd

df = pd.read_csv("passengers.csv")[["Sex", "Embarked", "Pclass", "Age"]]
enc = pd.get_dummies(df, columns=["Sex", "Embarked"], drop_first=True, dtype=int)
print(enc.head(3), enc.columns.tolist())
df["Sex_code"] = df["Sex"].astype("category").cat.codes
print(df["Sex_code"].value_counts().to_dict(), df["Pclass"].astype(str).str.cat(df["Sex"], sep="-").value_counts().head(2).to_dict())
norm = (enc["Age"] - enc["Age"].min()) / (enc["Age"].max() - enc["Age"].min())
print(norm.describe().round(3).to_dict())
