from collections.abc import MutableMapping, Sequence, Iterator, Set


class Folded(MutableMapping):
    """A mapping whose keys ignore case."""

    def __init__(self, *args, **kwargs):
        self._store = {}
        self.update(dict(*args, **kwargs))

    def __getitem__(self, key):
        return self._store[key.lower()][1]

    def __setitem__(self, key, value):
        self._store[key.lower()] = (key, value)

    def __delitem__(self, key):
        del self._store[key.lower()]

    def __iter__(self):
        return (original for original, _ in self._store.values())

    def __len__(self):
        return len(self._store)


class Repeat(Sequence):
    def __init__(self, value, times):
        self.value, self.times = value, times

    def __len__(self):
        return self.times

    def __getitem__(self, i):
        if not -self.times <= i < self.times:
            raise IndexError(i)
        return self.value


class Fib(Iterator):
    def __init__(self, limit):
        self.a, self.b, self.limit = 0, 1, limit

    def __next__(self):
        if self.a > self.limit:
            raise StopIteration
        value, self.a, self.b = self.a, self.b, self.a + self.b
        return value


h = Folded({"Content-Type": "text/plain"}, Accept="*/*")
h["ACCEPT"] = "text/html"
print(dict(h), h.get("content-type"), h.get("nothing", 0), "accept" in h, len(h), h.pop("Accept"), list(h.items()))
r = Repeat("x", 3)
print(list(r), r.index("x"), r.count("x"), "y" in r, list(reversed(r)), isinstance(r, Sequence))
print(list(Fib(30)), sum(Fib(10)), isinstance({1}, Set))
