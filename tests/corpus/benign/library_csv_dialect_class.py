import csv, io
from collections import defaultdict
data = "year,quarter,rev\n2022,Q1,10\n2022,Q2,20\n2023,Q1,15\n2023,Q3,5\n"
piv = defaultdict(dict)
for r in csv.DictReader(io.StringIO(data)): piv[r["year"]][r["quarter"]] = float(r["rev"])
qs = sorted({q for v in piv.values() for q in v})
w = csv.writer(out := io.StringIO(), lineterminator="\n")
w.writerow(["year", *qs, "total"])
for y, v in sorted(piv.items()): w.writerow([y, *(v.get(q, "") for q in qs), sum(v.values())])
print(out.getvalue(), end="")
r = csv.reader(io.StringIO(out.getvalue())); header = next(r)
print(header, [dict(zip(header, row)) for row in r][0])
class Semi(csv.excel):
    delimiter = ";"
print(next(csv.reader(["a;b"], dialect=Semi)) , csv.list_dialects())
rows = list(csv.DictReader(io.StringIO("a,b\n1,2,3\n4\n"), restkey="extra", restval="-")); print(rows)
