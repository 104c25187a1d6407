import numpy as np

np.random.seed(42)
print(np.random.rand(3).round(4), np.random.randn(2, 2).round(3), np.random.randint(0, 10, 5))
print(np.random.choice(["a", "b", "c"], size=5, p=[0.5, 0.3, 0.2]), np.random.permutation(5))
x = np.arange(6)
np.random.shuffle(x)
print(x, np.random.normal(10, 2, 3).round(3), np.random.uniform(-1, 1, 2).round(3), np.random.binomial(10, 0.5, 4), np.random.poisson(3, 4), np.random.exponential(2.0, 2).round(3))
rs = np.random.RandomState(0)
print(rs.rand(), rs.randint(100))
state = np.random.get_state()
a = np.random.rand()
np.random.set_state(state)
print(a == np.random.rand())
