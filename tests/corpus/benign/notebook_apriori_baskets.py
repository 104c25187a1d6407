from collections import Counter
from itertools import combinations

baskets = [
    {"bread", "milk"}, {"bread", "nappies", "beer", "eggs"}, {"milk", "nappies", "beer", "cola"},
    {"bread", "milk", "nappies", "beer"}, {"bread", "milk", "nappies", "cola"},
]
minimum = 0.4
n = len(baskets)


def support(items):
    return sum(items <= b for b in baskets) / n


level = [frozenset([i]) for i in sorted(set().union(*baskets)) if support({i}) >= minimum]
frequent = {s: support(s) for s in level}
while level:
    candidates = {a | b for a, b in combinations(level, 2) if len(a | b) == len(a) + 1}
    level = [c for c in candidates if support(c) >= minimum]
    frequent |= {c: support(c) for c in level}
for s, value in sorted(frequent.items(), key=lambda kv: (-len(kv[0]), -kv[1], sorted(kv[0])))[:6]:
    print(f"{', '.join(sorted(s)):<24}{value:.0%}")

rules = []
for s in frequent:
    for r in range(1, len(s)):
        for left in map(frozenset, combinations(sorted(s), r)):
            confidence = frequent[s] / support(left)
            lift = confidence / support(s - left)
            if confidence >= 0.7 and lift > 1:
                rules.append((round(lift, 3), round(confidence, 3), sorted(left), sorted(s - left)))
for lift, confidence, left, right in sorted(rules, reverse=True)[:4]:
    print(f"{'+'.join(left)} -> {'+'.join(right)}: confidence {confidence}, lift {lift}")
print(Counter(len(s) for s in frequent))
