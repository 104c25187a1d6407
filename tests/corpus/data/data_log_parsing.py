import io
import re
import pandas as pd

log = """10.0.0.1 - [01/Jan/2024:10:00:01] "GET /index.html" 200 512
10.0.0.2 - [01/Jan/2024:10:00:05] "GET /api/items" 500 87
10.0.0.1 - [01/Jan/2024:11:10:00] "POST /api/items" 201 40
bad line
"""
pattern = re.compile(r'(\S+) - \[(.+?)\] "(\w+) (\S+)" (\d+) (\d+)')
rows = [m.groups() for m in map(pattern.match, log.splitlines()) if m]
df = pd.DataFrame(rows, columns=["ip", "time", "method", "path", "status", "bytes"])
df["time"] = pd.to_datetime(df["time"], format="%d/%b/%Y:%H:%M:%S")
df[["status", "bytes"]] = df[["status", "bytes"]].astype(int)
print(df.dtypes)
print(df.groupby(df["time"].dt.floor("h"))["bytes"].sum())
print(df.assign(error=df["status"].ge(500)).groupby("ip")["error"].mean().to_dict(), df["path"].str.extract(r"^/(\w+)")[0].tolist())
