from functools import partial, reduce
from itertools import product, combinations, starmap
from operator import itemgetter, attrgetter, mul, methodcaller

double = partial(mul, 2)
print(list(map(double, range(5))), reduce(mul, range(1, 6)))
compose = lambda *fs: lambda x: reduce(lambda acc, f: f(acc), fs, x)
print(compose(str.strip, str.title, lambda s: s + "!")("  hello world "))
print(list(combinations("abc", 2)), len(list(product(range(3), repeat=2))), list(starmap(pow, [(2, 3), (3, 2)])))
rows = [("b", 2), ("a", 3), ("c", 1)]
print(sorted(rows, key=itemgetter(1)), list(map(methodcaller("upper"), "ab")))
