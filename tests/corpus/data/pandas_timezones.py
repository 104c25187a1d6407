import pandas as pd

t = pd.Timestamp("2024-03-10 08:00", tz="UTC")
print(t.tz_convert("US/Eastern"), t.tz_convert("Asia/Kolkata"), t.isoformat())
s = pd.Series(pd.date_range("2024-10-26 22:00", periods=4, freq="6h", tz="Europe/Berlin"))
print(s, s.dt.tz_convert("UTC").dt.hour.tolist(), s.dt.tz_localize(None).iloc[0])
naive = pd.to_datetime(["2024-01-01 12:00", "2024-07-01 12:00"]).tz_localize("America/New_York")
print(naive.tz_convert("UTC"), naive[0].utcoffset(), naive[0].tz)
print(pd.to_datetime(1700000000, unit="s", utc=True), pd.Timestamp("2024-01-01").timestamp())
