import math
import re
from collections import Counter


class BM25:
    def __init__(self, documents, k1=1.5, b=0.75):
        self.k1, self.b = k1, b
        self.documents = [self.tokens(d) for d in documents]
        self.average = sum(map(len, self.documents)) / len(self.documents)
        self.counts = [Counter(d) for d in self.documents]
        containing = Counter(w for c in self.counts for w in c)
        n = len(documents)
        self.idf = {w: math.log((n - f + 0.5) / (f + 0.5) + 1) for w, f in containing.items()}

    @staticmethod
    def tokens(text):
        return re.findall(r"\w+", text.lower())

    def score(self, query, i):
        length = len(self.documents[i]) / self.average
        total = 0.0
        for w in self.tokens(query):
            f = self.counts[i][w]
            total += self.idf.get(w, 0) * f * (self.k1 + 1) / (f + self.k1 * (1 - self.b + self.b * length))
        return total

    def search(self, query, n=3):
        scored = ((self.score(query, i), i) for i in range(len(self.documents)))
        return sorted((s for s in scored if s[0] > 0), key=lambda s: (-s[0], s[1]))[:n]


lines = [l for l in context.splitlines() if len(l) > 20]
index = BM25(lines)
for query in ("cache replaced", "write to ops", "sixty requests block ends", "zebra"):
    print(query, "->", [(i, round(s, 2)) for s, i in index.search(query)])
best = index.search("slow disk alice upload", 1)[0][1]
print(lines[best][20:90])
