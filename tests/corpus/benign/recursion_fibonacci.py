from functools import lru_cache

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

print([fib(i) for i in range(15)], fib(90))
print(fib.cache_info().hits > 0)

def slow(n):
    if n < 2:
        return n
    return slow(n - 1) + slow(n - 2)
print(slow(15))
