import random
import string

rng = random.Random(11)
TARGET = "hello sandbox"
LETTERS = string.ascii_lowercase + " "


def fitness(s):
    return sum(a == b for a, b in zip(s, TARGET))


def mutate(s, rate=0.05):
    return "".join(rng.choice(LETTERS) if rng.random() < rate else c for c in s)


def cross(a, b):
    cut = rng.randrange(1, len(a))
    return a[:cut] + b[cut:]


population = ["".join(rng.choices(LETTERS, k=len(TARGET))) for _ in range(100)]
for generation in range(300):
    population.sort(key=fitness, reverse=True)
    best = population[0]
    if generation % 20 == 0 or best == TARGET:
        print(f"{generation:>3} {fitness(best):>2}/{len(TARGET)} {best!r}")
    if best == TARGET:
        break
    parents = population[:25]
    population = parents[:5] + [mutate(cross(*rng.sample(parents, 2))) for _ in range(95)]
print(best == TARGET, len(set(population)) > 1)
