import pandas as pd

def add_revenue(frame, tax=0.0):
    return frame.assign(revenue=lambda d: d["units"] * d["price"] * (1 + tax))

result = (
    pd.read_csv("sales.csv")
    .rename(columns=str.upper)
    .rename(columns={"UNITS": "units", "PRICE": "price"})
    .pipe(add_revenue, tax=0.2)
    .loc[lambda d: d["revenue"] > 100]
    .sort_values("revenue", ascending=False)
    .head(5)
    .set_index("ORDER_ID")
)
print(result.round(2))
print(result.index.tolist(), result.columns.str.lower().tolist())
