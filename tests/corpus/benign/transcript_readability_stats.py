import re
from statistics import mean


def syllables(word):
    groups = re.findall(r"[aeiouy]+", word.lower())
    return max(1, len(groups) - (word.lower().endswith("e") and len(groups) > 1))


def readability(text):
    sentences = [s for s in re.split(r"[.!?]+", text) if s.strip()]
    words = re.findall(r"[A-Za-z]+", text)
    spoken = sum(map(syllables, words))
    return {
        "sentences": len(sentences),
        "words": len(words),
        "flesch": round(206.835 - 1.015 * len(words) / len(sentences) - 84.6 * spoken / len(words), 1),
        "longest": max(words, key=len),
        "mean_length": round(mean(map(len, words)), 2),
    }


parts = {"intro": context.split("##")[0], "background": context.split("## Background")[1].split("##")[0]}
for name, part in parts.items():
    print(name, readability(part))
print([(w, syllables(w)) for w in ("cat", "people", "operation", "the", "idea")])
