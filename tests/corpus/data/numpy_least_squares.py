import numpy as np

rng = np.random.default_rng(0)
X = np.column_stack([np.ones(100), rng.normal(size=100), rng.uniform(-1, 1, 100)])
beta = np.array([1.0, 2.0, -0.5])
y = X @ beta + rng.normal(scale=0.1, size=100)
coef, residuals, rank, sv = np.linalg.lstsq(X, y, rcond=None)
print(coef.round(4), residuals.round(4), rank, sv.round(3))
normal = np.linalg.inv(X.T @ X) @ X.T @ y
print(np.allclose(coef, normal))
pred = X @ coef
ss_res, ss_tot = ((y - pred) ** 2).sum(), ((y - y.mean()) ** 2).sum()
print(f"R2={1 - ss_res / ss_tot:.4f} RMSE={np.sqrt(np.mean((y - pred) ** 2)):.4f}")
print(np.polyfit(X[:, 1], y, 1).round(4), np.polyval([1, 2, 3], 2), np.poly1d([1, 0, -2]).roots, np.corrcoef(X[:, 1], y)[0, 1].round(4))
