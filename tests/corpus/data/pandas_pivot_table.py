import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"])
df["month"] = df["date"].dt.to_period("M")
table = df.pivot_table(index="month", columns="region", values="units", aggfunc="sum", fill_value=0, margins=True, margins_name="total")
print(table)
print(df.pivot_table(values=["units", "price"], index="product", aggfunc={"units": "sum", "price": ["mean", "max"]}).round(2))
