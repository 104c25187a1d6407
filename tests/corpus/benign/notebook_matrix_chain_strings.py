def table(rows, headers=None, align=None):
    rows = [[str(c) for c in row] for row in rows]
    headers = headers or [""] * len(rows[0])
    align = align or "<" * len(headers)
    widths = [max(map(len, column)) for column in zip(headers, *rows)]
    render = lambda row: "  ".join(f"{c:{a}{w}}" for c, a, w in zip(row, align, widths)).rstrip()
    return "\n".join([render(headers), render(["-" * w for w in widths]), *map(render, rows)])


data = [("alpha", 1, 0.5), ("beta", 22, 12.25), ("gamma", 333, 100)]
print(table(data, ("name", "count", "value"), "<>>"))
print()
print(table([(x, x ** 2, x ** 3, f"{x ** 0.5:.3f}") for x in range(1, 6)], ["x", "x²", "x³", "√x"], ">>>>"))
transposed = list(zip(*data))
print(transposed[1], sum(transposed[1]), dict(zip(transposed[0], transposed[2])))
chess = "\n".join("".join("█░"[(r + c) % 2] * 2 for c in range(4)) for r in range(4))
print(chess)
triangle = [[1]]
while len(triangle) < 6:
    last = triangle[-1]
    triangle.append([1, *(a + b for a, b in zip(last, last[1:])), 1])
for row in triangle:
    print(" ".join(map(str, row)).center(16).rstrip())
