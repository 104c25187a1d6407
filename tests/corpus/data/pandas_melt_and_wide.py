import pandas as pd

wide = pd.DataFrame({"student": ["Ann", "Ben", "Cat"], "math": [90, 80, 70], "art": [60, 75, 85]})
long = wide.melt(id_vars="student", var_name="subject", value_name="score")
print(long)
back = long.pivot(index="student", columns="subject", values="score").reset_index()
back.columns.name = None
print(back)
print(pd.wide_to_long(pd.DataFrame({"id": [1, 2], "x1": [3, 4], "x2": [5, 6]}), "x", i="id", j="t"))
print(long.set_index(["student", "subject"]).unstack("subject").stack(future_stack=True).shape)
