import csv
import io
from collections import defaultdict

raw = """month,store,category,amount
Jan,A,food,120.5
Jan,B,food,80
Jan,A,toys,30
Feb,A,food,99.9
Feb,B,toys,45.25
Mar,B,food,60
Mar,A,toys,75
Mar,A,food,20.1
"""
rows = [dict(r, amount=float(r["amount"])) for r in csv.DictReader(io.StringIO(raw))]
rows[:2]

# %% pivot: month by category
months = list(dict.fromkeys(r["month"] for r in rows))
categories = sorted({r["category"] for r in rows})
pivot = {m: defaultdict(float) for m in months}
for r in rows:
    pivot[r["month"]][r["category"]] += r["amount"]

print(f"{'month':<8}" + "".join(f"{c:>10}" for c in categories) + f"{'sum':>10}")
for m in months:
    values = [pivot[m][c] for c in categories]
    print(f"{m:<8}" + "".join(f"{v:>10.2f}" for v in values) + f"{sum(values):>10.2f}")
best = max(rows, key=lambda r: r["amount"])
share = {c: sum(r["amount"] for r in rows if r["category"] == c) / sum(r["amount"] for r in rows) for c in categories}
print(best)
print({c: f"{s:.1%}" for c, s in share.items()})
share
