import numpy as np

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(c, 0.5, (50, 2)) for c in ([0, 0], [5, 5], [0, 5])])

def kmeans(X, k, iters=50, seed=0):
    r = np.random.default_rng(seed)
    centers = X[r.choice(len(X), k, replace=False)]
    for i in range(iters):
        dist = np.linalg.norm(X[:, None] - centers[None], axis=2)
        labels = dist.argmin(axis=1)
        new = np.array([X[labels == j].mean(axis=0) if (labels == j).any() else centers[j] for j in range(k)])
        if np.allclose(new, centers):
            break
        centers = new
    inertia = (dist.min(axis=1) ** 2).sum()
    return centers, labels, inertia, i

for k in (2, 3, 4):
    centers, labels, inertia, n = kmeans(X, k)
    print(k, round(inertia, 3), n, np.bincount(labels))
    print(centers[np.lexsort(centers.T)].round(3))
