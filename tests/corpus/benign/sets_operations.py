a = {1, 2, 3, 4}
b = set(range(3, 8))
print(a & b, a | b, a - b, a ^ b, a <= b, {3} < a, a.isdisjoint({9}))
a.add(10)
a.discard(99)
b |= {100}
b -= {3}
print(sorted(a), sorted(b), len(a.union(b)))
seen, duplicates = set(), []
for x in [1, 2, 1, 3, 2, 1]:
    if x in seen:
        duplicates.append(x)
    seen.add(x)
print(duplicates, frozenset("hello") == frozenset("olleh"))
