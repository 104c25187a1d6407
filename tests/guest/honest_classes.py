"""Cells around classes, as models write them: dataclasses, enums, ABCs, protocols, named tuples, patterns, copies."""

from __future__ import annotations

CLASSES = [
    """\
import abc
from abc import ABCMeta, abstractmethod
class Shape(metaclass=ABCMeta):
    @abstractmethod
    def area(self): ...
    @property
    @abstractmethod
    def name(self): ...
class Square(Shape):
    _n = 0
    def __init__(self, side): self._side = side
    def area(self): return self._side ** 2
    name = "square"
class Plain(object, metaclass=abc.ABCMeta): pass
@Shape.register
class Other: pass
try: Shape()
except TypeError: print("abstract")
print(Square(2).area(), Square(3).name, isinstance(Other(), Shape), Plain().__class__.__name__, Shape.__bases__)
""",
    """\
class Plugin:
    registry = {}
    def __init_subclass__(cls, /, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.name = name or cls.__name__.lower()
        Plugin.registry[cls.name] = cls
class A(Plugin): pass
class B(Plugin, name="bee"):
    def run(self): return self.name
print(sorted(Plugin.registry), B().run(), A.name)
""",
    """\
class Typed:
    def __init__(self, kind): self.kind = kind
    def __set_name__(self, owner, name):
        self.name = name
        self.private = "_" + name
        if not hasattr(owner, "fields"): owner.fields = []
        owner.fields.append(name)
    def __get__(self, obj, objtype=None):
        return self if obj is None else getattr(obj, self.private)
    def __set__(self, obj, value):
        if not isinstance(value, self.kind): raise TypeError(f"{self.name} must be {self.kind.__name__}")
        setattr(obj, self.private, value)
class P:
    x = Typed(int)
    y = Typed(str)
    def __init__(self, x, y): self.x, self.y = x, y
p = P(1, "a")
print(p.x, p.y, P.fields)
try: p.x = "no"
except TypeError as e: print(e)
""",
    """\
from dataclasses import dataclass, field, asdict, astuple, replace, fields, InitVar, KW_ONLY
from typing import ClassVar, Optional, List
@dataclass(order=True, frozen=True)
class V:
    major: int
    minor: int = 0
    tags: tuple = field(default=(), compare=False)
    count: ClassVar[int] = 3
@dataclass
class Emp:
    name: str
    salary: float
    raw: InitVar[str] = ""
    _: KW_ONLY
    skills: List[str] = field(default_factory=list)
    manager: Optional["Emp"] = None
    def __post_init__(self, raw):
        self.skills = self.skills + raw.split()
a, b = V(1, 2), V(1, 3)
print(a < b, sorted([b, a]), hash(a) == hash(V(1, 2)), replace(a, minor=9), V.count)
e = Emp("Bob", 10.0, "x y", skills=["s"])
print(e, asdict(e), astuple(e), [f.name for f in fields(e)], e == Emp("Bob", 10.0, "x y", skills=["s"]))
try: a.major = 3
except Exception as x: print(type(x).__name__, x)
try: Emp()
except TypeError as x: print(x)
""",
    """\
from __future__ import annotations
from dataclasses import dataclass, field, InitVar, KW_ONLY, fields
import dataclasses as dc
import typing
import typing as t
from typing import ClassVar
@dataclass
class A:
    x: int
    n: ClassVar[int] = 5
    m: typing.ClassVar[int] = 6
    o: t.ClassVar = 7
    iv: InitVar[int] = 3
    iw: dc.InitVar[int] = 4
    _: KW_ONLY
    z: str = "z"
    other: "A | None" = None
    def __post_init__(self, iv, iw):
        self.total = self.x + iv + iw
a = A(1, 2, 3, z="q")
print(a, a.total, [f.name for f in fields(A)], A.n, A.m, A.o)
print({f.name: f.type for f in fields(A)}, A.__annotations__)
try: A(1, 2, 3, "q")
except TypeError as e: print(e)
""",
    """\
from dataclasses import dataclass
@dataclass(slots=True)
class Base:
    x: int
    def double(self): return self.x * 2
@dataclass(slots=True)
class Child(Base):
    y: int = 2
    def both(self): return super().double() + self.y if False else Base.double(self) + self.y
c = Child(3)
c.y = 9
print(c, c.both(), "slots", isinstance(c, Base))
try: c.zzz = 1
except AttributeError as e: print("no attr")
""",
    """\
from enum import Enum, IntEnum, StrEnum, Flag, IntFlag, auto, unique
@unique
class Color(Enum):
    RED = 1
    GREEN = auto()
    BLUE = auto()
    def describe(self): return f"{self.name}={self.value}"
    @classmethod
    def default(cls): return cls.RED
    @property
    def pretty(self): return self.name.title()
class Planet(Enum):
    EARTH = (5.97, 6.37)
    MARS = (0.64, 3.39)
    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius
    @property
    def g(self): return round(self.mass / self.radius**2, 4)
class P(IntEnum):
    LOW = 1
    HIGH = 2
class S(StrEnum):
    A = auto()
    B = "bee"
class Perm(Flag):
    R = auto(); W = auto(); X = auto()
    RW = R | W
class Coded(Enum):
    def __new__(cls, code, label):
        obj = object.__new__(cls)
        obj._value_ = code
        obj.label = label
        return obj
    OK = (200, "ok")
    BAD = (400, "bad")
    @classmethod
    def _missing_(cls, value): return cls.BAD
print(list(Color), Color["RED"], Color(2), Color.RED.describe(), Color.default(), Color.BLUE.pretty, len(Color), Color.RED in Color)
print(Planet.EARTH.g, Planet.MARS.mass, P.HIGH > P.LOW, P.LOW + 1, S.A, S.B.upper(), Perm.RW, Perm.R in Perm.RW, ~Perm.R)
print(Coded(200).label, Coded(999), Color.__members__.keys(), [c.name for c in Perm.RW], Color._value2member_map_[1], Color._member_names_)
Dyn = Enum("Dyn", "ONE TWO")
print(list(Dyn), Dyn.ONE.value, Enum("D2", {"A": 5}).A, type(Color.RED), Color.__name__, isinstance(Color.RED, Color))
class Http(IntEnum):
    def __new__(cls, value, phrase):
        obj = int.__new__(cls, value)
        obj._value_ = value
        obj.phrase = phrase
        return obj
    OK = 200, "OK"
    NF = 404, "Not Found"
print(Http.NF.phrase, Http.NF + 1, Http(200))
class Str(str, Enum):
    A = "a"
    B = "b"
print(Str.A == "a", Str("b"), Str.A.value, [s.value for s in Str])
""",
    """\
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    @property
    @abstractmethod
    def name(self): ...
    @classmethod
    def make(cls, *a): return cls(*a)
    @staticmethod
    def unit(): return "m2"
    def __repr__(self): return f"{self.__class__.__name__}({self.area():.2f}{self.unit()})"
class Sq(Shape):
    def __init__(self, s): self._s = s
    def area(self): return self._s ** 2
    @property
    def name(self): return "square"
try: Shape()
except TypeError as e: print("abstract")
print(Sq.make(3), Sq(2).name, isinstance(Sq(1), Shape), issubclass(Sq, Shape))
@Shape.register
class Foreign: pass
print(isinstance(Foreign(), Shape))
""",
    """\
from typing import NamedTuple, Optional
from collections import namedtuple
class Pt(NamedTuple):
    '''A point.'''
    x: float
    y: float = 0.0
    label: Optional[str] = None
    def norm(self): return (self.x**2 + self.y**2) ** 0.5
    @property
    def neg(self): return Pt(-self.x, -self.y)
    @classmethod
    def origin(cls): return cls(0, 0)
    def __add__(self, o): return Pt(self.x + o.x, self.y + o.y)
P2 = namedtuple("P2", ["a", "b"], defaults=[7])
P3 = NamedTuple("P3", [("q", int), ("r", str)])
p = Pt(3, 4)
print(p, p.norm(), p.neg, Pt.origin(), p + p, p._asdict(), p._replace(x=1), Pt._fields, P2(1), P2._make([1, 2]), P3(1, "z"))
x, y, l = p
print(x, p[1], p == (3, 4, None), Pt._field_defaults, Pt.__doc__, sorted([Pt(2), Pt(1)]), {p: 1}[Pt(3, 4)])
class Sub(namedtuple("Sub", "m n")):
    __slots__ = ()
    def total(self): return self.m + self.n
    def __new__(cls, m, n=5): return super().__new__(cls, m, n)
print(Sub(1).total(), Sub(1, 2)._replace(n=9), Sub(1))
match p:
    case Pt(x=3, y=yy): print("matched", yy)
match p:
    case Pt(a, b, c): print(a, b, c)
""",
    """\
from typing import Protocol, Generic, TypeVar, runtime_checkable, Iterator, Callable, TypedDict, NewType, Literal, Union
T = TypeVar("T"); K = TypeVar("K")
@runtime_checkable
class Speaks(Protocol):
    def speak(self) -> str: ...
class Dog:
    def speak(self): return "woof"
class Stack(Generic[T]):
    def __init__(self) -> None: self._items: list[T] = []
    def push(self, x: T) -> "Stack[T]":
        self._items.append(x); return self
    def pop(self) -> T: return self._items.pop()
    def __len__(self): return len(self._items)
    def __iter__(self) -> Iterator[T]: return iter(self._items)
class IntStack(Stack[int]):
    def total(self): return sum(self)
class Pair(Generic[K, T]):
    def __init__(self, k: K, t: T): self.k, self.t = k, t
class Movie(TypedDict, total=False):
    title: str
    year: int
M2 = TypedDict("M2", {"a": int})
UserId = NewType("UserId", int)
s = Stack[int]().push(1).push(2)
print(isinstance(Dog(), Speaks), isinstance(3, Speaks), len(s), s.pop(), IntStack().push(4).push(5).total(), Pair[str, int]("a", 1).t)
m: Movie = {"title": "x"}
m["year"] = 3
print(m, Movie(title="q"), M2(a=1), UserId(5), Stack[int].__name__ if False else "")
class Repo(Generic[T]):
    items: dict[str, T]
    def __init__(self): self.items = {}
class Sub(Repo[dict[str, int]], Speaks):
    def speak(self): return "sub"
print(Sub().speak(), isinstance(Sub(), Speaks))
class MyList(list[int]):
    def first(self): return self[0]
print(MyList([3]).first(), MyList[int]([4]).first())
from collections.abc import Mapping, MutableMapping, Sequence, Iterable
class LowerDict(MutableMapping):
    def __init__(self, *a, **k): self._d = {}; self.update(*a, **k)
    def __getitem__(self, k): return self._d[k.lower()]
    def __setitem__(self, k, v): self._d[k.lower()] = v
    def __delitem__(self, k): del self._d[k.lower()]
    def __iter__(self): return iter(self._d)
    def __len__(self): return len(self._d)
d = LowerDict(A=1); d["B"] = 2
print(dict(d), d.get("a"), d.pop("b"), "A" in d, list(d.items()), d.setdefault("c", 4), d == {"a": 1, "c": 4})
class Seq(Sequence[int]):
    def __init__(self, n): self.n = n
    def __getitem__(self, i):
        if i >= self.n: raise IndexError
        return i * i
    def __len__(self): return self.n
print(list(Seq(4)), 9 in Seq(4), Seq(4).index(4), list(reversed(Seq(3))), Seq(5).count(16))
""",
    """\
import functools
from functools import lru_cache, cached_property, wraps, partial, reduce, total_ordering, cmp_to_key
@total_ordering
class V:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n if isinstance(o, V) else NotImplemented
    def __lt__(self, o): return self.n < o.n if isinstance(o, V) else NotImplemented
    def __hash__(self): return hash(self.n)
print(V(1) <= V(2), V(3) > V(2), V(2) >= V(2), max([V(1), V(5)]).n, sorted([V(3), V(1)])[0].n)
class C:
    @cached_property
    def big(self): print("once"); return 42
    @lru_cache(maxsize=None)
    def f(self, x): return x * 2
c = C(); print(c.big, c.big, c.f(3), C.f.cache_info().misses)
def timed(label):
    def deco(fn):
        @wraps(fn)
        def inner(*a, **k):
            inner.calls += 1
            return fn(*a, **k)
        inner.calls = 0
        return inner
    return deco
@timed("x")
def add(a, b=1):
    "adds"
    return a + b
print(add(1), add(2, b=3), add.calls, add.__name__, add.__doc__)
print(reduce(lambda a, b: a * b, range(1, 6)), partial(int, base=2)("101"), sorted("bca", key=cmp_to_key(lambda a, b: (a > b) - (a < b))))
class Count:
    def __init__(self, fn): functools.update_wrapper(self, fn); self.fn = fn; self.n = 0
    def __call__(self, *a): self.n += 1; return self.fn(*a)
@Count
def g(x): return x + 1
print(g(1), g(2), g.n)
""",
    """\
from dataclasses import dataclass
from enum import Enum
@dataclass
class Point: x: int; y: int
@dataclass
class Circle: center: Point; r: float
class K(Enum): A = 1; B = 2
class Old:
    __match_args__ = ("name", "age")
    def __init__(self, name, age): self.name, self.age = name, age
def d(v):
    match v:
        case Point(0, 0): return "origin"
        case Point(x, y) if x == y: return f"diag {x}"
        case Circle(Point(x, _), r=r): return f"circle {x} {r}"
        case Old(n, a): return f"{n}/{a}"
        case K.A: return "ka"
        case int(n) | float(n): return f"num {n}"
        case str() as s: return "str " + s
        case [a, *rest]: return f"list {a} {rest}"
        case {"type": t, **more}: return f"map {t} {more}"
        case None: return "none"
        case _: return "other"
for v in (Point(0, 0), Point(2, 2), Circle(Point(1, 2), 3.0), Old("bo", 3), K.A, K.B, 5, 2.5, "s", [1, 2, 3], {"type": "q", "z": 1}, None, object):
    print(d(v))
""",
    """\
class Temp:
    count = 0
    def __init__(self, c): self._c = c; Temp.count += 1
    @property
    def f(self): return self._c * 9 / 5 + 32
    @f.setter
    def f(self, v): self._c = (v - 32) * 5 / 9
    @f.deleter
    def f(self): self._c = 0
    @classmethod
    def boiling(cls): return cls(100)
t = Temp.boiling(); t.f = 50; print(t._c, t.f, Temp.count); del t.f; print(t._c, vars(t))
class Mix:
    def hello(self): return "mix " + super().hello()
class Base:
    def __init__(self, *a, **k): self.k = k
    def hello(self): return "base"
class D(Mix, Base):
    def __init__(self, x, **k):
        super().__init__(**k); self.x = x
    def hello(self): return "d " + super().hello()
    def __getattr__(self, n): return f"dyn_{n}"
print(D(1, a=2).hello(), D(1).zzz, D(2, q=1).k, D.__name__, type(D(1)).__name__, D(1).__class__.__name__)
class Node:
    __slots__ = ("value", "next", "__weakref__", "__dict__")
    def __init__(self, value, next=None): self.value, self.next = value, next
n = Node(1, Node(2)); n.extra = 5; print(n.next.value, n.extra)
class Meta2:
    def __class_getitem__(cls, item): return (cls.__name__, item)
print(Meta2[int])
print(type(n) is Node, type(3) is int, type([]) == list, type("x") in (int, str), type(None), type(type), type(Node), type(lambda: 0), type(len), type(x for x in []), type({}.keys()))
print(isinstance(3, type(4)), isinstance({}.keys(), type({}.keys())), type(iter([])) is type(iter([1])), type({}.items()).__name__)
""",
    """\
class AppError(Exception):
    def __init__(self, message, code=1, **ctx):
        super().__init__(message)
        self.code, self.ctx = code, ctx
    def __str__(self): return f"[{self.code}] {super().__str__()}"
class NotFound(AppError, KeyError): pass
try:
    try: {}["a"]
    except KeyError as e: raise NotFound("missing", 404, key="a") from e
except AppError as e:
    print(e, repr(e), e.code, e.ctx, e.args, type(e).__name__, isinstance(e, KeyError))
import copy
e2 = copy.copy(AppError("m", 3))
print(e2, e2.args, e2.code)
from dataclasses import dataclass
@dataclass
class DErr(Exception):
    a: int
    b: str = "x"
try: raise DErr(1)
except DErr as e: print(e, e.a, repr(e))
""",
    """\
import copy
from dataclasses import dataclass, field
from enum import Enum
from collections import namedtuple, Counter, OrderedDict, defaultdict, deque
class C(Enum): A = 1
@dataclass
class N:
    v: int
    kids: list = field(default_factory=list)
n = N(1, [N(2), N(3)])
m = copy.deepcopy(n); m.kids[0].v = 99
s = copy.copy(n)
print(n, m, s.kids is n.kids, copy.deepcopy(C.A) is C.A)
class G(dict):
    def __init__(self, *a, tag=None): super().__init__(*a); self.tag = tag
g = G({"a": [1]}, tag="t"); h = copy.deepcopy(g); h["a"].append(2); print(g, h, h.tag, type(h).__name__)
class L(list): pass
l = L([1, [2]]); l.x = 1; k = copy.deepcopy(l); print(k, k.x)
print(copy.deepcopy(Counter("aab")), copy.deepcopy(OrderedDict(a=1)), copy.deepcopy(defaultdict(list, a=[1])), copy.deepcopy(deque([1], 3)))
P = namedtuple("P", "x y"); print(copy.deepcopy(P(1, [2])), copy.copy(P(1, 2)))
class W:
    def __init__(self, x): self.x = x
    def __copy__(self): return W(self.x + 1)
    def __deepcopy__(self, memo): r = W(copy.deepcopy(self.x, memo)); memo[id(self)] = r; return r
print(copy.copy(W(1)).x, copy.deepcopy([W([1])])[0].x)
class Sl:
    __slots__ = ("a", "b")
    def __init__(self): self.a, self.b = [1], 2
q = copy.deepcopy(Sl()); print(q.a, q.b)
class T(tuple): pass
@dataclass(frozen=True, slots=True)
class FS:
    a: int
    b: list
fs = FS(1, [2]); print(copy.deepcopy(fs), copy.copy(fs) == fs)
print(copy.deepcopy(T([1, 2])), copy.copy(T([3])))
""",
    """\
from contextlib import contextmanager, ExitStack, suppress, closing, ContextDecorator, AbstractContextManager
class Timer(AbstractContextManager):
    def __enter__(self): print("in"); return self
    def __exit__(self, t, v, tb): print("out", t.__name__ if t else None); return True
with Timer() as t: raise ValueError("x")
class Deco(ContextDecorator):
    def __enter__(self): print("<"); return self
    def __exit__(self, *a): print(">")
@Deco()
def f(x): print("body", x)
f(3)
class Vec:
    def __init__(self, *c): self.c = c
    def __add__(self, o): return Vec(*(a + b for a, b in zip(self.c, o.c)))
    def __mul__(self, k): return Vec(*(a * k for a in self.c))
    __rmul__ = __mul__
    def __eq__(self, o): return isinstance(o, Vec) and self.c == o.c
    def __hash__(self): return hash(self.c)
    def __repr__(self): return f"Vec{self.c}"
    def __iter__(self): return iter(self.c)
    def __getitem__(self, i): return self.c[i]
    def __bool__(self): return any(self.c)
    def __format__(self, spec): return "|".join(format(x, spec) for x in self.c)
    def __matmul__(self, o): return sum(a * b for a, b in zip(self, o))
v = Vec(1, 2) + 3 * Vec(1, 1)
print(v, v == Vec(4, 5), {v: 1}[Vec(4, 5)], f"{v:.1f}", v @ v, bool(Vec(0)), [*v], v[0])
class Count:
    def __init__(self, n): self.n = n
    def __iter__(self): self.i = 0; return self
    def __next__(self):
        if self.i >= self.n: raise StopIteration
        self.i += 1; return self.i
print(list(Count(3)), sum(Count(4)), max(Count(5)))
""",
    """\
class Single:
    _inst = None
    def __new__(cls, *a, **k):
        if cls._inst is None: cls._inst = super().__new__(cls)
        return cls._inst
    def __init__(self, x=0): self.x = x
print(Single(1) is Single(2), Single(3).x)
def add_repr(cls):
    cls.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"
    cls.extra = "e"
    return cls
@add_repr
class Q:
    def __init__(self): self.a, self.b = 1, "z"
print(Q(), Q.extra)
class Pos(float):
    def __new__(cls, v):
        if v < 0: raise ValueError("neg")
        return super().__new__(cls, v)
print(Pos(3.5) + 1, type(Pos(1)).__name__)
class Upper(str):
    def __new__(cls, s): return super().__new__(cls, s.upper())
print(Upper("abc"), Upper("q").lower())
class Bounded(int):
    def __add__(self, o): return Bounded(min(10, int(self) + o))
print(Bounded(8) + 5)
handlers = {}
def on(kind):
    def deco(f): handlers[kind] = f; return f
    return deco
@on(int)
def hi(x): return f"int {x}"
@on(str)
def hs(x): return f"str {x}"
print([handlers[type(v)](v) for v in (1, "a")])
class Lazy:
    def __init__(self, fn): self.fn = fn; self.__doc__ = fn.__doc__ if False else None
    def __get__(self, o, t=None):
        if o is None: return self
        v = self.fn(o); setattr(o, self.fn.__name__, v); return v
class U:
    @Lazy
    def heavy(self): print("calc"); return 7
u = U(); print(u.heavy, u.heavy)
if __name__ == "__main__": print("main", __name__, Q.__module__, repr(Q))
""",
    """\
from dataclasses import make_dataclass, dataclass, field, is_dataclass, fields, asdict
from typing import Generic, TypeVar, Any
from abc import ABC, abstractmethod
import enum
T = TypeVar("T")
M = make_dataclass("M", [("x", int), ("y", list, field(default_factory=list)), "z"][:2] )
print(M(1), M(1) == M(1), is_dataclass(M), is_dataclass(M(1)), is_dataclass(3))
@dataclass
class Res(Generic[T]):
    value: T
    ok: bool = True
print(Res[int](3), Res("a").value, Res[int](3) == Res(3))
@dataclass
class Base(ABC):
    name: str
    @abstractmethod
    def run(self) -> Any: ...
@dataclass
class Impl(Base):
    n: int = 1
    def run(self): return self.name * self.n
print(Impl("a", 3).run(), Impl("a"), fields(Impl)[0].name, fields(Impl)[1].default)
@dataclass(frozen=True)
class Cfg:
    w: int
    h: int
class Size(Cfg, enum.Enum):
    S = 1, 2
    L = 3, 4
print(Size.S.w, Size.L.h, Size.S, list(Size))
@dataclass(unsafe_hash=True, eq=True, kw_only=True)
class KW:
    a: int
    b: int = field(default=2, repr=False, hash=False, metadata={"unit": "cm"})
print(KW(a=1), hash(KW(a=1)) == hash(KW(a=1, b=5)), fields(KW)[1].metadata["unit"], fields(KW)[0].metadata)
@dataclass
class WithProp:
    _x: int
    @property
    def x(self): return self._x
    def __lt__(self, o): return self._x < o._x
print(WithProp(3).x, sorted([WithProp(2), WithProp(1)]))
@dataclass
class Tree:
    v: int
    left: "Tree | None" = None
    right: "Tree | None" = None
    def __iter__(self):
        if self.left: yield from self.left
        yield self.v
        if self.right: yield from self.right
print(list(Tree(2, Tree(1), Tree(3))), asdict(Tree(2, Tree(1))))
import pprint
pprint.pprint(Tree(2, Tree(1)))
@dataclass(repr=False)
class NoRepr:
    a: int
    def __repr__(self): return f"<{self.a}>"
    def __eq__(self, other): return self.a == other.a
print(NoRepr(1), NoRepr(1) == NoRepr(1))
@dataclass
class Inv:
    items: dict = field(default_factory=dict)
    total: float = field(init=False, default=0.0)
    def add(self, k, p): self.items[k] = p; self.total += p
i = Inv(); i.add("a", 2.5); print(i)
""",
    """\
import textwrap, random, difflib, calendar, csv, io, json, re, datetime, collections
print(textwrap.fill("aaa\\tbbb ccc\\nddd", 7)); w = textwrap.TextWrapper(width=10, initial_indent="* "); print(w.fill("hello world foo"))
r = random.Random(3); print(r.randint(1, 10), round(r.gauss(0, 1), 3), r.sample(range(10), 3)); random.seed(5); print(random.random(), random.choice("abc")); st = random.getstate(); a = random.random(); random.setstate(st); print(a == random.random())
s = difflib.SequenceMatcher(None, "abcd", "bcde"); print(s.ratio(), s.get_opcodes()); print(difflib.get_close_matches("appel", ["ape", "apple"]))
print(datetime.date(2020, 1, 5).replace(day=9), datetime.datetime(2020, 1, 1, 3).replace(hour=5), datetime.time(3).replace(minute=4))
m = re.compile("(?P<y>\\\\d+)-(?P<m>\\\\d+)"); print(m.groupindex["m"], dict(m.groupindex), m.match("20-3").groupdict())
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, set): return sorted(o)
        return super().default(o)
print(json.dumps({"a": {3, 1}}, cls=Enc))
class D(datetime.date):
    def nice(self): return self.strftime("%d/%m")
print(D(2020, 2, 3).nice(), D(2020, 2, 3).replace(day=7), type(D(2020, 2, 3).replace(day=7)).__name__)
cm = collections.ChainMap({"a": 1}, {"b": 2}); print(cm.new_child({"c": 3})["b"], dict(cm.copy()), collections.Counter("aab").copy())
print("x-y".replace("-", "+"), list(map(lambda s: s.replace("a", "b"), ["a"])))
import operator
print(list(map(operator.methodcaller("replace", "a", "b"), ["aa", "ca"])), sorted([{"k": 2}, {"k": 1}], key=operator.itemgetter("k")))
print(operator.attrgetter("year", "month")(datetime.date(2020, 3, 4)))
""",
    """\
def make(base):
    class Local(base):
        tag = "t"
        def __init__(self): super().__init__(); self.z = 1
        def me(self): return self.__class__.__name__, self.tag
    Local.dyn = lambda self: self.z
    return Local
L = make(dict); print(L().me(), L().dyn(), L.__name__, L.__qualname__)
class Outer:
    class Inner:
        def __init__(self, v): self.v = v
    def make(self): return self.Inner(3)
print(Outer().make().v, Outer.Inner.__qualname__)
class Reg(type(Outer())): pass
def visitor(cls):
    for name, value in list(vars(cls).items()):
        if callable(value) and not name.startswith("_"):
            setattr(cls, name + "_again", value)
    return cls
@visitor
class Vis:
    def visit(self): return "v"
print(Vis().visit_again(), sorted(k for k in vars(Vis) if not k.startswith("__")))
x = Vis(); x.__dict__["k"] = 5; print(x.k, x.__dict__)
del x.k; print(hasattr(x, "k"), getattr(x, "k", "dflt"))
class Eq:
    def __init__(self, a): self.a = a
    def __eq__(self, o): return self.__class__ is o.__class__ and self.__dict__ == o.__dict__
    def __ne__(self, o): return not self == o
    __hash__ = None
print(Eq(1) == Eq(1), Eq(1) != Eq(2))
""",
    """\
from collections import defaultdict
class Visitor:
    def visit(self, n): return getattr(self, "visit_" + type(n).__name__, self.generic)(n)
    def generic(self, n): return f"? {type(n).__name__}"
class Num:
    def __init__(self, v): self.v = v
class Add:
    def __init__(self, l, r): self.l, self.r = l, r
class Eval(Visitor):
    def visit_Num(self, n): return n.v
    def visit_Add(self, n): return self.visit(n.l) + self.visit(n.r)
print(Eval().visit(Add(Num(1), Add(Num(2), Num(3)))), Eval().visit("x"))
class Bus:
    def __init__(self): self._h = defaultdict(list)
    def on(self, e): return lambda f: self._h[e].append(f) or f
    def emit(self, e, *a): return [f(*a) for f in self._h[e]]
b = Bus()
@b.on("x")
def h(v): return v * 2
print(b.emit("x", 4))
class Matrix:
    def __init__(self, rows): self.rows = [list(r) for r in rows]
    @classmethod
    def identity(cls, n): return cls([[int(i == j) for j in range(n)] for i in range(n)])
    def __matmul__(self, o): return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])
    def __repr__(self): return f"{type(self).__name__}({self.rows})"
    def __getitem__(self, ij): i, j = ij; return self.rows[i][j]
    def __setitem__(self, ij, v): i, j = ij; self.rows[i][j] = v
m = Matrix.identity(2); m[0, 1] = 5; print(m @ m, m[0, 1])
""",
    """\
import datetime, decimal, collections, copy
class D(datetime.datetime):
    def __new__(cls, *a, **k):
        o = super().__new__(cls, *a, **k)
        o.tag = "t"
        return o
    def nice(self): return self.strftime("%d/%m")
d = D(2020, 1, 2)
print(d.nice(), d.tag, (d + datetime.timedelta(1)).tag, type(d + datetime.timedelta(1)).__name__, copy.copy(d), copy.deepcopy(d) == d, d.replace(day=5))
class E(D):
    pass
print(E(2020, 1, 1).tag, E.fromisoformat("2020-01-01").nice())
class Money(decimal.Decimal):
    def __new__(cls, v): return super().__new__(cls, str(v))
    def __str__(self): return f"${super().__str__()}"
print(Money(3), Money(3) + 1)
class LRU(collections.OrderedDict):
    def __init__(self, n): super().__init__(); self.n = n
    def __setitem__(self, k, v):
        super().__setitem__(k, v); self.move_to_end(k)
        if len(self) > self.n: self.popitem(last=False)
l = LRU(2); l[1] = 1; l[2] = 2; l[3] = 3; print(l, dict(l))
class Dd(collections.defaultdict):
    def __missing__(self, k): self[k] = v = self.default_factory(k); return v
print(Dd(lambda k: k * 2)[4], list(collections.deque([1])))
class Dq(collections.deque):
    def peek(self): return self[0]
print(Dq([1, 2], maxlen=3).peek(), Dq([1]).copy())
import enum
class Day(datetime.date, enum.Enum):
    FIRST = 2020, 1, 1
    LAST = 2020, 12, 31
print(Day.FIRST.year, Day.LAST - Day.FIRST, Day.LAST.name)
""",
]
