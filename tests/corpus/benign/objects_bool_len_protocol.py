class Basket:
    def __init__(self, *items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __or__(self, other):
        return Basket(*self.items, *other.items)

    def __ior__(self, other):
        self.items += other.items
        return self

    def __sub__(self, other):
        return Basket(*(i for i in self.items if i not in other.items))

    def __delitem__(self, index):
        del self.items[index]

    def __setitem__(self, index, value):
        self.items[index] = value

    def __getitem__(self, index):
        return self.items[index]

    def __index__(self):
        return len(self)

    def __eq__(self, other):
        return sorted(self.items) == sorted(other.items) if isinstance(other, Basket) else NotImplemented


a, b = Basket("egg", "milk"), Basket()
print("full" if a else "empty", "full" if b else "empty", not b, list(range(a)), "abcdef"[a:])
b |= Basket("rye", "egg")
c = a | b
c[0] = "tea"
del c[1]
print(c.items, (c - b).items, c[-1], Basket("x", "y") == Basket("y", "x"), a == "egg", a != b)
c[1:] = ["jam"]
print(c.items, [*c], "tea" in c, max(a, b, key=len).items)
