import csv
import io
import json
import re
from statistics import mean, median

pattern = re.compile(r"user=(?P<user>\w+) action=(?P<action>\w+) status=(?P<status>\d+) took (?P<took>\d+)ms")
rows = [m.groupdict() | {"took": int(m["took"])} for m in pattern.finditer(context)]

buffer = io.StringIO()
writer = csv.DictWriter(buffer, fieldnames=["user", "requests", "mean", "median", "worst"], lineterminator="\n")
writer.writeheader()
for user in sorted({r["user"] for r in rows}):
    took = [r["took"] for r in rows if r["user"] == user]
    writer.writerow({"user": user, "requests": len(took), "mean": round(mean(took), 1), "median": median(took), "worst": max(took)})
print(buffer.getvalue())
buffer.seek(0)
back = list(csv.DictReader(buffer))
print(json.dumps(back[0]), len(back), sum(int(r["requests"]) for r in back) == len(rows))
