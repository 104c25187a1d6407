class Pipe:
    """Steps joined with |."""

    def __init__(self, function, name=None):
        self.function = function
        self.name = name or getattr(function, "__name__", "step")

    def __call__(self, value):
        return self.function(value)

    def __or__(self, other):
        other = other if isinstance(other, Pipe) else Pipe(other)
        return Pipe(lambda value: other(self(value)), f"{self.name} | {other.name}")

    def __ror__(self, value):
        return self(value)

    def __repr__(self):
        return f"<{self.name}>"


@Pipe
def words(text):
    return text.split()


@Pipe
def longest(items):
    return max(items, key=len)


def where(test):
    return Pipe(lambda items: [i for i in items if test(i)], "where")


def each(function):
    return Pipe(lambda items: [function(i) for i in items], f"each {function.__name__}")


count = words | len
print(context[:60] | words | each(str.upper) | where(str.isalpha))
print(count, count("a b c"), "one three five" | words | longest, (words | longest)("aa bbb c"))
print([3, 1, 2] | Pipe(sorted) | each(str) | Pipe(",".join))
