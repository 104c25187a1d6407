import pandas as pd

s = pd.Series([1, None, 3], dtype="Int64")
print(s, s.sum(), s.isna().tolist(), (s + 1).tolist(), s.dtype)
b = pd.array([True, None, False], dtype="boolean")
print(b, b.sum(), (~b).tolist(), b.fillna(False).tolist())
df = pd.DataFrame({"a": [1, None], "b": ["x", None]}).convert_dtypes()
print(df.dtypes, pd.NA is pd.NA, pd.isna(pd.NA), pd.Series(["a", None], dtype="string").str.upper())
