import pandas as pd

s = pd.Series(pd.Categorical(["low", "high", "mid", "low"], categories=["low", "mid", "high"], ordered=True))
print(s.sort_values().tolist(), s.cat.codes.tolist(), s.min(), (s > "low").tolist())
s = s.cat.rename_categories({"mid": "medium"}).cat.add_categories(["none"])
print(s.cat.categories.tolist(), s.value_counts().to_dict())
print(s.cat.remove_unused_categories().cat.categories)
print(pd.get_dummies(s, prefix="level", dtype=int))
codes, uniques = pd.factorize(pd.Series(["b", "a", "b"]))
print(codes, uniques)
