import math
import random

random.seed(0)


def estimate_pi(n):
    inside = 0
    for _ in range(n):
        x, y = random.uniform(-1, 1), random.uniform(-1, 1)
        inside += x * x + y * y <= 1
    return 4 * inside / n


for n in (100, 1_000, 20_000):
    estimate = estimate_pi(n)
    print(f"{n:>7,}: {estimate:.5f} (error {abs(estimate - math.pi):.5f})")


def random_walk(steps):
    position, furthest = 0, 0
    for _ in range(steps):
        position += random.choice((-1, 1))
        furthest = max(furthest, abs(position))
    return position, furthest


walks = [random_walk(200) for _ in range(50)]
ends = [w[0] for w in walks]
print(min(ends), max(ends), sum(ends) / len(ends), max(w[1] for w in walks))
buckets = {}
for e in ends:
    buckets[e // 10 * 10] = buckets.get(e // 10 * 10, 0) + 1
for low in sorted(buckets):
    print(f"{low:>4}..{low + 9:<4}{'*' * buckets[low]}")
