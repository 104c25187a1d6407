import pandas as pd

df = pd.read_csv("sales.csv")
df["revenue"] = df.units * df.price
by = df.groupby("customer_id").revenue.sum().sort_values(ascending=False)
cum = by.cumsum() / by.sum()
n80 = (cum <= 0.8).sum() + 1
print(f"{n80} of {len(by)} customers ({n80 / len(by):.0%}) make 80% of revenue")
abc = pd.cut(cum, [0, 0.8, 0.95, 1.0], labels=list("ABC"))
print(abc.value_counts().sort_index())
print(by.head(3).map("{:,.2f}".format).to_dict())
