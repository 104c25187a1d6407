import numpy as np
import pandas as pd

df = pd.DataFrame({"x": [1, -999, 3, np.nan], "y": ["?", "b", None, "d"]})
print(df.replace({-999: np.nan, "?": None}))
print(df["x"].replace(-999, 0).fillna(df["x"].mean()))
print(df.fillna({"x": 0, "y": "none"}), df.dropna(how="any").shape, df.dropna(thresh=2).shape)
print(df["y"].combine_first(pd.Series(["A", "B", "C", "D"])).tolist(), df["x"].isna().tolist(), df.count().to_dict())
print(np.select([df["x"] < 0, df["x"] > 2], ["neg", "big"], default="other").tolist())
