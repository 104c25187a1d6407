def memoize(function):
    cache = {}

    def wrapper(*args):
        wrapper.calls += 1
        if args not in cache:
            cache[args] = function(*args)
        return cache[args]

    wrapper.calls = 0
    wrapper.cache = cache
    wrapper.__name__ = function.__name__
    return wrapper

@memoize
def ways(n):
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)

print(ways(30), ways.calls, len(ways.cache), ways.__name__)
