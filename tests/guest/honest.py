"""Honest cells that need a guard's consent: each prints what plain Python prints."""

from __future__ import annotations

HONEST = [
    """
print(type(1) is int, type('') == str, type(None).__name__, type([]).__name__)
""",
    """
print(isinstance(int, type), isinstance(1, type), issubclass(bool, int), issubclass(int, type))
""",
    """
class A: pass
print(type(A) is type, type(A()) is A, isinstance(A, type), type(A).__name__, type)
""",
    """
def f(): pass
print(type(f).__name__, isinstance(f, type(f)), isinstance(1, type(f)), type(f) is type(lambda: 0))
""",
    """
def f(x: type, y: type[int] | None = None) -> type: return type(x)
print(f(1))
""",
    """
match int:
    case type(): print('a class')
""",
    """
try:
    int('x')
except Exception as e:
    print(type(e).__name__, e.__class__.__name__, e)
""",
    """
def f():
    'doc'
print(f.__name__, f.__doc__, f.__qualname__, f.__module__)
""",
    """
class A:
    'doc'
print(A.__name__, A.__doc__, A.__qualname__, A.__module__, A().__doc__)
""",
    """
class A:
    def __init__(self): self.x = 1
print(A().__dict__, vars(A()), A().__class__.__name__)
""",
    """
class A:
    def copy(self): return self.__class__()
print(type(A().copy()) is A)
""",
    """
class A:
    def __init__(self, **kw): self.__dict__.update(kw)
print(A(a=1).a)
""",
    """
class A:
    x: int = 1
    y: str
print(A.__annotations__)
def f(a: int) -> str: pass
print(f.__annotations__)
""",
    """
class A:
    x = 1
    def f(self): pass
    _p = 2
print(sorted(k for k in vars(A) if not k.startswith('__')))
""",
    """
class A:
    def __init__(self): self._x = 1; self.__y = 2
    def get(self): return self._x + self.__y
print(A().get(), A()._A__y)
""",
    """
class A:
    _count = 0
    @classmethod
    def make(cls):
        cls._count += 1
        return cls()
A.make(); A.make()
print(A._count)
""",
    """
class A:
    def _f(self): return 1
class B(A):
    def _f(self): return super()._f() + 1
print(B()._f())
""",
    """
def f(): f.calls += 1
f.calls = 0
f._cache = {}
f(); f()
print(f.calls, f._cache)
""",
    """
def deco(fn):
    def wrapper(*a): return fn(*a)
    wrapper.__name__ = fn.__name__
    wrapper.__doc__ = fn.__doc__
    return wrapper
@deco
def g():
    'd'
print(g.__name__, g.__doc__)
""",
    """
class A: pass
A.__name__ = 'B'
A.__doc__ = None
print(A.__name__, A.__doc__)
""",
    """
a = [1]
print(getattr(a, 'append')(2), getattr(a, 'nope', 'default'), hasattr(a, '__len__'), hasattr(a, 'nope'))
""",
    """
print(getattr(int, '__name__'), getattr(1, '__name__', 'none'), [].__len__(), (1).__add__(2), 'a'.__eq__('a'))
""",
    """
class A: pass
a = A()
setattr(a, 'x', 1)
setattr(a, '_y', 2)
print(a.x, getattr(a, '_y'), vars(a))
delattr(a, 'x')
print(hasattr(a, 'x'))
""",
    """
class A:
    def f(self): pass
    x = 1
print([n for n in dir(A()) if not n.startswith('_')])
""",
    """
class A:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)
a = A()
a.x = 2
print(a.x)
""",
    """
class A:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)
a = A()
a.x = 2
print(a.x)
""",
    """
class A:
    def __delattr__(self, name):
        print('del', name)
        super().__delattr__(name)
a = A()
a.x = 1
del a.x
print(vars(a))
""",
    """
class A:
    def __getattr__(self, name): return name.upper()
print(A().abc)
""",
    """
class S:
    _one = None
    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one
print(S() is S())
""",
    """
class P(int):
    def __new__(cls, v): return int.__new__(cls, v + 1)
print(P(2) + 0)
""",
    """
class T(tuple):
    def __new__(cls, *v): return super().__new__(cls, v)
print(T(1, 2))
""",
    """
class A:
    def __init__(self, x): self.x = x
class B(A):
    def __init__(self, x, y):
        A.__init__(self, x)
        self.y = y
b = B(1, 2)
print(b.x, b.y)
""",
    """
class E(Exception):
    def __init__(self, code):
        super().__init__(f'code {code}')
        self.code = code
try:
    raise E(3)
except E as e:
    print(e, e.code, e.args)
""",
    """
class E(ValueError):
    def __init__(self, m):
        Exception.__init__(self, m)
try:
    raise E('m')
except ValueError as e:
    print(repr(e))
""",
    """
class D(dict):
    def __setitem__(self, k, v):
        dict.__setitem__(self, k, v + 1)
    def __missing__(self, k): return 0
d = D()
d['a'] = 1
print(d['a'], d['b'])
""",
    """
class R:
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        cls.tag = cls.__name__.lower()
class Abc(R): pass
print(Abc.tag)
""",
    """
class Field:
    def __set_name__(self, owner, name): self.name = '_' + name
    def __get__(self, obj, kind=None): return getattr(obj, self.name, 0)
    def __set__(self, obj, value): setattr(obj, self.name, value * 2)
class A:
    x = Field()
a = A()
a.x = 4
print(a.x)
""",
    """
class A:
    def __class_getitem__(cls, item): return (cls.__name__, item)
print(A[int])
""",
    """
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    __radd__ = __add__
    def __eq__(self, o): return isinstance(o, V) and self.x == o.x
    __hash__ = None
    def __repr__(self): return f'V({self.x})'
print(V(1) + V(2), V(1) == V(1))
""",
    """
class P:
    __slots__ = ('x', '_y')
    __match_args__ = ('x',)
    def __init__(self): self.x = 1; self._y = 2
match P():
    case P(a): print(a)
print(P()._y)
""",
    """
from collections import namedtuple
P = namedtuple('P', 'x y')
p = P(1, 2)
print(p._asdict(), p._replace(x=3), P._fields, P._make([4, 5]))
class Q(P):
    def total(self): return self.x + self.y
print(Q(1, 2).total())
match p:
    case P(a, b): print(a, b)
""",
    """
import enum
class Color(enum.Enum):
    RED = 1
    BLUE = 2
    @classmethod
    def _missing_(cls, value): return cls.RED
print(Color.RED, Color['BLUE'], Color(7), [c.name for c in Color], list(Color.__members__), Color.RED._value_)
""",
    """
from dataclasses import dataclass, field, replace
@dataclass(order=True, slots=True)
class P:
    x: int
    y: list = field(default_factory=list)
    _z: int = 0
    def bump(self):
        self.x += 1
        self._z += 1
p = P(1)
p.bump()
print(p, replace(p, x=5), p < P(3))
""",
    """
from dataclasses import dataclass
@dataclass(frozen=True)
class P:
    x: int
    def __post_init__(self): object.__setattr__(self, 'x', self.x * 2)
p = P(2)
print(p.x)
try:
    p.x = 1
except Exception as e:
    print(type(e).__name__)
""",
    """
from typing import NamedTuple, Generic, TypeVar, Protocol
T = TypeVar('T')
class N(NamedTuple):
    a: int
    b: str = 'x'
class Stack(Generic[T]):
    def __init__(self): self._items = []
    def push(self, x): self._items.append(x)
class Sized(Protocol):
    def size(self) -> int: ...
s = Stack()
s.push(1)
print(N(1), N(1)._replace(b='y'), s._items)
""",
    """
from abc import ABC, abstractmethod
class A(ABC):
    @abstractmethod
    def f(self): ...
class B(A):
    _n = 1
    def f(self): return self._n
print(B().f())
try:
    A()
except TypeError as e:
    print('abstract')
""",
    """
from types import SimpleNamespace
n = SimpleNamespace(a=1)
n.b = 2
print(n)
""",
    """
from decimal import getcontext, Decimal
getcontext().prec = 6
print(Decimal(1) / 3)
getcontext().prec = 28
""",
    """
t = '{:>8.2f}|{name!r:^9}|{0[k]}|{1.real}'
try:
    print('{:>8.2f}'.format(3.14159), '{0[k]} {1.real} {n}'.format({'k': 1}, 2, n='x'))
finally:
    pass
""",
    """
f = '{} and {}'
print(f.format(1, 2), '{:{w}}|'.format('a', w=4), '{a[0]}'.format(a=[9]), '{x}'.format_map({'x': 1}), str.format('{:d}', 3))
""",
    """
for bad in ['{', '}', '{0.}', '{a!z}', '{:{:{}}}']:
    try:
        print(bad.format(1, a=1))
    except Exception as e:
        print(type(e).__name__, e)
""",
    """
class Money:
    def __init__(self, v): self.v = v
    def __format__(self, spec): return f'${self.v:{spec}}'
print('{:.2f}'.format(Money(3)), f'{Money(2):.1f}')
""",
    """
class T:
    def format(self, x): return x * 2
print(T().format(4))
""",
    """
class A:
    obj = 3
print(A().obj, getattr(A(), 'obj'))
""",
    """
class Holder:
    def __init__(self, obj): self.obj = obj
print(Holder(5).obj)
""",
    """
try:
    import numpy_is_not_here as np
except ImportError:
    np = None
print(np)
""",
    """
try:
    from math import nothing
except ImportError:
    print('no')
""",
    """
import collections.abc, json as j, math
from collections import Counter as C, deque
print(isinstance([], collections.abc.Sequence), j.dumps([1]), C('aa'), deque([1]), math.floor(1.5))
""",
    """
from datetime import datetime
print(datetime.strptime('2024-01-02', '%Y-%m-%d').strftime('%d/%m/%y'))
""",
    """
def g():
    got = yield 1
    yield got
i = g()
print(next(i), i.send(5))
""",
    """
import functools
@functools.wraps(len)
def f(): pass
print(f.__name__)
""",
]
