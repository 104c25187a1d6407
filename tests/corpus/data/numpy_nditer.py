import numpy as np

grid = np.arange(6).reshape(2, 3)
it = np.nditer(grid, flags=["multi_index"])
for v in it:
    print(it.multi_index, int(v), end="; ")
