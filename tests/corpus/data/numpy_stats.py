import numpy as np

x = np.random.default_rng(5).normal(50, 10, 1000)
print(f"mean {x.mean():.3f} median {np.median(x):.3f} std {x.std(ddof=1):.3f} var {np.var(x):.3f} ptp {np.ptp(x):.3f}")
print(np.percentile(x, [5, 25, 50, 75, 95]).round(3), np.quantile(x, 0.9).round(3))
counts, edges = np.histogram(x, bins=8)
for c, lo, hi in zip(counts, edges[:-1], edges[1:]):
    print(f"{lo:6.1f} - {hi:6.1f} | {'#' * (c // 10)} {c}")
boot = np.array([np.random.default_rng(i).choice(x, x.size).mean() for i in range(100)])
print(np.percentile(boot, [2.5, 97.5]).round(3))
print(np.unique([3, 1, 3, 2], return_counts=True), np.bincount([0, 1, 1, 3]), np.digitize([1, 5, 9], [2, 6]), np.average([1, 2, 3], weights=[3, 2, 1]))
print(np.nanmean([1, np.nan, 3]), np.nansum([np.nan]), np.isnan([1, np.nan]).any(), np.cov([1, 2, 3], [1, 2, 4]).round(3), np.argsort([3, 1, 2]), np.sort([3, 1, 2])[::-1])
