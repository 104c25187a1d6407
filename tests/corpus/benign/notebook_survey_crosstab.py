import csv
import io
from collections import Counter, defaultdict

survey = """id,age,plan,score,comment
1,23,free,7,"fast, but loud"
2,41,pro,9,great
3,35,pro,4,
4,67,free,,"too ""modern"" for me"
5,29,team,10,love it
6,52,free,3,slow
7,38,team,8,"ok
I guess"
"""
rows = list(csv.DictReader(io.StringIO(survey)))
for r in rows:
    r["age"] = int(r["age"])
    r["score"] = int(r["score"]) if r["score"] else None
    r["group"] = f"{r['age'] // 20 * 20}-{r['age'] // 20 * 20 + 19}"

table = defaultdict(Counter)
for r in rows:
    table[r["group"]][r["plan"]] += 1
plans = sorted({r["plan"] for r in rows})
print(f"{'':<8}" + "".join(f"{p:>6}" for p in plans))
for group in sorted(table):
    print(f"{group:<8}" + "".join(f"{table[group][p] or '.':>6}" for p in plans))

scores = [r["score"] for r in rows if r["score"] is not None]
promoters, detractors = sum(s >= 9 for s in scores), sum(s <= 6 for s in scores)
print(f"NPS {100 * (promoters - detractors) / len(scores):+.1f} from {len(scores)} of {len(rows)}")
for r in sorted(rows, key=lambda r: (r["score"] is None, -(r["score"] or 0)))[:3]:
    print(r["score"], repr(r["comment"]))
print([r["id"] for r in rows if "\n" in r["comment"] or '"' in r["comment"]])
