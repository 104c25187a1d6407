from collections import defaultdict

index = defaultdict(list)
for number, line in enumerate(context.splitlines()):
    for word in set(line.split()):
        if word.isalpha() and len(word) > 6:
            index[word.lower()].append(number)

for word in sorted(index, key=lambda w: (-len(index[w]), w))[:8]:
    print(word, len(index[word]), index[word][:5])

totals = defaultdict(int)
for word, where in index.items():
    totals[word[0]] += len(where)
print(dict(sorted(totals.items())))
