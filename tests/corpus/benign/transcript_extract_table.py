import re

rows = []
for m in re.finditer(r"user=(?P<user>\w+) action=(?P<action>\w+) status=(?P<status>\d{3}).*bytes=(?P<bytes>\d+)", context):
    row = m.groupdict()
    row["status"], row["bytes"] = int(row["status"]), int(row["bytes"])
    rows.append(row)

users = sorted({r["user"] for r in rows})
actions = sorted({r["action"] for r in rows})
width = max(map(len, users)) + 2
print(" " * width + "".join(f"{a:>10}" for a in actions) + f"{'total':>10}")
for user in users:
    cells = [sum(r["bytes"] for r in rows if r["user"] == user and r["action"] == a) for a in actions]
    print(f"{user:<{width}}" + "".join(f"{c:>10,}" for c in cells) + f"{sum(cells):>10,}")
totals = [sum(r["bytes"] for r in rows if r["action"] == a) for a in actions]
print(f"{'all':<{width}}" + "".join(f"{c:>10,}" for c in totals) + f"{sum(totals):>10,}")
