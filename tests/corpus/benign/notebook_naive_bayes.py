import math
import re
from collections import Counter, defaultdict

train = [
    ("spam", "win money now"), ("spam", "free money offer win"), ("spam", "cheap pills offer"),
    ("ham", "meeting at noon"), ("ham", "project offer for the meeting"), ("ham", "see you at the project review"),
]


class NaiveBayes:
    def __init__(self, alpha=1.0):
        self.alpha = alpha
        self.words = defaultdict(Counter)
        self.labels = Counter()

    @staticmethod
    def tokens(text):
        return re.findall(r"\w+", text.lower())

    def fit(self, data):
        for label, text in data:
            self.labels[label] += 1
            self.words[label].update(self.tokens(text))
        self.vocabulary = set().union(*self.words.values())
        return self

    def scores(self, text):
        result = {}
        for label, n in self.labels.items():
            total = self.words[label].total() + self.alpha * len(self.vocabulary)
            result[label] = math.log(n / self.labels.total()) + sum(
                math.log((self.words[label][w] + self.alpha) / total) for w in self.tokens(text)
            )
        return result

    def predict(self, text):
        scores = self.scores(text)
        best = max(scores, key=scores.get)
        return best, 1 / sum(math.exp(s - scores[best]) for s in scores.values())


model = NaiveBayes().fit(train)
for text in ("free money", "project meeting", "offer", "unknown words"):
    label, p = model.predict(text)
    print(f"{text:<18}{label:<5}{p:.3f}")
print(len(model.vocabulary), dict(model.labels))
