from fractions import Fraction


def determinant(m):
    if len(m) == 1:
        return m[0][0]
    return sum((-1) ** j * m[0][j] * determinant([row[:j] + row[j + 1:] for row in m[1:]]) for j in range(len(m)))


def transpose(m):
    return [list(col) for col in zip(*m)]


def hilbert(n):
    return [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]


A = [[2, -1, 0], [1, 3, 2], [0, 5, -4]]
print(determinant(A), determinant(transpose(A)), determinant(hilbert(4)))
for row in hilbert(3):
    print("  ".join(f"{str(x):>4}" for x in row))
spiral = []
m = [[r * 4 + c for c in range(4)] for r in range(3)]
while m:
    spiral += m.pop(0)
    m = transpose(m)[::-1]
print(spiral)
diagonals = [[A[i][j] for i in range(3) for j in range(3) if i + j == d] for d in range(5)]
print(diagonals, sum(A[i][i] for i in range(3)), max(max(row) for row in A))
