import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"])
df["order_month"] = df["date"].dt.to_period("M")
df["cohort"] = df.groupby("customer_id")["date"].transform("min").dt.to_period("M")
df["period"] = (df["order_month"] - df["cohort"]).apply(lambda d: d.n)
cohorts = df.groupby(["cohort", "period"])["customer_id"].nunique().unstack(fill_value=0)
print(cohorts)
retention = cohorts.divide(cohorts.iloc[:, 0], axis=0).round(2)
print(retention)
print(retention.mean().round(3).to_dict())
