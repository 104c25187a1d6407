import pandas as pd

df = pd.read_csv("customers.csv").set_index("customer_id")
print(df.index[:3], df.index.is_monotonic_increasing, df.index.max(), df.loc[5:7, "name"].tolist(), df.loc[[1, 3]].shape)
idx = pd.Index(["a", "b", "c"])
print(idx.union(["d"]), idx.intersection(["b"]), idx.difference(["a"]), idx.get_loc("b"), idx.tolist(), idx.isin(["a"]), idx.str.upper(), idx.map(lambda v: v * 2), idx.append(pd.Index(["z"])), idx.insert(1, "q"), idx.drop("a"))
s = pd.Series(range(5), index=list("abcde"))
print(s["b":"d"], s.iloc[-2:], s.reindex(["e", "z"], fill_value=0), s.drop("a").head(1), s.rename("n").name, s.take([0, 2]).tolist(), s.loc[lambda x: x > 3], s.first_valid_index(), s.index.get_indexer(["c"]))
print(pd.RangeIndex(0, 10, 2).tolist(), pd.Index([3, 1]).sort_values(), pd.DatetimeIndex(["2024-01-01"]).year[0], pd.MultiIndex.from_tuples([("a", 1)]).get_level_values(0)[0], df.rename_axis("id").index.name, df.reset_index().index)
