def make_counter(start=0, step=1):
    count = start

    def increment():
        nonlocal count
        count += step
        return count

    def reset():
        nonlocal count
        count = start

    increment.reset = reset
    return increment

a, b = make_counter(), make_counter(10, 5)
print(a(), a(), b(), a(), b())
a.reset()
print(a())
