from functools import partial, reduce, cmp_to_key, lru_cache, wraps
import operator


def compose(*functions):
    return reduce(lambda f, g: lambda x: g(f(x)), functions)


strip_all = partial(map, str.strip)
to_int = partial(int, base=2)
pipeline = compose(lambda s: s.split(","), strip_all, list, partial(sorted, key=len, reverse=True))
print(pipeline(" a, bbb ,cc "), to_int("1010"), to_int.keywords, to_int.func is int)


def version_cmp(a, b):
    pa, pb = ([int(x) for x in v.split(".")] for v in (a, b))
    return (pa > pb) - (pa < pb)


print(sorted(["1.10", "1.9", "1.0.5", "0.99"], key=cmp_to_key(version_cmp)))


@lru_cache(maxsize=2)
def square(x):
    print("computing", x)
    return x * x


print([square(x) for x in (2, 3, 2, 4, 3)], square.cache_info().hits)
print(reduce(operator.or_, [{"a": 1}, {"b": 2}, {"a": 3}]), reduce(operator.mul, range(1, 8), 1))
