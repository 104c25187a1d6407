from itertools import combinations, permutations, product, chain, cycle, islice, groupby, accumulate
from operator import itemgetter

teams = ["Lions", "Bears", "Hawks", "Wolves"]
rounds = []
rest = teams[1:]
for r in range(len(teams) - 1):
    order = [teams[0]] + rest
    rounds.append([(order[i], order[-1 - i]) for i in range(len(order) // 2)])
    rest = rest[1:] + rest[:1]
for number, games in enumerate(rounds, 1):
    print(number, "; ".join(f"{a} - {b}" for a, b in games))
played = {frozenset(g) for g in chain.from_iterable(rounds)}
print(played == {frozenset(p) for p in combinations(teams, 2)})
shifts = list(islice(cycle(["early", "late", "night"]), 7))
print(list(zip("MTWTFSS", shifts)))
sizes = [(s, c) for s, c in product(("S", "M"), ("red", "blue")) if (s, c) != ("M", "red")]
print(sizes, len(list(permutations("abcd", 2))))
log = sorted([("b", 3), ("a", 1), ("b", 1), ("a", 9)], key=itemgetter(0))
print({k: [v for _, v in g] for k, g in groupby(log, key=itemgetter(0))})
print(list(accumulate([100, -20, -30, 50])), [*accumulate("abc", lambda a, b: f"({a}{b})")], max(accumulate([1, -5, 8, -2])))
