import pandas as pd

ages = pd.Series([3, 17, 18, 25, 40, 64, 65, 90])
print(pd.cut(ages, [0, 18, 65, 120], right=False, labels=["minor", "adult", "senior"]).tolist())
print(pd.cut(ages, 3).value_counts(sort=False))
values, bins = pd.qcut(ages, 4, retbins=True)
print(values.cat.categories, bins)
print(pd.cut(ages, 3).iloc[0].left, pd.cut(ages, 3, include_lowest=True).cat.codes.tolist())
print(pd.IntervalIndex.from_breaks([0, 1, 2]).mid.tolist())
