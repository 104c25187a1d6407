import numpy as np

A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
b = np.array([1.0, 2.0, 3.0])
x = np.linalg.solve(A, b)
print(x, np.allclose(A @ x, b), np.linalg.det(A).round(6), np.linalg.inv(A).round(4), np.linalg.matrix_rank(A))
w, v = np.linalg.eigh(A)
print(w.round(5), np.abs(v).round(4))
u, s, vt = np.linalg.svd(A)
print(s.round(5), np.allclose(u @ np.diag(s) @ vt, A), np.linalg.norm(A).round(4), np.linalg.norm(b, 1), np.linalg.cond(A).round(4))
q, r = np.linalg.qr(A)
print(np.allclose(q @ r, A), np.linalg.cholesky(A).round(3), np.trace(A), np.linalg.matrix_power(A, 2), np.linalg.pinv(A[:, :2]).shape)
res = np.linalg.eig(A)
print(np.sort(res.eigenvalues.real).round(5), np.linalg.svd(A, compute_uv=False).round(3))
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as e:
    print("LinAlgError:", e)
