import enum
import numpy as np
import pandas as pd


class Kind(enum.Enum):
    NUMBER = "number"
    TEXT = "text"


def kind_of(column):
    return Kind.NUMBER if pd.api.types.is_numeric_dtype(column) else Kind.TEXT


for name, column in pd.read_csv("iris.csv").items():
    match kind_of(column):
        case Kind.NUMBER:
            print(name, "number", column.mean().round(3))
        case Kind.TEXT | Kind.NUMBER:
            print(name, "text", column.nunique())
for value in (pd.Series([1]), np.arange(2), np.float64(1.5), [Kind.TEXT, 3], {"shape": (2, 3)}, 7):
    match value:
        case pd.Series() | np.ndarray():
            print("values", len(value))
        case np.float64():
            print("float", value)
        case [Kind.TEXT, count]:
            print("text", count)
        case {"shape": (rows, *_)}:
            print("rows", rows)
        case _:
            print("other")
