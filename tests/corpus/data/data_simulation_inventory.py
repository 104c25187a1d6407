import numpy as np
import pandas as pd

rng = np.random.default_rng(10)
stock, log = 50, []
for day in pd.date_range("2024-01-01", periods=30):
    demand = int(rng.poisson(8))
    sold = min(stock, demand)
    stock -= sold
    ordered = 0
    if stock < 20:
        ordered, stock = 40, stock + 40
    log.append({"day": day, "demand": demand, "sold": sold, "ordered": ordered, "stock": stock})
log = pd.DataFrame(log).set_index("day")
log["lost"] = log["demand"] - log["sold"]
print(log.resample("W").agg({"demand": "sum", "sold": "sum", "ordered": "sum", "stock": "last", "lost": "sum"}))
print(f"service level {log['sold'].sum() / log['demand'].sum():.1%}")
