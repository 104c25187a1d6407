import time
from functools import lru_cache


def timed(f):
    def wrapper(*args):
        start = time.perf_counter()
        result = f(*args)
        wrapper.seconds = time.perf_counter() - start
        wrapper.calls = getattr(wrapper, "calls", 0) + 1
        return result
    return wrapper


def fib_slow(n):
    return n if n < 2 else fib_slow(n - 1) + fib_slow(n - 2)


@lru_cache
def fib_fast(n):
    return n if n < 2 else fib_fast(n - 1) + fib_fast(n - 2)


def fib_loop(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


for f in (fib_slow, fib_fast, fib_loop):
    t = timed(f)
    print(f"{getattr(f, '__name__', '?'):<10}{t(16):>6} ok={t.seconds < 30} calls={t.calls}")
print(fib_loop(100), len(str(fib_loop(1000))), fib_fast.cache_info().hits)
golden = fib_loop(40) / fib_loop(39)
print(f"{golden:.10f}", (1 + 5 ** 0.5) / 2 - golden < 1e-12)
