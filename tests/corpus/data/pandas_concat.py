import pandas as pd

a = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
b = pd.DataFrame({"x": [3], "z": [True]})
print(pd.concat([a, b], ignore_index=True))
print(pd.concat({"first": a, "second": b}, names=["part", "row"]))
print(pd.concat([a, a.add_suffix("_2")], axis=1))
print(pd.concat([a["x"], b["x"]]).tolist())
