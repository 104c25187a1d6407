import re
from collections import Counter

STOP = set("the a an of and to in is was were that it for with at on who or after between".split())
background = context.split("## Background")[1].split("## Log")[0]
sentences = [s.strip() for s in re.split(r"(?<=[.!?;])\s+", background.strip()) if s.strip()]
freq = Counter(w for w in re.findall(r"[a-z']+", background.lower()) if w not in STOP)
top = freq.most_common(1)[0][1]


def score(sentence):
    words = re.findall(r"[a-z']+", sentence.lower())
    return sum(freq[w] / top for w in words if w not in STOP) / (len(words) or 1)


ranked = sorted(enumerate(sentences), key=lambda p: score(p[1]), reverse=True)
for i, s in ranked:
    print(f"{score(s):.3f} [{i}] {s.replace(chr(10), ' ')[:66]}")
summary = " ".join(s for i, s in sorted(ranked[:2]))
print(len(summary) < len(background), summary.split()[0])
