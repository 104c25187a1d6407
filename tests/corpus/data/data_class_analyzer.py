import numpy as np
import pandas as pd

class Analyzer:
    """Reads a table and answers questions."""

    def __init__(self, path):
        self.df = pd.read_csv(path)
        self._cache = {}

    @property
    def numeric(self):
        return self.df.select_dtypes(include=[np.number])

    def summary(self):
        if "summary" not in self._cache:
            self._cache["summary"] = self.numeric.agg(["mean", "std", "min", "max"]).T
        return self._cache["summary"]

    def top(self, column, n=3):
        return self.df.nlargest(n, column)

    def __len__(self):
        return len(self.df)

    def __repr__(self):
        return f"Analyzer(rows={len(self)}, cols={self.df.shape[1]})"

a = Analyzer("passengers.csv")
print(a, a.summary().round(2))
print(a.top("Fare")[["Name", "Fare"]].to_string(index=False))
