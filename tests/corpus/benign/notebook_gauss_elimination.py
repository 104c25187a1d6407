def solve(a, b):
    n = len(a)
    m = [row[:] + [value] for row, value in zip(a, b)]
    for col in range(n):
        pivot = max(range(col, n), key=lambda r: abs(m[r][col]))
        if abs(m[pivot][col]) < 1e-12:
            raise ZeroDivisionError("the matrix is singular")
        m[col], m[pivot] = m[pivot], m[col]
        m[col] = [x / m[col][col] for x in m[col]]
        for r in range(n):
            if r != col:
                factor = m[r][col]
                m[r] = [x - factor * y for x, y in zip(m[r], m[col])]
    return [row[-1] for row in m]


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


A = [[2.0, 1.0, -1.0], [-3.0, -1.0, 2.0], [-2.0, 1.0, 2.0]]
x = solve(A, [8.0, -11.0, -3.0])
print([round(v, 6) for v in x])
check = matmul(A, [[v] for v in x])
print([[round(v[0], 6)] for v in check])
identity = [[float(i == j) for j in range(3)] for i in range(3)]
inverse = list(map(list, zip(*(solve(A, column) for column in identity))))
for row in inverse:
    print(" ".join(f"{v:6.2f}" for v in row))
try:
    solve([[1.0, 2.0], [2.0, 4.0]], [1, 2])
except ZeroDivisionError as e:
    print(e)
