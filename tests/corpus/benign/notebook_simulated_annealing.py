import math
import random
from itertools import pairwise

rng = random.Random(2)
points = [(rng.random() * 100, rng.random() * 100) for _ in range(14)]


def length(order):
    return math.fsum(math.dist(points[a], points[b]) for a, b in pairwise(order + order[:1]))


def anneal(order, temperature=100.0, cooling=0.995, steps=3000):
    current = best = order[:]
    cost = best_cost = length(order)
    accepted = 0
    for _ in range(steps):
        i, j = sorted(rng.sample(range(len(order)), 2))
        candidate = current[:i] + current[i:j + 1][::-1] + current[j + 1:]
        change = length(candidate) - cost
        if change < 0 or rng.random() < math.exp(-change / temperature):
            current, cost = candidate, cost + change
            accepted += 1
            if cost < best_cost:
                best, best_cost = current[:], cost
        temperature *= cooling
    return best, accepted


start = list(range(len(points)))
best, accepted = anneal(start)
print(f"from {length(start):.2f} to {length(best):.2f}, accepted {accepted} of 3000")
print(sorted(best) == start, best.index(0) >= 0, length(best) < length(start))
greedy, rest = [0], set(start[1:])
while rest:
    nearest = min(rest, key=lambda k: (math.dist(points[greedy[-1]], points[k]), k))
    greedy.append(nearest)
    rest.remove(nearest)
print(f"greedy {length(greedy):.2f}", greedy[:4], length(best) <= length(greedy) + 1e-9)
