import numpy as np

states = ["sunny", "cloudy", "rainy"]
P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.4, 0.4]])
assert np.allclose(P.sum(axis=1), 1)
vals, vecs = np.linalg.eig(P.T)
pi = np.real(vecs[:, np.isclose(vals, 1)][:, 0])
pi /= pi.sum()
print(dict(zip(states, pi.round(4).tolist())), np.linalg.matrix_power(P, 50)[0].round(4))
rng, s, visits = np.random.default_rng(6), 0, np.zeros(3, int)
for _ in range(2000):
    s = rng.choice(3, p=P[s])
    visits[s] += 1
print((visits / visits.sum()).round(3))
