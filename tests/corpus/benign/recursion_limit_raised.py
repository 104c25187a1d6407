from functools import lru_cache, cache, reduce
import sys
sys.setrecursionlimit(5000)
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(90), fib.cache_info())
@cache
def edit(a, b):
    if not a or not b:
        return len(a) + len(b)
    if a[0] == b[0]:
        return edit(a[1:], b[1:])
    return 1 + min(edit(a[1:], b), edit(a, b[1:]), edit(a[1:], b[1:]))
print(edit("kitten", "sitting"))
def hanoi(n, a="A", b="B", c="C"):
    if n == 0: return []
    return hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
print(len(hanoi(6)), hanoi(2))
def flatten(x):
    for i in x:
        if isinstance(i, (list, tuple)): yield from flatten(i)
        else: yield i
print(list(flatten([1, [2, (3, [4])], 5])), reduce(lambda a, b: a * b, range(1, 8)))
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
print(depth(2000))
