import numpy as np

points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
diff = points[:, np.newaxis, :] - points[np.newaxis, :, :]
print(np.sqrt((diff ** 2).sum(axis=-1)))
print(np.arange(3)[:, None] * np.arange(4), np.outer([1, 2], [3, 4]), np.add.outer([1, 2], [10, 20]), np.multiply.reduce([1, 2, 3, 4]))
m = np.random.default_rng(1).normal(size=(5, 3))
z = (m - m.mean(axis=0)) / m.std(axis=0, keepdims=True)
print(z.mean(axis=0).round(8) + 0.0, z.std(axis=0))
print(np.broadcast_to([1, 2], (2, 2)), np.broadcast_shapes((3, 1), (1, 4)), np.where(m > 0, m, 0).sum().round(4), np.clip(m, -1, 1).min())
try:
    np.ones(3) + np.ones(4)
except ValueError as e:
    print(e)
