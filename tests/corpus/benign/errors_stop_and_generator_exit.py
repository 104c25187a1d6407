def reader(lines):
    count = 0
    try:
        for line in lines:
            count += 1
            yield line.upper()
    except GeneratorExit:
        print("closed after", count)
        raise
    finally:
        print("finally", count)


g = reader("abc")
print(next(g), next(g))
g.close()
print(list(reader("xy")))


def resilient():
    value = None
    while True:
        try:
            value = yield value
        except ValueError as e:
            value = f"handled {e}"


r = resilient()
next(r)
print(r.send(1), r.throw(ValueError("bad")), r.send(2))
try:
    r.throw(KeyError("other"))
except KeyError as e:
    print("out came", e)
try:
    next(r)
except StopIteration as stop:
    print("finished", stop.value)
try:
    def broken():
        yield 1
        raise StopIteration
    list(broken())
except RuntimeError as e:
    print(type(e).__name__, type(e.__cause__).__name__)
