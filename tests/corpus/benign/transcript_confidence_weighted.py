from dataclasses import dataclass
from functools import reduce
from math import prod, log, exp


@dataclass(frozen=True)
class Opinion:
    source: str
    answer: str
    confidence: float


opinions = [Opinion("regex", "alice", 0.6), Opinion("model", "bob", 0.7), Opinion("model-2", "alice", 0.55), Opinion("count", "alice", 0.5), Opinion("guess", "carol", 0.1)]
scores = {}
for o in opinions:
    scores.setdefault(o.answer, []).append(o.confidence)
noisy_or = {a: 1 - prod(1 - c for c in cs) for a, cs in scores.items()}
log_odds = {a: reduce(lambda total, c: total + log(c / (1 - c)), cs, 0.0) for a, cs in scores.items()}
total = sum(exp(v) for v in log_odds.values())
print(f"{'answer':<8}{'noisy-or':>10}{'softmax':>10}{'votes':>7}")
for a in sorted(noisy_or, key=noisy_or.get, reverse=True):
    print(f"{a:<8}{noisy_or[a]:>10.3f}{exp(log_odds[a]) / total:>10.3f}{len(scores[a]):>7}")
best = max(noisy_or.items(), key=lambda kv: kv[1])
print("best:", best[0], "by", [o.source for o in opinions if o.answer == best[0]])
answer["content"] = best[0]
