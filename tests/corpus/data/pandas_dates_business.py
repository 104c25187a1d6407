import pandas as pd
import numpy as np
from datetime import datetime, timedelta, date

start = datetime(2024, 1, 1)
df = pd.DataFrame({"created": [start + timedelta(days=i * 3, hours=i) for i in range(6)]})
df["due"] = df["created"] + pd.to_timedelta([1, 2, 3, 4, 5, 6], unit="D")
df["days"] = (df["due"] - df["created"]).dt.days
df["hours"] = (df["due"] - df["created"]).dt.total_seconds() / 3600
df["late"] = df["due"] > pd.Timestamp("2024-01-10")
print(df)
print(np.busday_count("2024-01-01", "2024-02-01"), np.is_busday("2024-01-06"))
print(df[df["created"].dt.date == date(2024, 1, 4)].shape, df["created"].dt.hour.tolist(), df["created"].dt.time.iloc[1])
print(df["created"].iloc[0].to_pydatetime(), pd.isna(pd.NaT), pd.Timestamp(start) == start)
