import pandas as pd

df = pd.read_csv("sales.csv")
limit = 30
print(df.query("units > @limit and region == 'north'").shape)
print(df.query("region in ['north', 'south'] and not product == 'pen'").shape)
df = df.eval("revenue = units * price")
print(df["revenue"].sum().round(2))
print(df.query("10 < units <= 20")["order_id"].head(3).tolist())
products = ["pen", "book"]
print(len(df.query("product in @products")))
print(df.eval("units * 2 > price").sum())
