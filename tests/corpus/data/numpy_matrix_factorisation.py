import numpy as np

rng = np.random.default_rng(4)
R = np.array([[5, 3, 0, 1], [4, 0, 0, 1], [1, 1, 0, 5], [1, 0, 0, 4], [0, 1, 5, 4]], dtype=float)
P, Q = rng.random((5, 2)), rng.random((4, 2))
mask = R > 0
for step in range(3000):
    E = np.where(mask, R - P @ Q.T, 0)
    P += 0.005 * (E @ Q - 0.02 * P)
    Q += 0.005 * (E.T @ P - 0.02 * Q)
    if step % 1000 == 0:
        print(step, round(float((E[mask] ** 2).mean()), 4))
print((P @ Q.T).round(1))
