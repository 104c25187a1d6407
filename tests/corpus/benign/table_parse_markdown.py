table = """
| City   | Population | Area |
|--------|-----------:|------|
| Oslo   |    709,037 | 454  |
| Bergen |    291,940 | 465  |
"""
lines = [l.strip() for l in table.strip().splitlines()]
header = [h.strip().lower() for h in lines[0].strip("|").split("|")]
rows = []
for line in lines[2:]:
    cells = [c.strip() for c in line.strip("|").split("|")]
    rows.append(dict(zip(header, cells)))
for row in rows:
    row["population"] = int(row["population"].replace(",", ""))
    row["density"] = round(row["population"] / float(row["area"]), 1)
print(rows)
