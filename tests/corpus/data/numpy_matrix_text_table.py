import numpy as np

m = np.random.default_rng(8).integers(0, 100, (4, 5))
print("       " + "".join(f"{'c' + str(j):>6}" for j in range(5)) + "   sum")
for i, row in enumerate(m):
    print(f"row {i}: " + "".join(f"{v:6d}" for v in row) + f"{row.sum():6d}")
print("total  " + "".join(f"{v:6d}" for v in m.sum(axis=0)) + f"{m.sum():6d}")
for (i, j), v in np.ndenumerate(m[:2, :2]):
    print(i, j, v, type(v).__name__)
for idx in np.ndindex(2, 2):
    print(idx, end=" ")
