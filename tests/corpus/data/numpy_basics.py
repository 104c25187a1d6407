import numpy as np

a = np.array([[1, 2, 3], [4, 5, 6]])
print(a, a.shape, a.dtype, a.ndim, a.size, a.T)
print(np.zeros((2, 2)), np.ones(3, dtype=int), np.full((2, 2), 7), np.eye(3), np.arange(0, 10, 2), np.linspace(0, 1, 5))
print(a.reshape(3, 2), a.ravel(), a.flatten()[::-1], a[:, 1], a[1, ::2], a[a > 2])
print(a.sum(axis=0), a.mean(axis=1), a.max(), a.argmax(), a.std().round(4), a.cumsum())
print(a * 2 + 1, a @ a.T, a ** 2, a % 2 == 0)
