import pandas as pd

sales = pd.read_csv("sales.csv")
customers = pd.read_csv("customers.csv")
merged = sales.merge(customers, on="customer_id", how="left", indicator=True, validate="many_to_one")
print(merged["_merge"].value_counts().to_dict())
print(merged.groupby("segment")["units"].sum())
outer = pd.merge(sales, customers, how="outer", on="customer_id")
print(outer.shape, outer["order_id"].isna().sum())
anti = customers[~customers["customer_id"].isin(sales["customer_id"])]
print(len(anti), anti["name"].head(3).tolist())
joined = sales.set_index("customer_id").join(customers.set_index("customer_id"), how="inner", rsuffix="_c")
print(joined.shape)
