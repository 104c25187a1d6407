class Matrix:
    def __init__(self, rows):
        self.rows = [list(map(float, row)) for row in rows]
        if len({len(r) for r in self.rows}) != 1:
            raise ValueError("rows differ in length")

    @classmethod
    def identity(cls, n):
        return cls([[i == j for j in range(n)] for i in range(n)])

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    @property
    def T(self):
        return Matrix(zip(*self.rows))

    def __matmul__(self, other):
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"shapes {self.shape} and {other.shape} do not fit")
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in zip(*other.rows)] for row in self.rows])

    def __pow__(self, n):
        result, base = Matrix.identity(self.shape[0]), self
        while n:
            if n & 1:
                result = result @ base
            base, n = base @ base, n >> 1
        return result

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def __setitem__(self, key, value):
        i, j = key
        self.rows[i][j] = value

    def __eq__(self, other):
        return self.rows == other.rows

    def __repr__(self):
        return "\n".join(" ".join(f"{x:7.2f}" for x in row) for row in self.rows)


m = Matrix([[1, 1], [1, 0]])
print(m ** 10)
print((m ** 30)[0, 1], m.T == m, Matrix([[1, 2, 3]]).T.shape)
m[0, 0] += 4
print(m @ Matrix([[1], [2]]))
for bad in (lambda: Matrix([[1], [1, 2]]), lambda: m @ Matrix([[1, 2, 3]])):
    try:
        bad()
    except ValueError as e:
        print("ValueError:", e)
