import random
from collections import Counter

random.seed(42)
print([random.randint(1, 6) for _ in range(10)], round(random.random(), 6))
people = ["ann", "ben", "cat", "dan", "eve", "fay"]
random.shuffle(people)
print(people, random.choice(people), random.sample(people, k=3))
teams = [people[i::2] for i in range(2)]
print(teams)
rng = random.Random(7)
print(Counter(rng.choices(["win", "lose", "draw"], weights=[5, 3, 2], k=1000)).most_common())
print(round(rng.uniform(10, 20), 4), round(rng.gauss(0, 1), 4), rng.randrange(0, 100, 5), rng.getrandbits(16))
state = rng.getstate()
first = [rng.random() for _ in range(3)]
rng.setstate(state)
print(first == [rng.random() for _ in range(3)])
a, b = random.Random("text"), random.Random("text")
print(a.random() == b.random(), random.Random(1).sample(range(1_000_000), 3))
