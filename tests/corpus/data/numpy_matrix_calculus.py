import numpy as np
from numpy.linalg import inv, eig, norm, det, LinAlgError
from numpy.random import default_rng, seed, rand
from numpy import pi, sin, linspace, ndarray

def power_iteration(A: ndarray, n: int = 100) -> tuple[float, np.ndarray]:
    v = np.ones(A.shape[0]) / np.sqrt(A.shape[0])
    for _ in range(n):
        w = A @ v
        v = w / norm(w)
    return float(v @ A @ v), v

A = np.array([[2.0, 1.0], [1.0, 3.0]])
lam, v = power_iteration(A)
print(round(lam, 6), v.round(4), det(A).round(6), inv(A).round(3))
seed(0)
print(rand(2).round(4), sin(linspace(0, pi, 3)).round(3), default_rng(1).integers(0, 5, 3))
L = np.linalg.cholesky(A)
z = np.linalg.solve(L, [1, 2])
print(z.round(4), np.linalg.solve(L.T, z).round(4), np.allclose(np.linalg.solve(A, [1, 2]), np.linalg.solve(L.T, z)), np.linalg.slogdet(A).logabsdet.round(5), np.linalg.multi_dot([A, A, A])[0], np.linalg.matrix_norm(A).round(4))
def jacobian(f, x, h=1e-6):
    return np.column_stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])
print(jacobian(lambda p: np.array([p[0] ** 2 * p[1], np.sin(p[1])]), np.array([1.0, 2.0])).round(4))
