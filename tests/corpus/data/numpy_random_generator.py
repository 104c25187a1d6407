import numpy as np

rng = np.random.default_rng(seed=123)
print(rng.random(3), rng.integers(1, 7, size=5), rng.normal(size=2), rng.standard_normal((2, 2)))
print(rng.choice(10, 3, replace=False), rng.permutation([1, 2, 3]), rng.gamma(2.0, 1.0), rng.beta(1, 2), rng.dirichlet([1, 1, 1]).sum().round(6))
print(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 2).round(4), rng.multinomial(10, [0.2, 0.8]), rng.lognormal(0, 1), rng.triangular(0, 1, 2))
a = np.arange(5)
rng.shuffle(a)
print(a, type(rng).__name__, rng.bit_generator.state["bit_generator"])
g = np.random.Generator(np.random.PCG64(5))
print(g.integers(100))
children = np.random.SeedSequence(1).spawn(2)
print([np.random.default_rng(c).integers(1000) for c in children])
