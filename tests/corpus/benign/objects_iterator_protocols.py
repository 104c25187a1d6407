class Countdown:
    def __init__(self, start):
        self.start = start

    def __iter__(self):
        n = self.start
        while n > 0:
            yield n
            n -= 1

    def __reversed__(self):
        return iter(range(1, self.start + 1))

    def __len__(self):
        return self.start

    def __contains__(self, n):
        return isinstance(n, int) and 0 < n <= self.start


class Pages:
    """Old-style iteration over __getitem__."""

    def __init__(self, text, size):
        self.text, self.size = text, size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        piece = self.text[index * self.size:(index + 1) * self.size]
        if not piece:
            raise IndexError(index)
        return piece

    def __len__(self):
        return -(-len(self.text) // self.size)


c = Countdown(4)
print(list(c), list(reversed(c)), len(c), 3 in c, "3" in c, sum(c), max(c), sorted(c), tuple(zip(c, "abcd")))
a, *rest = c
print(a, rest, dict(enumerate(c, 1)))
pages = Pages(context[:45], 10)
print([p for p in pages], len(pages), repr(pages[-1]), pages[1:3], "Operations" in " ".join(pages))
