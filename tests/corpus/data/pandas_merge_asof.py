import pandas as pd

quotes = pd.DataFrame({"time": pd.to_datetime(["2024-01-01 09:30:00", "2024-01-01 09:30:02", "2024-01-01 09:30:05"]), "bid": [100.0, 100.5, 101.0]})
trades = pd.DataFrame({"time": pd.to_datetime(["2024-01-01 09:30:01", "2024-01-01 09:30:06"]), "qty": [10, 20]})
print(pd.merge_asof(trades, quotes, on="time"))
print(pd.merge_asof(trades, quotes, on="time", direction="forward", tolerance=pd.Timedelta("2s")))
print(pd.merge_ordered(pd.DataFrame({"k": [1, 3], "a": [1, 2]}), pd.DataFrame({"k": [2, 3], "b": [3, 4]}), on="k", fill_method="ffill"))
