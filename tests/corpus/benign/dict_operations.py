d = dict(a=1, b=2)
d.update(c=3)
d |= {"d": 4}
print(d, d.pop("a"), d.get("zz", 0), list(d.items()), "b" in d)
inverted = {v: k for k, v in d.items()}
print(inverted, {**d, "e": 5}, d | {"b": 20})
print(dict.fromkeys("xyz", 0), dict([("p", 1), ("q", 2)]), dict(zip("mn", (1, 2))))
for i, (key, value) in enumerate(sorted(d.items(), reverse=True)):
    print(i, key, value, end="; ")
print()
del d["b"]
print(d.setdefault("new", []), len(d), list(reversed(d)))
