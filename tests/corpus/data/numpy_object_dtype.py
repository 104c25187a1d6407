import numpy as np

a = np.array([{"x": 1}, [1, 2], "text", None], dtype=object)
print(a, a.dtype, [type(v).__name__ for v in a], a[0]["x"], a[1][1])
ragged = np.empty(3, dtype=object)
for i in range(3):
    ragged[i] = list(range(i))
print(ragged, np.array([len(r) for r in ragged]), np.array([1, "a"], dtype=object).tolist())
print(np.array([10**30, 2], dtype=object) * 2)
