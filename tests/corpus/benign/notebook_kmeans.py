import math
import random

random.seed(5)
points = [(random.gauss(cx, 0.6), random.gauss(cy, 0.6)) for cx, cy in ((0, 0), (5, 5), (0, 6)) for _ in range(20)]


def kmeans(points, k, rounds=50):
    centers = random.sample(points, k)
    for round_number in range(rounds):
        clusters = [[] for _ in range(k)]
        for p in points:
            nearest = min(range(k), key=lambda i: math.dist(p, centers[i]))
            clusters[nearest].append(p)
        moved = [tuple(sum(axis) / len(c) for axis in zip(*c)) if c else centers[i] for i, c in enumerate(clusters)]
        if moved == centers:
            break
        centers = moved
    return centers, clusters, round_number


centers, clusters, rounds = kmeans(points, 3)
for center, cluster in sorted(zip(centers, clusters)):
    print(f"({center[0]:5.2f}, {center[1]:5.2f}) {len(cluster)} points")
inertia = sum(math.dist(p, c) ** 2 for c, cluster in zip(centers, clusters) for p in cluster)
print(f"rounds {rounds}, inertia {inertia:.3f}")
grid = [[" "] * 24 for _ in range(10)]
for label, cluster in zip("abc", (c for _, c in sorted(zip(centers, clusters)))):
    for x, y in cluster:
        grid[9 - min(9, max(0, int(y + 1)))][min(23, max(0, int((x + 2) * 3)))] = label
print("\n".join("".join(row).rstrip() for row in grid))
