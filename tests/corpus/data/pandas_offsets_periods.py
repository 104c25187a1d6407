import pandas as pd

d = pd.Timestamp("2024-01-31")
print(d + pd.DateOffset(months=1), d + pd.offsets.MonthEnd(1), d + pd.offsets.BDay(3), d - pd.Timedelta(weeks=2))
print(pd.date_range("2024-01-01", "2024-12-31", freq="QS").tolist())
print(pd.bdate_range("2024-05-01", periods=3), pd.period_range("2024Q1", periods=3, freq="Q"))
p = pd.Period("2024-02", freq="M")
print(p.start_time, p.end_time, p.days_in_month, p + 1, (p.to_timestamp()).day_name())
delta = pd.Timedelta("1 days 03:30:00")
print(delta.total_seconds(), delta.components.hours, delta / pd.Timedelta(hours=1), pd.to_timedelta(["1h", "30min"]).sum())
print(d.to_period("Q"), d.is_month_end, d.dayofyear, d.ceil("h"), d.normalize(), d.replace(day=1), d.weekday())
