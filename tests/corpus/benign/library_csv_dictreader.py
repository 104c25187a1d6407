import csv
import io
from collections import defaultdict

DATA = """date,region,product,units,price
2024-01-03,North,"Chair, wooden",5,49.90
2024-01-04,South,Table,1,199.00
2024-01-04,North,Lamp,12,15.25
2024-02-01,South,"Lamp ""Sun"", small",3,25.00
2024-02-11,West,Table,,199.00
"""

reader = csv.DictReader(io.StringIO(DATA))
print(reader.fieldnames)
revenue = defaultdict(float)
skipped = []
for row in reader:
    if not row["units"]:
        skipped.append((reader.line_num, row["product"]))
        continue
    revenue[row["region"]] += int(row["units"]) * float(row["price"])
for region, amount in sorted(revenue.items(), key=lambda kv: -kv[1]):
    print(f"{region:<8}{amount:>10,.2f}")
print("skipped:", skipped)
out = io.StringIO()
writer = csv.DictWriter(out, fieldnames=["region", "revenue"], lineterminator="\n")
writer.writeheader()
writer.writerows({"region": k, "revenue": f"{v:.1f}"} for k, v in revenue.items())
print(out.getvalue())
