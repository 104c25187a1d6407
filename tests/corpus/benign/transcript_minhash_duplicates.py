import hashlib
import re
from itertools import combinations


def shingles(text, n=3):
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i:i + n]) for i in range(max(1, len(words) - n + 1))}


def signature(items, size=24):
    return [min(int.from_bytes(hashlib.sha1(f"{seed}:{s}".encode()).digest()[:6], "big") for s in items) for seed in range(size)]


documents = {
    "a": "The disk cache was replaced on the first day and timeouts became rarer after that",
    "b": "The disk cache was replaced on the first day; timeouts became rarer after this",
    "c": "Every request is logged with its user and its action",
    "d": "every request IS logged with its user and its action!",
}
sets = {k: shingles(v) for k, v in documents.items()}
signatures = {k: signature(v) for k, v in sets.items()}
for x, y in combinations(documents, 2):
    exact = len(sets[x] & sets[y]) / len(sets[x] | sets[y])
    estimate = sum(p == q for p, q in zip(signatures[x], signatures[y])) / 24
    if exact or estimate:
        print(f"{x}{y}: jaccard {exact:.2f}, estimated {estimate:.2f}")
groups = {}
for k, s in signatures.items():
    groups.setdefault(tuple(s[:4]), []).append(k)
print([g for g in groups.values() if len(g) > 1])
