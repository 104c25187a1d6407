from collections import defaultdict


class Sparse:
    def __init__(self, rows, cols, data=()):
        self.shape = rows, cols
        self.data = {(r, c): v for r, c, v in data if v}

    def __getitem__(self, rc):
        r, c = rc
        if not (0 <= r < self.shape[0] and 0 <= c < self.shape[1]):
            raise IndexError(f"({r}, {c}) is outside of {self.shape[0]}x{self.shape[1]}")
        return self.data.get(rc, 0)

    def __setitem__(self, rc, v):
        if v:
            self.data[rc] = v
        else:
            self.data.pop(rc, None)

    def __matmul__(self, other):
        by_row = defaultdict(list)
        for (r, c), v in other.data.items():
            by_row[r].append((c, v))
        out = defaultdict(float)
        for (r, k), v in self.data.items():
            for c, w in by_row[k]:
                out[r, c] += v * w
        return Sparse(self.shape[0], other.shape[1], [(r, c, v) for (r, c), v in out.items()])

    @property
    def T(self):
        return Sparse(*self.shape[::-1], [(c, r, v) for (r, c), v in self.data.items()])

    def __repr__(self):
        return f"<{self.shape[0]}x{self.shape[1]}, {len(self.data)} stored>"


m = Sparse(3, 4, [(0, 1, 2), (1, 3, -1), (2, 0, 5), (2, 2, 0)])
m[0, 0] = 7
m[1, 3] = 0
print(m, m.T, m @ m.T, (m @ m.T)[0, 0], m[2, 3])
for r in range(3):
    print(" ".join(f"{m[r, c]:>3}" for c in range(4)))
try:
    m[3, 0]
except IndexError as e:
    print(e)
