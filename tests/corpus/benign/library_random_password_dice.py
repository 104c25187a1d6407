import random
import string
from collections import Counter

rng = random.Random("dice")
rolls = [sum(rng.randint(1, 6) for _ in range(2)) for _ in range(360)]
counts = Counter(rolls)
for total in range(2, 13):
    expected = 10 * (6 - abs(total - 7))
    print(f"{total:>2} {counts[total]:>3} (expected {expected:>2}) {'#' * (counts[total] // 4)}")
letters = rng.choices(string.ascii_lowercase, k=8)
print("".join(letters), rng.choice(["heads", "tails"]), rng.sample(range(1, 50), 6))
deck = [f"{r}{s}" for s in "SHDC" for r in "23456789TJQKA"]
rng.shuffle(deck)
print(deck[:5], len(set(deck)), round(rng.triangular(0, 10, 5), 3), round(rng.expovariate(0.5), 3), round(rng.betavariate(2, 3), 3))
random.seed(5)
first = [random.random() for _ in range(2)]
random.seed(5)
print(first == [random.random() for _ in range(2)], random.randrange(10) in range(10))
