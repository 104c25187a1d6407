import random
from collections import defaultdict

random.seed(3)
corpus = """the cat sat on the mat . the dog sat on the log . the cat saw the dog .
the dog saw the cat on the mat . the bird sat on the log and sang .""".split()

model = defaultdict(list)
for a, b, c in zip(corpus, corpus[1:], corpus[2:]):
    model[a, b].append(c)

def generate(start=("the", "cat"), limit=15):
    a, b = start
    words = [a, b]
    while len(words) < limit and (choices := model.get((a, b))):
        a, b = b, random.choice(choices)
        words.append(b)
    return " ".join(words)

for _ in range(3):
    print(generate())
print(len(model), sorted(set(model["on", "the"])), max(map(len, model.values())))
transitions = defaultdict(lambda: defaultdict(int))
for a, b in zip(corpus, corpus[1:]):
    transitions[a][b] += 1
print({w: dict(sorted(t.items())) for w, t in sorted(transitions.items()) if len(t) > 2})
