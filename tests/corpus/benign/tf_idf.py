import math
from collections import Counter, defaultdict
documents = [p for p in context.split("\n\n") if len(p) > 100][:6]
tokens = [Counter(w.strip(".,:").lower() for w in d.split() if w.isalpha()) for d in documents]
df = defaultdict(int)
for counts in tokens:
    for word in counts:
        df[word] += 1
for i, counts in enumerate(tokens):
    scores = {w: n * math.log((1 + len(tokens)) / (1 + df[w])) for w, n in counts.items()}
    top = sorted(scores, key=lambda w: (-scores[w], w))[:3]
    print(i, top)
