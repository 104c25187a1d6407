import pandas as pd

df = pd.read_csv("passengers.csv")
mask = (df["Age"] > 30) & (df["Sex"] == "female") | (df["Fare"] > 100)
print(mask.sum(), df.loc[mask, ["Name", "Age"]].head(3).values.tolist())
print(df[df["Age"].between(20, 25)].shape, df[~df["Pclass"].isin([3])].shape)
df.loc[df["Fare"] > df["Fare"].quantile(0.95), "Fare"] = df["Fare"].quantile(0.95)
print(round(df["Fare"].max(), 3), df["Age"].where(df["Age"] > 18).count(), df["Age"].mask(df["Age"] > 60).count())
print(df.iloc[:3, [1, 3]], df.iat[0, 0], df.at[2, "Sex"])
