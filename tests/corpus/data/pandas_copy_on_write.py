import warnings
import numpy as np
import pandas as pd

df = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")})
sub = df[["a"]]
sub["a"] = 0
view = df["a"]
df.loc[0, "a"] = 99
print(df, sub, view.tolist(), df.copy(deep=False).equals(df))
df.loc[len(df)] = [4, "w"]
df.loc["extra"] = {"a": 5, "b": "v"}
df.at["extra", "a"] = 6
df["c"] = df.a.astype(float).where(df.a > 3, np.nan)
df[["d", "e"]] = df[["a", "c"]] * 2
df = df.assign(**{f"x{i}": i for i in range(2)})
df.columns = df.columns.map(str.upper)
df.iloc[0, df.columns.get_loc("A")] = -1
print(df, df.attrs, df.size)
df.drop(index="extra", inplace=True)
df = df.set_axis(list(range(df.shape[1])), axis=1)
print(df.head(2), df.isna().sum().sum(), df.dropna(axis=1).shape, df.fillna(0).iloc[0].tolist())
