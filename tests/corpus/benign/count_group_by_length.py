from itertools import groupby
words = sorted(set(w for w in context.split() if w.isalpha()), key=lambda w: (len(w), w))
for length, group in groupby(words, key=len):
    group = list(group)
    print(length, len(group), ", ".join(group[:3]))
