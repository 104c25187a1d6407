inventory = {"apple": 3, "pear": 0, "fig": 7}
prices = {"apple": 0.5, "fig": 0.2, "kiwi": 0.9}
print(inventory.keys() & prices.keys() == {"apple", "fig"}, sorted(inventory.keys() - prices.keys()), sorted(inventory.keys() ^ prices.keys()))
print({k: inventory[k] * prices[k] for k in inventory if k in prices}, inventory | {"pear": 1, "new": 2})
inventory.update(apple=5, plum=1)
print(inventory.pop("pear"), inventory.pop("nothing", None), inventory.setdefault("fig", 0), list(inventory))
print(dict(sorted(inventory.items(), key=lambda kv: kv[1], reverse=True)), max(inventory, key=inventory.get))
inverse = {}
for fruit, n in inventory.items():
    inverse.setdefault(n % 2 == 1, []).append(fruit)
print(inverse, dict.fromkeys("ab", 0), dict(zip("xy", (1, 2))), dict([("k", "v")]), list(reversed(inventory)))
nested = {"a": {"b": {"c": 1}}, "d": [1, {"e": 2}]}


def flatten(value, prefix=""):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from flatten(v, f"{prefix}.{k}" if prefix else k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from flatten(v, f"{prefix}[{i}]")
    else:
        yield prefix, value


print(dict(flatten(nested)))
del inventory["plum"]
first, *_ = inventory
print(first, next(iter(inventory.values())), len(inventory), "kiwi" not in inventory, {**inventory, **prices} == inventory | prices)
