matrix = [[1, 2, 3], [4, 5, 6]]
transposed = [list(column) for column in zip(*matrix)]
print(transposed)
product = [[sum(a * b for a, b in zip(row, col)) for col in zip(*transposed)] for row in matrix]
print(product)
flat = [x for row in matrix for x in row]
print(flat, flat[::-1], flat[1::2])
identity = [[1 if i == j else 0 for j in range(3)] for i in range(3)]
for row in identity:
    print(*row)
