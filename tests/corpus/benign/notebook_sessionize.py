import re
from datetime import datetime, timedelta
from itertools import groupby

GAP = timedelta(minutes=30)
events = []
for line in context.splitlines():
    if m := re.match(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d).*user=(\w+) action=(\w+)", line):
        events.append((m[2], datetime.strptime(m[1], "%Y-%m-%d %H:%M:%S"), m[3]))
events.sort()
len(events)

# %%
sessions = []
for user, group in groupby(events, key=lambda e: e[0]):
    current = None
    for _, when, action in group:
        if current is None or when - current["end"] > GAP:
            current = {"user": user, "start": when, "end": when, "actions": []}
            sessions.append(current)
        current["end"] = when
        current["actions"].append(action)

longest = sorted(sessions, key=lambda s: (s["start"] - s["end"], s["user"]))[:4]
for s in longest:
    minutes = (s["end"] - s["start"]).total_seconds() / 60
    print(f"{s['user']:<6}{s['start']:%d.%m. %H:%M}  {minutes:6.1f} min  {len(s['actions']):>2} actions  {'>'.join(s['actions'][:3])}")
print(len(sessions), "sessions;", f"{len(events) / len(sessions):.2f} events each")
sessions[0]["actions"]
