def averager():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        if value is None:
            return total
        total += value
        count += 1
        average = total / count

g = averager()
next(g)
print([g.send(v) for v in (10, 20, 60)])
try:
    g.send(None)
except StopIteration as stop:
    print("total", stop.value)

def outer():
    result = yield from averager()
    yield ("done", result)
o = outer()
next(o); o.send(4)
print(o.send(None))
