"""Honest cells about names: attributes of the interpreter, namespaces, chains of exceptions, and what may be missing."""

from __future__ import annotations

NAMES = [
    """\
print((1).__class__, "x".__class__.__name__, [].__class__, (lambda: 0).__class__, len.__class__ is sum.__class__)
x = 5
print(x.__class__ is int, x.__class__ == "a".__class__, isinstance(x, x.__class__), x.__class__("7") + 1)
class A: pass
print(A.__class__, A().__class__ is A, int.__class__, A().__class__.__class__, A.__class__.__name__)
print([each.__class__.__name__ for each in (1, "a", None, 2.0, [], {}, set(), (), b"", range(2), ValueError())])
""",
    """\
class V:
    def __init__(self, x): self.x = x
    def __eq__(self, other):
        if other.__class__ is not self.__class__: return NotImplemented
        return self.x == other.x
    def __add__(self, other):
        if self.__class__ != other.__class__: raise TypeError(f"no {other.__class__.__name__}")
        return self.__class__(self.x + other.x)
    def __repr__(self): return f"{self.__class__.__qualname__}({self.x})"
print(V(1) == V(1), V(1) == 3, V(1) == None, V(1) + V(2))
try: V(1) + 2
except TypeError as e: print(e, e.__class__.__name__)
import datetime, re
print(datetime.date(2020, 1, 1).__class__(2021, 2, 3), re.compile("x").__class__.__name__)
""",
    """\
class A: pass
class B(A): pass
class C(A): pass
class D(B, C): pass
print([each.__name__ for each in D.__mro__], D.__bases__, D.__base__, D.mro() == list(D.__mro__), object.__base__)
print(type(D()).mro()[1] is B, bool.__mro__, KeyError.__bases__, issubclass(D, D.__bases__), object.__bases__)
class Own:
    def mro(self): return "own"
print(Own().mro(), [each.__name__ for each in ZeroDivisionError.__mro__][:3])
""",
    """\
print(getattr(5, "_y", None), getattr([], "__nothing__", 7), getattr(5, "__dict__", "none"), getattr(len, "__wrapped__", 0))
class A:
    def __init__(self): self._x = 1
print(getattr(A(), "_x", 3), getattr(A(), "_y", 3), getattr(A, "_y", 3), getattr(A(), "__nope__", 4))
print(hasattr(5, "_y"), hasattr("", "__len__"), hasattr(A(), "_x"), hasattr(A(), "__dict__"), hasattr(5, "__dict__"))
print(hasattr(print, "__call__"), hasattr([], "__iter__"), hasattr(A(), "__slots__"), hasattr(A(), "__notes__"))
for bad in ("(5)._y", "A()._y", "A().nope"):
    try:
        if bad == "(5)._y": (5)._y
        elif bad == "A()._y": A()._y
        else: A().nope
    except AttributeError: print("attribute error")
for number in range(4):
    try:
        if number == 0: [].x = 1
        elif number == 1: setattr(5, "x", 1)
        elif number == 2: del [].append
        else: object().x = 1
    except AttributeError: print("cannot set")
""",
    """\
from types import SimpleNamespace
s = SimpleNamespace(a=1, b=[2])
print(vars(s), s.__dict__, sorted(vars(s)), s.__class__.__name__, hasattr(s, "__dict__"))
s._x = 4
vars(s).update(c=3)
for key, value in vars(s).items(): print(key, value)
s._x += 1
print(s._x, s, s == SimpleNamespace(**vars(s)))
import json
class A:
    def __init__(self): self.x = 1
print(json.dumps(A(), default=lambda o: o.__dict__), json.dumps(s, default=vars))
""",
    """\
x = 3
print("x" in globals(), "nope" in globals(), globals().get("x"), globals().get("z", 5), globals()["x"], globals()["__name__"])
print("x" in locals(), "x" in vars(), "x" in dir(), "print" in dir(), locals()["x"])
if "cache" not in globals(): cache = {}
globals()["made"] = 7
globals()["made"] += 1
print(made, cache)
del globals()["made"]
print("made" in globals())
for name in ("one", "two"): globals()[f"df_{name}"] = name.upper()
print(df_one, df_two)
""",
    """\
def f(a, b=2, *rest, **named):
    c = [a for _ in range(2)]
    def inner(): return sorted(locals()), c
    return sorted(locals()), dict(locals())["c"], inner(), sorted(vars()), dir()
print(f(1))
def greet(name, n=1): return "{name} {n}".format(**locals()), "%(name)s" % locals()
print(greet("a"))
class A:
    x = 1
    shown = sorted(k for k in locals() if not k.startswith("_"))
    def m(self): return list(locals())
print(A.shown, A().m(), (lambda y: locals())(3))
class B:
    def __init__(self, a, b):
        for key, value in locals().items():
            if key != "self": setattr(self, key, value)
print(vars(B(1, 2)))
def globals(): return {"own": 1}
globals()["x"] = 2
print(globals())
""",
    """\
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise ValueError("bad") from e
except ValueError as e:
    print(repr(e.__cause__), type(e.__cause__).__name__, e.__suppress_context__, e.__context__ is e.__cause__)
try:
    try: {}["k"]
    except KeyError: [][1]
except IndexError as e:
    print(repr(e.__context__), e.__cause__, e.__suppress_context__, isinstance(e.__context__, KeyError))
    link = e
    while link is not None:
        print(type(link).__name__, link)
        link = link.__cause__ or link.__context__
try: raise ValueError("a", 1) from None
except ValueError as e:
    e.add_note("n1"); e.add_note("n2")
    print(e.__notes__, e.args, e.__cause__, e.__context__, getattr(e, "__notes__", []), e.__class__, e.__str__())
class E(Exception): pass
try: raise E("x") from ValueError("made, not raised")
except E as e: print(repr(e.__cause__), hasattr(e, "__notes__"), getattr(e, "__notes__", None), e.with_traceback(None) is e)
""",
    """\
for number in range(5):
    try:
        if number == 0: open("/nonexistent/data.txt")
        elif number == 1:
            with open("/nonexistent/data.txt") as f: print(f.read())
        elif number == 2: import nothing_of_this_name
        elif number == 3: __import__("nothing_of_this_name")
        else: __file__
    except FileNotFoundError: print("no file")
    except OSError: print("os")
    except ImportError: print("no module")
    except NameError: print("no name")
def load(path, default=None):
    try:
        with open(path) as f: return f.read()
    except (IOError, ValueError): return default
print(load("/nonexistent/x", "fallback"))
if __name__ == "__main__": print("main", __doc__)
class Calculator:
    def eval(self, x): return x
def eval(x): return x + 1
print(Calculator().eval(1), eval(2))
""",
    """\
from math import *
from collections import *
from itertools import *
print(sqrt(16), pi > 3, Counter("aab"), list(chain([1], [2])), floor(2.5), "abc" in globals())
""",
    """\
def add_repr(cls):
    original = cls.__init__
    def __init__(self, *a):
        original(self, *a)
        self.extra = 2
    def __repr__(self): return f"{cls.__name__}({vars(self)})"
    cls.__init__, cls.__repr__ = __init__, __repr__
    return cls
@add_repr
class A:
    def __init__(self, x): self.x = x
print(A(1))
class P:
    __slots__ = ("a", "_b")
    __match_args__ = ("a",)
print(P.__slots__, P().__slots__, P.__match_args__)
""",
    """\
def f(a, b=2, *, c="x"): pass
f.n, f._p = 0, 1
print(f.__defaults__, f.__kwdefaults__, f.__dict__, vars(f), f.__annotations__, (lambda: 0).__defaults__)
def fib(n, memo={}):
    if n not in memo: memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
    return memo[n]
print(fib(30), len(fib.__defaults__[0]))
from dataclasses import dataclass
@dataclass
class D:
    x: int
    y: int = 2
print(list(D.__dataclass_fields__), D(1).__dataclass_fields__["y"].default, D.__match_args__, hasattr(D, "__dataclass_fields__"))
print({name: getattr(D(1), name) for name in D.__dataclass_fields__})
""",
    """\
it = iter([1, 2])
gen = (x for x in "ab")
print(it.__next__(), gen.__next__(), gen.__iter__() is gen, {}.items().__len__(), map(str, [1]).__next__())
import re, datetime, functools
print(re.match("a", "a").__getitem__(0), datetime.date(2020, 1, 1).__lt__(datetime.date(2021, 1, 1)), (lambda x: x).__call__(3))
print(functools.partial(int, "7").__call__(), ValueError("a").__str__())
class A:
    def __init__(self): self._x = 1
    def f(self): pass
print("__len__" in dir([]), "append" in dir([]), [n for n in dir(A()) if not n.startswith("__")])
""",
    """\
class P:
    def __init__(self): self.x, self.y = 1, 2.5; self._z = 3; self.__w = [7]
    def __repr__(self): return "{self.__class__.__name__}(x={self.x}, z={self._z!r:>5}, {0:{width}}|{{}})".format(self.y, self=self, width=8)
    def __str__(self): return "{0.__class__.__name__} {0._P__w[0]} {0._z:03d}".format(self)
p = P()
print(repr(p), str(p), "{0.__class__}".format(1), "{0._z} {p._z!a} {0.x}".format(p, p=p), "{._z} {:>{}}".format(p, "a", 4))
print("{p.__class__.__name__!s:>6}|{p._z}".format_map({"p": p}), "{0.__dict__}".format(p), "{0.__doc__}".format(p))
print(str.format("{._z}{}", p, 2), "{0.__class__.__qualname__}".format([]))
for t in ("{0._z} {3}", "{0._z} {q}", "{0._nope}", "{0._z!x}", "{0._z:q}", "{0[_z]._z}", "{._z} {0}", "{0._z} {}"):
    try: print(t.format(p, 2))
    except Exception as e: print(type(e).__name__, e)
try: "{._z}".format_map({})
except Exception as e: print(type(e).__name__, e)
for t in ("{._z} {0}", "{0._z} {}", "{0._z:{}}", "{._z:{0}}", "{0._z:{0._z}}", "{", "{0._z", "{0._z[}", "{._z}{}{}", "{99999999999999999999._z}"):
    try: print(t.format(p, 2))
    except Exception as e: print(type(e).__name__, e)
""",
    """\
def check(rows):
    problems = [ValueError(f"row {n}") for n in rows if n < 0] + [TypeError("odd") for n in rows if n % 2]
    if problems: raise ExceptionGroup(f"{len(problems)} problems", problems)
    return "fine"
for rows in ([2], [-1, 2], [-1, -3], [1]):
    try: print(check(rows))
    except* ValueError as group: print("values", [str(e) for e in group.exceptions], group.message)
    except* (TypeError, KeyError) as group: print("types", group.exceptions)
    else: print("no problem")
    finally: print("done")
try:
    try: 1 / 0
    except* ZeroDivisionError as group: print(repr(group)); raise ValueError("inside")
except ValueError as e: print(e, type(e.__context__).__name__)
try: raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError(1)]), OSError("x")])
except ExceptionGroup as e:
    print(e, e.subgroup(KeyError), e.split(OSError), e.derive([ValueError()]), e.__class__, ExceptionGroup.__name__)
try:
    try: raise ExceptionGroup("g", [KeyError(1), ValueError(2)])
    except* KeyError: pass
except ExceptionGroup as rest: print(repr(rest), isinstance(rest, Exception))
""",
    """\
x: "list[int]" = []
class A:
    a: int
    b: "str" = "x"
print(A.__annotations__, x, A.__doc__, A.__module__, A.a if hasattr(A, "a") else "no value")
class C:
    count = 0
    def __init__(self):
        type(self).count += 1
        self.__class__.count += 1
    def clone(self):
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        return new
c = C(); c.x = 1
print(C.count, c.clone().x, c.clone().__class__ is C)
""",
]
