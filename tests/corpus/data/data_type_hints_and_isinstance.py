from __future__ import annotations
from typing import Any
import numpy as np
import pandas as pd

def summarise(data: pd.DataFrame | pd.Series | np.ndarray) -> dict[str, Any]:
    if isinstance(data, pd.DataFrame):
        return {"kind": "frame", "cols": list(data.columns)}
    if isinstance(data, pd.Series):
        return {"kind": "series", "name": data.name}
    match data:
        case np.ndarray():
            return {"kind": "array", "shape": data.shape}
        case _:
            return {"kind": type(data).__name__}

print([summarise(d) for d in (pd.DataFrame({"a": [1]}), pd.Series([1], name="s"), np.eye(2), 5)])
print(isinstance(pd.Timestamp("2024"), pd.Timestamp), isinstance(pd.NaT, type(pd.NaT)), pd.Timestamp is type(pd.Timestamp("2024")), isinstance(np.float32(1), (float, np.floating)), isinstance(pd.Index([1]), pd.Index), isinstance(np.random.default_rng(), np.random.Generator), issubclass(pd.DatetimeIndex, pd.Index), isinstance(pd.Interval(0, 1), pd.Interval), isinstance(pd.Categorical(["a"]), pd.Categorical), type(np.array(1.0)).__name__, type(pd.DataFrame().columns).__name__, np.dtype("int64").name, callable(np.sin))
