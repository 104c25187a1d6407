import pandas as pd

class Money:
    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency
    def __add__(self, other):
        return Money(self.amount + getattr(other, "amount", other), self.currency)
    __radd__ = __add__
    def __repr__(self):
        return f"{self.amount:.2f} {self.currency}"
    def __lt__(self, other):
        return self.amount < other.amount

s = pd.Series([Money(5), Money(2.5), Money(9)])
print(s, s.map(lambda m: m.amount).sum(), sum(s), max(s, key=lambda m: m.amount), s.apply(repr).tolist(), sorted(s)[0])
df = pd.DataFrame({"k": ["a", "b", "a"], "m": s, "tags": [["x"], [], ["y", "z"]], "d": [{"n": 1}, {"n": 2}, {}]})
print(df, df.groupby("k")["m"].agg(lambda g: sum(g)), df["tags"].map(len).tolist(), df["d"].map(lambda d: d.get("n", 0)).sum(), df["d"].apply(pd.Series).shape, df.explode("tags")["tags"].tolist())
