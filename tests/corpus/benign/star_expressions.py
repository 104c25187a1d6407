first, *middle, last = range(6)
print(first, middle, last)
*head, (a, b) = [1, 2, (3, 4)]
print(head, a, b)
def f(a, /, b, *args, c=0, **kw):
    return a, b, args, c, kw
print(f(1, 2, 3, 4, c=5, d=6), f(*[1, 2], **{"c": 3}), [*range(2), *"ab"], {**{"x": 1}, "y": 2})
x, y = 1, 2
x, y = y, x + y
(p, q), r = (1, 2), 3
print(x, y, p, q, r)
for i, (name, score) in enumerate([("a", 1), ("b", 2)]):
    print(i, name, score)
