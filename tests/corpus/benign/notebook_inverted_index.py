import re
from collections import defaultdict

documents = [part.strip() for part in context.split("\n\n") if part.strip()]
index = defaultdict(lambda: defaultdict(list))
for number, text in enumerate(documents):
    for m in re.finditer(r"[a-z]{3,}", text.lower()):
        index[m.group()][number].append(m.start())
len(index)


# %%
def search(query):
    sets = [set(index[w]) if w in index else set() for w in query.lower().split()]
    return sorted(set.intersection(*sets)) if sets else []


def phrase(first, second):
    hits = []
    for number in set(index.get(first, ())) & set(index.get(second, ())):
        ends = {p + len(first) + 1 for p in index[first][number]}
        hits += [number for p in index[second][number] if p in ends]
    return sorted(hits)


for query in ("disk cache", "night shift", "sixty requests", "unicorn disk"):
    print(f"{query:<16} {search(query)}")
print(phrase("disk", "cache"), phrase("cache", "disk"), sum(len(v) for v in index["timeout"].values()))
rare = sorted(w for w, places in index.items() if len(places) == 1)
print(len(rare) > 10, rare[:6])
