import numpy as np

print(np.r_[1:4, 0, 5], np.c_[[1, 2], [3, 4]], np.r_[np.arange(3), [9] * 2])
print(np.mgrid[0:2, 0:3].shape, np.ogrid[0:3, 0:2][0].T)
x, y = np.mgrid[-1:1:3j, 0:1:2j]
print(x, y, np.s_[1:3], np.arange(10)[np.s_[2:8:2]])
a = np.arange(12).reshape(3, 4)
print(a[np.ix_([0, 2], [1, 3])], a[[0, 1], [2, 3]], a[..., -1], a[np.newaxis].shape, a[:, None].shape)
i, j = np.unravel_index(7, a.shape)
print(i, j, np.ravel_multi_index((1, 3), a.shape), np.argwhere(a > 9).tolist(), np.nonzero(a == 5))
