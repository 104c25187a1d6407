from operator import attrgetter, itemgetter, methodcaller, mul, add, contains, countOf
from functools import reduce
from types import SimpleNamespace

rows = [("bob", 31, 2.5), ("ann", 25, 3.5), ("cat", 31, 1.0)]
print(sorted(rows, key=itemgetter(1, 0)), max(rows, key=itemgetter(2))[0])
people = [SimpleNamespace(name=n, age=a, home=SimpleNamespace(city=c)) for n, a, c in (("x", 3, "Rom"), ("y", 1, "Bonn"))]
print([p.name for p in sorted(people, key=attrgetter("home.city"))], attrgetter("name", "age")(people[0]))
print(list(map(methodcaller("upper"), "ab")), list(map(methodcaller("split", ","), ["a,b"])))
print(reduce(mul, [1, 2, 3, 4]), sum(map(mul, [1, 2], [3, 4])), contains("abc", "b"), countOf([1, 2, 1], 1))
table = {"+": add, "*": mul}
stack = []
for token in "3 4 + 2 *".split():
    if token in table:
        b, a = stack.pop(), stack.pop()
        stack.append(table[token](a, b))
    else:
        stack.append(float(token))
print(stack)
