import pandas as pd

df = pd.read_csv("sales.csv")
df["date"] = pd.to_datetime(df["date"])
df["year"] = df["date"].dt.year
df["month"] = df["date"].dt.month_name()
df["weekday"] = df["date"].dt.day_name()
df["quarter"] = df["date"].dt.quarter
df["week"] = df["date"].dt.isocalendar().week
df["is_weekend"] = df["date"].dt.dayofweek >= 5
print(df[["date", "year", "month", "weekday", "quarter", "week", "is_weekend"]].head())
print(df.groupby("weekday")["units"].sum().reindex(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]))
print((df["date"].max() - df["date"].min()).days)
print(df["date"].dt.strftime("%d/%m/%Y").iloc[0], df["date"].min().strftime("%B %Y"))
