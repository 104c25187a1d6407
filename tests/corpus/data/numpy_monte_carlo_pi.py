import numpy as np

rng = np.random.default_rng(2024)
for n in (1_000, 10_000, 100_000):
    pts = rng.random((n, 2))
    inside = np.count_nonzero(np.hypot(pts[:, 0], pts[:, 1]) <= 1)
    est = 4 * inside / n
    print(f"n={n:>7,} pi~{est:.4f} err={abs(est - np.pi):.4f}")
