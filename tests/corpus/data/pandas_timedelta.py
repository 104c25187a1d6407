import pandas as pd

t = pd.to_timedelta(pd.Series(["1 days 02:00:00", "03:30:00", "45s"]))
print(t.dt.total_seconds().tolist(), t.dt.components.iloc[0].to_dict(), t.sum(), t.mean(), t.max() > pd.Timedelta("1D"), (t / pd.Timedelta("1h")).round(3).tolist(), t.dt.days.tolist())
print(pd.Timedelta(days=1, hours=2), pd.Timedelta("90min").floor("h"), pd.timedelta_range("0h", periods=3, freq="8h").tolist(), str(pd.Timedelta(5, unit="h")), pd.Timedelta("1D").isoformat(), divmod(pd.Timedelta("5h"), pd.Timedelta("2h"))[0])
s = pd.Series([1, 2, 3], index=pd.to_timedelta(["0h", "12h", "30h"]))
print(s.resample("1D").sum())
