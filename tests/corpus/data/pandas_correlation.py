import pandas as pd
import numpy as np

df = pd.read_csv("passengers.csv")
corr = df.corr(numeric_only=True)
print(corr.round(2))
pairs = corr.where(np.triu(np.ones(corr.shape), k=1).astype(bool)).stack().sort_values(key=abs, ascending=False)
print(pairs.head(3).round(3))
print(corr["Survived"].drop("Survived").abs().sort_values(ascending=False).index.tolist())
print(round(df["Age"].corr(df["Fare"]), 5))
print(df[["Age", "Fare"]].cov().round(2), df[["Age", "Fare"]].corrwith(df["Pclass"]).round(3).to_dict())
