import pandas as pd
from pandas.api.types import is_numeric_dtype, is_string_dtype

df = pd.read_csv("passengers.csv")
numeric = [c for c in df.columns if pd.api.types.is_numeric_dtype(df[c])]
text = [c for c in df.columns if is_string_dtype(df[c])]
print(numeric, text)
print(is_numeric_dtype(df["Age"]), pd.api.types.is_integer_dtype(df["Pclass"]), pd.api.types.is_datetime64_any_dtype(df["Name"]))
print(pd.api.types.is_bool_dtype(df["Age"] > 3), pd.api.types.is_float_dtype("float32"), pd.api.types.is_list_like([1]))
print(pd.api.types.infer_dtype(["a", 1]), isinstance(df["Embarked"].astype("category").dtype, pd.CategoricalDtype))
df["Embarked"] = df["Embarked"].astype(pd.api.types.CategoricalDtype(["S", "C", "Q"], ordered=True))
print(df["Embarked"].max(), df["Embarked"].cat.ordered)
