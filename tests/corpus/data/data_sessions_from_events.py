import pandas as pd

events = pd.read_json("events.json")
events["time"] = pd.to_datetime(events["time"])
events = events.sort_values(["user", "time"])
gap = events.groupby("user")["time"].diff() > pd.Timedelta(minutes=30)
events["session"] = gap.groupby(events["user"]).cumsum()
s = events.groupby(["user", "session"]).agg(start=("time", "min"), end=("time", "max"), n=("action", "size"))
s["minutes"] = (s["end"] - s["start"]).dt.total_seconds() / 60
print(s.head(6))
print(s["minutes"].describe().round(2).to_dict())
funnel = events.groupby("action")["user"].nunique().reindex(["view", "cart", "buy"])
print(funnel, (funnel / funnel.iloc[0]).round(3).tolist())
