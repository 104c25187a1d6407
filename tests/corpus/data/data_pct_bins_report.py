import numpy as np
import pandas as pd

df = pd.read_csv("passengers.csv")
df["AgeGroup"] = pd.cut(df["Age"], np.arange(0, 91, 15))
rep = df.groupby("AgeGroup", observed=True).agg(n=("Survived", "size"), rate=("Survived", "mean"))
for interval, row in rep.iterrows():
    print(f"{interval.left:>3.0f}-{interval.right:<3.0f} {row['n']:>5.0f} {row['rate']:>7.1%} {'█' * int(row['rate'] * 20)}")
print(rep["rate"].idxmax(), type(rep.index).__name__)
