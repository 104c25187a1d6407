customers = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}, {"id": 3, "name": "Cy"}]
orders = [
    {"customer": 1, "total": 20.0, "items": 2}, {"customer": 3, "total": 5.5, "items": 1},
    {"customer": 1, "total": 7.25, "items": 1}, {"customer": 9, "total": 1.0, "items": 1},
]


def left_join(left, right, left_key, right_key):
    index = {}
    for row in right:
        index.setdefault(row[right_key], []).append(row)
    for row in left:
        for match in index.get(row[left_key], [{}]):
            yield {**row, **match}


def group(rows, key, **aggregates):
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return [{key: k, **{name: f(g) for name, f in aggregates.items()}} for k, g in groups.items()]


joined = list(left_join(customers, orders, "id", "customer"))
joined
table = group(joined, "name", orders=lambda g: sum("total" in r for r in g), revenue=lambda g: sum(r.get("total", 0) for r in g))
columns = list(table[0])
widths = [max(len(c), *(len(str(r[c])) for r in table)) for c in columns]
line = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
print(line)
print("|" + "|".join(f" {c:<{w}} " for c, w in zip(columns, widths)) + "|")
print(line.replace("-", "="))
for r in table:
    print("|" + "|".join(f" {r[c]!s:>{w}} " for c, w in zip(columns, widths)) + "|")
print(line)
orphans = [o for o in orders if o["customer"] not in {c["id"] for c in customers}]
print("orphans:", orphans)
