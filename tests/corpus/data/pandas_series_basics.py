import pandas as pd

s = pd.Series({"a": 1, "b": 2, "c": 3}, name="n")
print(s["a"], s.b, s[["a", "c"]].tolist(), s.index.tolist(), s.to_dict(), s.sum(), s.mean(), s.median(), s.std(), s.cumsum().tolist())
print(s.add(pd.Series({"a": 10, "d": 1}), fill_value=0))
print(s.idxmax(), s.map(lambda v: v ** 2).tolist(), (s > 1).any(), (s > 1).all(), s.between(1, 2).tolist())
for k, v in s.items():
    print(k, v)
print(s.to_frame().T, s.reset_index().values.tolist(), s.sort_values(ascending=False).head(1).index[0], s.get("z", "none"), s.agg(["min", "max"]).tolist())
