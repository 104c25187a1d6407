import re
from collections import Counter
from datetime import datetime, timedelta

stamps = [datetime.strptime(s, "%Y-%m-%d %H:%M:%S") for s in re.findall(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", context, re.M)]
hours = Counter(s.replace(minute=0, second=0) for s in stamps)
start, end = min(hours), max(hours)
current = start
peak = max(hours.values())
print(f"{start:%d.%m. %H}h to {end:%d.%m. %H}h, {len(stamps)} events")
while current <= start + timedelta(hours=9):
    n = hours.get(current, 0)
    print(f"{current:%d %H:%M} {'#' * n}{'.' * (peak - n)} {n}")
    current += timedelta(hours=1)
gaps = [b - a for a, b in zip(stamps, stamps[1:])]
print("longest gap", max(gaps), "median", sorted(gaps)[len(gaps) // 2], "mean", (stamps[-1] - stamps[0]) / len(gaps) > timedelta(0))
weekday = Counter(f"{s:%a}" for s in stamps)
print(weekday.most_common(), stamps[0].date(), stamps[0].time(), stamps[-1].isoformat(sep="T", timespec="minutes"))
night = sum(1 for s in stamps if s.hour < 6 or s.hour >= 22)
print(f"{night / len(stamps):.0%} at night; round minutes: {sum(s.second == 0 for s in stamps)}")
