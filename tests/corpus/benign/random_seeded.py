import random
random.seed(42)
print(random.randint(1, 100), random.choice("abcdef"), round(random.random(), 6))
items = list(range(10))
random.shuffle(items)
print(items, random.sample(range(100), 5))
print([round(random.gauss(0, 1), 4) for _ in range(3)], random.choices("ab", weights=[9, 1], k=5))
rng = random.Random(7)
print(rng.randrange(1000), rng.uniform(0, 1) < 1)
