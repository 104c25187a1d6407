sales = [
    ("north", "Q1", 10), ("north", "Q2", 15), ("south", "Q1", 7),
    ("south", "Q2", 9), ("north", "Q1", 5), ("west", "Q2", 1),
]
pivot = {}
for region, quarter, amount in sales:
    row = pivot.setdefault(region, {})
    row[quarter] = row.get(quarter, 0) + amount
quarters = sorted({q for _, q, _ in sales})
print("region".ljust(8) + "".join(q.rjust(6) for q in quarters) + " total".rjust(8))
for region in sorted(pivot):
    cells = [pivot[region].get(q, 0) for q in quarters]
    print(region.ljust(8) + "".join(str(c).rjust(6) for c in cells) + str(sum(cells)).rjust(8))
