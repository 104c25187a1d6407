import numpy as np

a, b = np.arange(4).reshape(2, 2), np.arange(4, 8).reshape(2, 2)
print(np.vstack([a, b]), np.hstack([a, b]), np.stack([a, b]).shape, np.concatenate([a, b], axis=1), np.dstack([a, b]).shape, np.column_stack([[1, 2], [3, 4]]))
print(np.split(np.arange(9), 3), np.array_split(np.arange(7), 3), np.hsplit(a, 2), np.tile([1, 2], 3), np.repeat([1, 2], [2, 3]))
print(np.flip(a), np.rot90(a), np.roll([1, 2, 3], 1), np.insert([1, 2], 1, 9), np.delete([1, 2, 3], 0), np.append([1], [2, 3]), np.pad([1, 2], 1, mode="edge"), np.squeeze([[1]]), np.moveaxis(np.zeros((1, 2, 3)), 0, -1).shape)
print(np.triu(np.ones((3, 3))), np.diag([1, 2]), np.union1d([1, 2], [2, 3]), np.intersect1d([1, 2], [2, 3]), np.setdiff1d([1, 2], [2]), np.isin([1, 2], [2]))
