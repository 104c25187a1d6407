import numpy as np

def f(x):
    return x ** 2 if x > 0 else -x

vf = np.vectorize(f, otypes=[float])
x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
print(vf(x), np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v ** 2]), np.apply_along_axis(lambda r: r.max() - r.min(), 1, np.arange(6).reshape(2, 3)))
print(np.fromfunction(lambda i, j: i + j, (2, 3)), np.fromiter((i * i for i in range(4)), int), np.heaviside(x, 0.5), np.sign(x), np.select([x < 0, x > 0], [-1, 1], 0))
print(np.interp([0.5, 1.5], [0, 1, 2], [0, 10, 20]), np.gradient([1, 4, 9, 16]), np.trapezoid([1, 2, 3]), np.diff([1, 4, 9]), np.convolve([1, 2, 3], [0, 1, 0.5]), np.cross([1, 0, 0], [0, 1, 0]), np.dot([1, 2], [3, 4]), np.kron([1, 2], [1, 1]))
