import numpy as np

a, b = np.ones((2, 3)), np.ones((2, 3))
print(a.shape, b.shape)
print(a @ b)
