import math
import re
from collections import Counter

query = "slow disk blocks pending on worker pool"
STOP = {"on", "the", "a", "of", "and", "in"}


def tokens(text: str) -> list[str]:
    return [w for w in re.findall(r"[a-z]+", text.lower()) if w not in STOP]


documents = [line for line in context.splitlines() if re.match(r"\d{4}-", line)]
frequency = Counter()
for doc in documents:
    frequency.update(set(tokens(doc)))
n = len(documents)
idf = {word: math.log(1 + n / count) for word, count in frequency.items()}


def score(doc: str) -> float:
    words = Counter(tokens(doc))
    return sum(words[w] * idf.get(w, 0.0) for w in tokens(query)) / (1 + math.log(len(doc)))


ranked = sorted(documents, key=score, reverse=True)[:5]
for rank, doc in enumerate(ranked, 1):
    print(f"{rank}. {score(doc):6.3f}  {doc[:68]}")
print({w: round(idf[w], 3) for w in sorted(set(tokens(query))) if w in idf})
