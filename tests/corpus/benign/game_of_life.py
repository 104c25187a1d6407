def step(cells):
    from collections import Counter
    neighbours = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return {cell for cell, n in neighbours.items() if n == 3 or (n == 2 and cell in cells)}

cells = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for generation in range(3):
    for y in range(5):
        print("".join("#" if (x, y) in cells else "." for x in range(5)))
    print()
    cells = step(cells)
