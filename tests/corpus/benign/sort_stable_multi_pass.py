rows = [line.split() for line in """b 2 x
a 2 y
c 1 x
a 1 z""".splitlines()]
rows.sort(key=lambda r: r[2])
rows.sort(key=lambda r: int(r[1]), reverse=True)
print(rows)
print(sorted(rows, key=lambda r: [-int(r[1]), r[0]]))
print([r for r in reversed(rows)][0])
