import math
from collections import Counter

def vector(text):
    return Counter(text.lower().split())

def cosine(a, b):
    common = set(a) & set(b)
    dot = sum(a[w] * b[w] for w in common)
    norm = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
    return dot / norm if norm else 0.0

docs = ["the cat sat on the mat", "the dog sat on the log", "stocks rose sharply today"]
vectors = [vector(d) for d in docs]
for i in range(len(docs)):
    print([round(cosine(vectors[i], v), 3) for v in vectors])
query = vector("cat on mat")
print(max(docs, key=lambda d: cosine(query, vector(d))))
