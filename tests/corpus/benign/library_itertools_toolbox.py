import itertools as it
import operator


def chunked(iterable, n):
    iterator = iter(iterable)
    while chunk := list(it.islice(iterator, n)):
        yield chunk


def unique_everseen(iterable, key=None):
    seen = set()
    for x in iterable:
        k = key(x) if key else x
        if k not in seen:
            seen.add(k)
            yield x


def roundrobin(*iterables):
    missing = object()
    return (x for group in it.zip_longest(*iterables, fillvalue=missing) for x in group if x is not missing)


print(list(chunked("abcdefg", 3)), list(unique_everseen("AbBCcad", str.lower)), "".join(roundrobin("ABC", "D", "EF")))
print(list(it.accumulate([3, 1, 4, 1, 5], max)), list(it.accumulate([1, 2, 3, 4], operator.mul, initial=1)))
print([f"{a}{b}" for a, b in it.pairwise("abcd")], list(it.compress("abcdef", [1, 0, 1, 0, 1, 1])))
print(list(it.starmap(pow, [(2, 5), (3, 2)])), list(it.takewhile(lambda x: x < 5, it.count(1, 2))))
print(len(list(it.product("ab", repeat=3))), list(it.combinations("abc", 2)), next(it.permutations([3, 2, 1])))
print({k: len(list(g)) for k, g in it.groupby(sorted("banana"))}, list(it.islice(it.cycle("xy"), 5)))
a, b = it.tee(range(4))
print(sum(a), list(b), list(it.chain.from_iterable([[1], [], [2, 3]])), list(it.filterfalse(None, [0, 1, "", "a"])))
print(list(it.dropwhile(str.isdigit, "12ab3")), list(it.repeat("z", 2)), list(zip(it.count(10), "pq")))
