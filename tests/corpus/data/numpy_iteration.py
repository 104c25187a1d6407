import numpy as np

grid = np.arange(6).reshape(2, 3)
for row in grid:
    for value in row:
        print(value, end=" ")
print([int(v) for v in grid.flat], list(map(float, grid[0])), sum(grid.ravel()), max(grid[1]), sorted(grid[0], reverse=True), list(zip(*grid)), {int(k): v.tolist() for k, v in enumerate(grid)}, len(grid), 3 in grid, grid.tolist() == [[0, 1, 2], [3, 4, 5]], any(grid[0] > 1), [tuple(p) for p in np.argwhere(grid > 3)], dict(zip(*np.unique([1, 1, 2], return_counts=True))))
a, b = np.array_split(grid, 2)
print(a, b, bool(np.all(a < b)), f"{grid.mean():>8.3f}|{grid[0, 1]:04d}|{np.float64(1234567.891):,.1f}|{np.int64(5)!r}", "%s %5.2f" % (grid[0], grid[0, 2]), "{:.1e}".format(np.float32(0.00012)))
