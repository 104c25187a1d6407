import csv
import io

data = """name,dept,salary,start
Alice,Engineering,120000,2019-03-01
Bob,"Sales, EMEA",80000,2020-07-15
Carol,Engineering,135000,2017-11-30
Dan,Support,,2021-01-10
"""
reader = csv.DictReader(io.StringIO(data))
rows = list(reader)
print(reader.fieldnames)
for row in rows:
    row["salary"] = int(row["salary"]) if row["salary"] else None
    print(row)
known = [r["salary"] for r in rows if r["salary"] is not None]
print(sum(known) / len(known))
