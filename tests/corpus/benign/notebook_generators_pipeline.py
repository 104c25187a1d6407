def numbers(text):
    for line in text.strip().splitlines():
        yield from (int(x) for x in line.split() if x.lstrip("-").isdigit())


def running(values):
    total = 0
    while True:
        value = yield total
        if value is None:
            return total
        total += value


def windowed(iterable, size):
    window = []
    for x in iterable:
        window.append(x)
        if len(window) == size:
            yield tuple(window)
            window.pop(0)


text = """
3 1 4 x
1 5 -9
2 6
"""
print(list(numbers(text)), list(windowed(numbers(text), 3))[:2])
r = running([])
next(r)
for n in numbers(text):
    last = r.send(n)
print(last)
try:
    r.send(None)
except StopIteration as stop:
    print("returned", stop.value)


def delegating():
    result = yield from inner()
    print("inner returned", result)


def inner():
    try:
        yield 1
        yield 2
    finally:
        print("cleaning up")
    return "done"


print(list(delegating()))
g = inner()
print(next(g))
g.close()
evens = (x for x in range(10) if x % 2 == 0)
print(next(evens), sum(evens), next(evens, "empty"), max((len(w), w) for w in ["a", "bbb", "cc"]))
