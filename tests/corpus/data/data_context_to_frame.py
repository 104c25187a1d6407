import re
import pandas as pd

rows = re.findall(r"^(\S+ \S+) (\w+) \[([\w.]+)\].*status=(\d+) took (\d+)ms", context, re.M)
df = pd.DataFrame(rows, columns=["time", "level", "module", "status", "ms"]).astype({"status": int, "ms": int})
df["time"] = pd.to_datetime(df["time"])
print(df.groupby("level")["ms"].agg(["count", "mean", "max"]).round(1))
print(df.pivot_table(index="module", columns="status", values="ms", aggfunc="count", fill_value=0))
print(df.set_index("time")["ms"].resample("6h").median())
