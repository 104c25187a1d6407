import math
import random
from collections import defaultdict


class Bandit:
    def __init__(self, chances, seed=0):
        self.chances = chances
        self.rng = random.Random(seed)

    def pull(self, arm):
        return int(self.rng.random() < self.chances[arm])


def epsilon_greedy(counts, wins, rng, epsilon=0.1):
    if rng.random() < epsilon or not all(counts.values()):
        return rng.choice(sorted(counts))
    return max(counts, key=lambda a: wins[a] / counts[a])


def ucb(counts, wins, rng):
    for arm, n in counts.items():
        if not n:
            return arm
    total = sum(counts.values())
    return max(counts, key=lambda a: wins[a] / counts[a] + math.sqrt(2 * math.log(total) / counts[a]))


chances = {"A": 0.2, "B": 0.5, "C": 0.65}
for strategy in (epsilon_greedy, ucb):
    bandit, rng = Bandit(chances, seed=3), random.Random(4)
    counts, wins = dict.fromkeys(chances, 0), defaultdict(int)
    for _ in range(1000):
        arm = strategy(counts, wins, rng)
        counts[arm] += 1
        wins[arm] += bandit.pull(arm)
    regret = 1000 * max(chances.values()) - sum(counts[a] * chances[a] for a in chances)
    print(f"{strategy.__name__:<15}{counts} wins {sum(wins.values())} regret {regret:.1f}")
    print("   estimates", {a: round(wins[a] / counts[a], 2) for a in chances})
