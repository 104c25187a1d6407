data = list(range(10))
print(data[::2], data[::-3], data[-3:], data[2:8:2], data[:-7], data[slice(1, 4)])
data[2:5] = ["x"]
data[-1:] = []
del data[::4]
print(data)
data.insert(1, "y")
data.extend([1, 1])
print(data, data.count(1), data.index("x"), data.pop(), data.pop(0))
matrix = [[r * 3 + c for c in range(3)] for r in range(3)]
print([row[1] for row in matrix], [matrix[i][i] for i in range(3)], sum(matrix, []), [list(r) for r in zip(*matrix)])
print(sorted(["b", "A", "c"], key=str.lower), sorted([(1, "b"), (1, "a")], reverse=True), list(map(max, matrix)))
a = [3, 1, 2]
b = a
b.sort()
c = a[:]
c.reverse()
print(a, c, a is b, a == sorted(c), [1, 2] < [1, 3], [[0] * 2 for _ in range(2)], list("ab") * 2)
pairs = [(x, y) for x in range(3) for y in range(x)]
print(pairs, any(x > y for x, y in pairs), all(pairs), list(enumerate("ab", 5)), list(range(5, 0, -2)))
it = iter(a)
print(next(it), list(it), next(it, "end"), min(a, key=lambda v: -v), sum(a, start=10), *filter(lambda v: v % 2, a))
