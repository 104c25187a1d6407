import numpy as np

a = np.array([[3, 1, 2], [9, 7, 8]])
print(np.sort(a, axis=1), np.sort(a, axis=None), a.argsort(axis=0), np.partition([5, 1, 4, 2], 1)[:2], np.argpartition([5, 1, 4], 1)[0])
names, scores = np.array(["x", "y", "z"]), np.array([2, 9, 5])
order = np.argsort(-scores)
print(list(zip(names[order], scores[order])), np.searchsorted([1, 3, 5], 4), np.lexsort((scores, names)), np.maximum.accumulate([1, 3, 2]), np.flatnonzero([0, 1, 1]), np.count_nonzero(a > 2), np.all(a > 0), np.any(a > 8))
print(np.take_along_axis(a, np.argsort(a, axis=1), axis=1), np.extract(a > 5, a), np.isin(a, [1, 9]), a.max(axis=0, initial=5), a.tolist(), a.item(0), np.array_equal(a, a.copy()), a.dtype.kind, a.astype(float).dtype.name)
