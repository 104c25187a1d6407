likes = {
    "ann": {"tea", "jazz", "chess", "hiking"},
    "ben": {"coffee", "jazz", "football"},
    "cat": {"tea", "chess", "jazz", "football"},
    "dan": set(),
}
everything = set().union(*likes.values())
shared = set.intersection(*(s for s in likes.values() if s))
print(sorted(everything), shared)


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 0.0


names = sorted(likes)
print("     " + "  ".join(f"{n:>4}" for n in names))
for a in names:
    print(f"{a:<5}" + "  ".join(f"{jaccard(likes[a], likes[b]):4.2f}" for b in names))
pairs = sorted(((jaccard(likes[a], likes[b]), a, b) for i, a in enumerate(names) for b in names[i + 1:]), reverse=True)
print(pairs[0], likes["ann"] - likes["cat"], sorted(likes["ann"] ^ likes["cat"]))
print(likes["dan"] <= likes["ann"], likes["dan"].isdisjoint({"x"}), frozenset("ab") | {"c"} == {"a", "b", "c"})
fans = {}
for person, things in likes.items():
    for thing in things:
        fans.setdefault(thing, set()).add(person)
print({t: sorted(p) for t, p in sorted(fans.items()) if len(p) > 1})
