import pandas as pd

orders = pd.read_csv("sales.csv")
customers = pd.read_csv("customers.csv")
# SELECT segment, product, SUM(units) FROM orders JOIN customers USING (customer_id) GROUP BY 1, 2 HAVING SUM(units) > 100
res = (
    orders.merge(customers, on="customer_id")
    .groupby(["segment", "product"], as_index=False)["units"].sum()
    .query("units > 100")
    .sort_values(["segment", "units"], ascending=[True, False])
)
print(res.to_string(index=False))
window = orders.assign(rn=orders.sort_values("units", ascending=False, kind="stable").groupby("region").cumcount() + 1)
print(window[window["rn"] <= 2].sort_values(["region", "rn"])[["region", "order_id", "units", "rn"]])
