import functools

def logged(prefix="call"):
    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            result = fn(*args, **kwargs)
            print(f"{prefix} {fn.__name__}{args} {kwargs} -> {result}")
            return result
        return wrapper
    return decorator

@logged("->")
def add(a, b=1):
    """Add two numbers."""
    return a + b

add(2)
add(2, b=5)
print(add.__name__, add.__doc__)
