class Inventory:
    def __init__(self):
        self._items = {}

    def __setitem__(self, name, quantity):
        if quantity < 0:
            raise ValueError(name)
        self._items[name] = quantity

    def __getitem__(self, name):
        return self._items[name]

    def __delitem__(self, name):
        del self._items[name]

    def __contains__(self, name):
        return name in self._items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(sorted(self._items))

    def __call__(self, factor):
        return {k: v * factor for k, v in self._items.items()}

inv = Inventory()
inv["apple"] = 3
inv["pear"] = 5
inv["apple"] += 4
print(inv["apple"], "pear" in inv, len(inv), list(inv), inv(2))
del inv["pear"]
print("pear" in inv, [name.upper() for name in inv])
