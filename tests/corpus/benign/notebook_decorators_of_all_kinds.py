from functools import wraps
def bold(f):
    @wraps(f)
    def w(*a, **k): return f"<b>{f(*a, **k)}</b>"
    return w
def repeat(n):
    def d(f):
        @wraps(f)
        def w(*a, **k): return " ".join([f(*a, **k)] * n)
        w.times = n
        return w
    return d
@bold
@repeat(2)
def hi(name: str = "x") -> str:
    "say hi"
    return "hi " + name
print(hi("a"), hi.__name__, hi.__doc__, hi.__wrapped__.times, hi.__annotations__)
def register(cls):
    cls.registry = getattr(cls, "registry", []) + [cls.__name__]
    cls.extra = lambda self: f"extra {self.n}"
    return cls
@register
class A:
    def __init__(self, n): self.n = n
print(A(4).extra(), A.registry)
def typecheck(fn):
    hints = fn.__annotations__
    @wraps(fn)
    def inner(*args):
        for (name, typ), val in zip(hints.items(), args):
            if name != "return" and not isinstance(val, typ): raise TypeError(f"{name} must be {typ.__name__}, got {type(val).__name__}")
        return fn(*args)
    return inner
@typecheck
def area(w: int, h: int) -> int: return w * h
print(area(2, 3))
try: area(2, "3")
except TypeError as e: print(e)
memo = {}
def memoize(f):
    def g(*a):
        if a not in memo: memo[a] = f(*a)
        return memo[a]
    return g
fib = memoize(lambda n: n if n < 2 else fib(n - 1) + fib(n - 2)); print(fib(60), len(memo))
compose = lambda *fs: lambda x: __import__("functools").reduce(lambda a, f: f(a), fs, x) if False else [x := f(x) for f in fs][-1]
print(compose(abs, str, len)(-1234))
curry = lambda f: lambda a: lambda b: f(a, b); print(curry(max)(3)(7))
