import functools


class CountCalls:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def memoize(function):
    cache = {}

    @functools.wraps(function)
    def wrapper(*args):
        if args not in cache:
            cache[args] = function(*args)
        return cache[args]

    wrapper.cache = cache
    return wrapper


@CountCalls
def slow_square(x):
    """Square, slowly."""
    return x * x


@memoize
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print([slow_square(i) for i in range(4)], slow_square.calls, slow_square.__name__, slow_square.__doc__)
print(fib(60), len(fib.cache), fib.__name__, fib.__wrapped__.__name__)
