import math
import re
from collections import Counter, defaultdict


class Bigram:
    def __init__(self, text, k=0.5):
        words = self.words(text)
        self.k, self.vocabulary = k, set(words) | {"<unk>"}
        self.pairs, self.singles = Counter(zip(words, words[1:])), Counter(words)

    @staticmethod
    def words(text):
        return ["<s>"] + re.findall(r"[a-z]+|[.!?]", text.lower())

    def p(self, a, b):
        return (self.pairs[a, b] + self.k) / (self.singles[a] + self.k * len(self.vocabulary))

    def perplexity(self, text):
        words = [w if w in self.vocabulary else "<unk>" for w in self.words(text)]
        return math.exp(-sum(math.log(self.p(a, b)) for a, b in zip(words, words[1:])) / (len(words) - 1))

    def likely(self, word, n=3):
        following = defaultdict(int)
        for (a, b), c in self.pairs.items():
            if a == word:
                following[b] += c
        return sorted(following.items(), key=lambda kv: (-kv[1], kv[0]))[:n]


model = Bigram(context)
for text in ("request served user alice", "the disk cache was replaced", "purple unicorns dance", "alice user served request"):
    print(f"{model.perplexity(text):>9.2f}  {text}")
print(model.likely("request"), model.likely("user"), len(model.vocabulary))
print(abs(sum(model.p("the", w) for w in model.vocabulary) - 1) < 1e-9)
