class Fenwick:
    def __init__(self, n):
        self.tree = [0] * (n + 1)

    def add(self, i, delta):
        i += 1
        while i < len(self.tree):
            self.tree[i] += delta
            i += i & -i

    def prefix(self, i):
        total = 0
        while i:
            total += self.tree[i]
            i -= i & -i
        return total

    def __getitem__(self, s):
        start, stop, _ = s.indices(len(self.tree) - 1)
        return self.prefix(stop) - self.prefix(start)


class MinTree:
    def __init__(self, values):
        self.n = len(values)
        self.t = [float("inf")] * self.n + list(values)
        for i in range(self.n - 1, 0, -1):
            self.t[i] = min(self.t[2 * i], self.t[2 * i + 1])

    def update(self, i, v):
        i += self.n
        self.t[i] = v
        while i > 1:
            i //= 2
            self.t[i] = min(self.t[2 * i], self.t[2 * i + 1])

    def query(self, lo, hi):
        best = float("inf")
        lo, hi = lo + self.n, hi + self.n
        while lo < hi:
            if lo & 1:
                best, lo = min(best, self.t[lo]), lo + 1
            if hi & 1:
                hi -= 1
                best = min(best, self.t[hi])
            lo, hi = lo // 2, hi // 2
        return best


values = [5, 2, 8, 6, 3, 7, 1, 4]
f = Fenwick(len(values))
for i, v in enumerate(values):
    f.add(i, v)
assert all(f[a:b] == sum(values[a:b]) for a in range(8) for b in range(a, 9))
m = MinTree(values)
assert all(m.query(a, b) == min(values[a:b]) for a in range(8) for b in range(a + 1, 9))
f.add(3, 10)
m.update(1, 9)
print(f[2:5], f[:], f[-2:], m.query(0, 3), m.query(0, 8), m.query(2, 2))
inversions, seen = 0, Fenwick(9)
for i, v in enumerate(values):
    inversions += i - seen.prefix(v)
    seen.add(v - 1, 1)
print("inversions", inversions)
