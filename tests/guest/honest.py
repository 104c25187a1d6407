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
class Model:
    def __init__(self): self.obj, self.format, self.sub, self.flags = 1, 'a', [1], 2
    def step(self, other):
        self.obj += 1; self.format *= 3; self.sub += [2]; other.flags |= 5
m = Model()
m.step(m); m.obj -= 7
print(m.obj, m.format, m.sub, m.flags)
def f(): pass
f.obj = 1
f.obj += 1
print(f.obj)
""",
    """
from dataclasses import KW_ONLY, InitVar, dataclass, field
@dataclass
class Base:
    x: int
    _seen: int = field(default=0, init=False)
@dataclass(slots=True)
class Point(Base):
    y: InitVar[int] = 2
    _: KW_ONLY
    z: int = 5
@dataclass(match_args=False)
class Bare:
    a: int = 1
@dataclass
class Own:
    __match_args__ = ('b',)
    a: int = 1
    b: int = 2
class Later(Base): pass
def show(value):
    match value:
        case Point(x, y): return x, y
        case Own(b): return b
        case Base(x): return x
        case Bare(a=a): return a
        case int(n): return n
print([show(v) for v in (Point(1), Own(), Base(3), dataclass(Later)(4), Bare(), 7)])
class Body:
    match Own():
        case Own(a=n): kept = n
print(Body.kept)
try:
    match 1:
        case show(x): pass
except TypeError:
    print('no class')
""",
    """
from collections import Counter
counts = Counter('abracadabra')
print(sorted(counts.elements()), list(Counter(a=2, b=0, c=-1).elements()), ''.join(Counter(x=3).elements()))
""",
    """
from functools import cmp_to_key
from types import SimpleNamespace
from typing import Annotated, ClassVar, List
class Part:
    obj = 4
    flags = {}
print(SimpleNamespace(obj=1).obj, cmp_to_key(lambda a, b: a - b)(2).obj, getattr(3, 'obj', None), Part.obj, super(Part, Part()).__init__())
print(List[int].append is list.append, Annotated[list[int], 0].copy is list.copy, Part().flags)
print(hasattr(ClassVar[int], 'x'), hasattr(Annotated[Part(), 0], 'x'), List[int].__name__, Annotated[Part, 1].__name__)
try:
    (3).obj
except AttributeError as error:
    print(error)
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
    """
import statistics
from fractions import Fraction
from decimal import Decimal
print(statistics.mean(len(w) for w in 'a bb ccc'.split()), statistics.mean([Fraction(1, 2), Fraction(1, 3)]))
print(statistics.mean([Decimal('1.5'), Decimal('2.5')]), statistics.mean({1: 'a', 2: 'b'}.values() and [1, 2, 4]))
""",
    """
import statistics
scores = {'a': 1.5, 'b': 2.5, 'c': 9.0}
print(statistics.mean(scores.values()), statistics.median(scores.values()), statistics.pstdev(scores.values()))
print(statistics.stdev(map(float, ['1', '2', '4'])), statistics.quantiles(range(20), n=4), statistics.fmean([True, 2]))
""",
    """
import statistics
from collections import Counter, deque, namedtuple
Row = namedtuple('Row', 'name price')
rows = [Row('a', 3), Row('b', 5), Row('c', 10)]
print(statistics.mean(r.price for r in rows), statistics.median(deque([3, 1, 2])), statistics.mode('abca'))
print(statistics.multimode(['x', 'y', 'x', 'y']), statistics.mean(Counter('aab').elements() and [1, 2]), statistics.mean(rows[0][1:]))
""",
    """
import statistics
print(statistics.correlation([1, 2, 3], [2, 4, 7]), statistics.linear_regression([1, 2, 3], [2, 4, 6]))
print(statistics.NormalDist.from_samples([1, 2, 3, 4]).stdev, statistics.NormalDist(0, 1).cdf(0), statistics.variance((1, 2, 3)))
try:
    statistics.mean([])
except statistics.StatisticsError as error:
    print(error)
""",
    """
import statistics, enum
class Size(enum.IntEnum):
    SMALL = 1
    BIG = 3
class Shape(enum.Enum):
    ROUND = 1
print(statistics.mean([int(each) for each in Size]), statistics.mode([Shape.ROUND, Shape.ROUND]), statistics.median_low(['b', 'a', 'c']))
""",
    """
import statistics
class Window:
    def __init__(self, values): self.values = values
    def __iter__(self): return iter(self.values)
    def __len__(self): return len(self.values)
print(statistics.mean(Window([1, 2, 6])), statistics.median(Window([1, 2, 6])), statistics.harmonic_mean([40, 60]))
""",
    """
from operator import itemgetter, attrgetter, methodcaller
from dataclasses import dataclass
@dataclass
class P:
    name: str
    age: int
people = [P('b', 2), P('a', 1)]
print(sorted(people, key=attrgetter('age', 'name')), max(people, key=attrgetter('age')), list(map(methodcaller('upper'), ['a'])))
print(sorted([(1, 'b'), (0, 'a')], key=itemgetter(1)), attrgetter('name.__len__' if False else 'name')(people[0]))
""",
    """
import operator
class Sorter:
    key = operator.attrgetter('imag')
    call = operator.methodcaller('split', ',')
print(Sorter().key(3j), Sorter.call('a,b'), operator.attrgetter('real', 'imag')(3j), operator.attrgetter('a.b'), operator.methodcaller('f', 1, x=2))
""",
    """
import copy, operator
class Job:
    def __init__(self): self.key = operator.attrgetter('real')
print(copy.deepcopy(Job()).key(2), copy.copy(operator.methodcaller('upper'))('a'))
""",
    """
import functools, itertools, operator
print(functools.reduce(operator.mul, [1, 2, 3]), list(itertools.accumulate([1, 2, 3], operator.add)))
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(30), fib.cache_info().currsize, functools.partial(int, base=2)('101'))
print([(k, list(g)) for k, g in itertools.groupby('aabb')], sorted(['b', 'A'], key=functools.cmp_to_key(lambda a, b: (a > b) - (a < b))))
""",
    """
import re
text = 'Total: 12 items, 7 errors'
pattern = re.compile(r'(?P<n>\\d+)\\s+(?P<what>\\w+)', re.I | re.M)
print(pattern.groupindex['what'], dict(pattern.groupindex), [m.groupdict() for m in pattern.finditer(text)])
print(re.sub(r'(\\d+)', r'<\\1>', text), re.sub(r'\\d+', lambda m: str(int(m[0]) * 2), text, count=1, flags=re.IGNORECASE))
print(re.split(r'[:,]\\s*', text), re.findall('[a-z]+', text, flags=re.I), re.escape('a.b*c'), re.fullmatch(pattern, '1 x'))
""",
    """
import re
print(bool(re.search(pattern='b+', string='abbb')), re.match('a', 'A', re.I | re.S), re.subn(re.compile('a'), 'b', 'aa'))
print(re.search('x', 'X', 2), re.sub(b'a', b'b', b'aa'), re.compile(r'(?P<y>\\d{4})').search('in 2024').expand(r'\\g<y>!'))
""",
    """
import re, enum
class Pattern(enum.StrEnum):
    WORD = r'[a-z]+'
print(re.findall(Pattern.WORD, 'ab cd'), re.compile(Pattern.WORD).pattern, re.search(Pattern.WORD, '1a')[0])
""",
    """
import json
data = json.loads('{"a": [1, 2.5, null, true], "b": {"c": "\\\\u00e9"}}')
print(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False), json.loads(b'[1]'), json.loads(bytearray(b'{}')))
class Encoder(json.JSONEncoder):
    def default(self, o): return sorted(o) if isinstance(o, set) else super().default(o)
print(json.dumps({'s': {2, 1}}, cls=Encoder), json.dumps([1], default=str, separators=(',', ':')))
try:
    json.loads('{oops}')
except json.JSONDecodeError as error:
    print(error.msg, error.pos, error.lineno)
""",
    """
import textwrap
long = 'The quick brown fox jumps over the lazy dog. ' * 4
print(textwrap.fill(long, width=40, initial_indent='* ', subsequent_indent='  '), textwrap.shorten(long, 30, placeholder='...'))
print(textwrap.dedent(\"\"\"
    a
      b
\"\"\"), textwrap.indent('x\\n\\ny', '> ', lambda line: True), textwrap.wrap('\\u00e9t\\u00e9 \\t \\u4f60\\u597d ' * 5, 12))
wrapper = textwrap.TextWrapper(width=20, break_long_words=False)
print(wrapper.wrap(long), wrapper.fill('a\\tb'))
""",
    """
import string
print(string.Template('$who owes $$${amount}').substitute(who='A', amount=3), string.capwords('the big  one'), string.capwords('a-b', '-'))
print(string.Template('$a $b').safe_substitute({'a': [1]}), string.ascii_lowercase[:3], 'x'.translate(str.maketrans('x', 'y')))
""",
    """
from datetime import datetime, date, timedelta, timezone
from zoneinfo import ZoneInfo
t = datetime.strptime('2024-03-10 01:30', '%Y-%m-%d %H:%M').replace(tzinfo=ZoneInfo('America/New_York'))
print((t.astimezone(timezone.utc) + timedelta(hours=1)).astimezone(ZoneInfo('Europe/Berlin')).isoformat(), t.tzname(), t.utcoffset())
print(sorted([date(2024, 2, 1), date(2023, 1, 1)])[0], (date(2024, 3, 1) - date(2024, 2, 1)).days, datetime(2024, 1, 2).strftime('%a %d %b %Y'))
""",
    """
import datetime, zoneinfo
class Stamp(datetime.datetime):
    def short(self): return self.strftime('%d.%m.')
tz = zoneinfo.ZoneInfo('Asia/Tokyo')
s = Stamp(2024, 5, 6, 7, tzinfo=tz)
print(s.short(), s.utcoffset(), tz.fromutc(datetime.datetime(2024, 1, 1, tzinfo=tz)))
""",
    """
from decimal import Decimal, getcontext, localcontext, ROUND_HALF_UP
with localcontext() as ctx:
    ctx.prec = 6
    print(Decimal(1) / Decimal(7))
print(Decimal('2.675').quantize(Decimal('0.01'), rounding=ROUND_HALF_UP), sum([Decimal('0.1')] * 3), getcontext().prec)
""",
    """
from fractions import Fraction
from decimal import Decimal
print(Fraction('3/4') + Fraction(0.25), Fraction(Decimal('0.1')), Fraction(Fraction(1, 2), 3), Fraction(numerator=1, denominator=2), Fraction(1, 2).limit_denominator(3))
print(Fraction(True), Fraction(3), hash(Fraction(1, 2)) == hash(0.5), Fraction(1, 3) ** 2, float(Fraction(1, 3)), sum(Fraction(1, n) for n in range(1, 5)))
""",
    """
import csv, io
text = 'name,qty\\n"Smith, J",3\\nLee,5\\n'
rows = list(csv.DictReader(io.StringIO(text)))
out = io.StringIO()
writer = csv.DictWriter(out, fieldnames=['name', 'qty'], extrasaction='ignore')
writer.writeheader(); writer.writerows(rows)
csv.register_dialect('pipes', delimiter='|')
print(rows, out.getvalue(), list(csv.reader(['a|b'], 'pipes')), csv.Sniffer().sniff('a;b\\n1;2\\n').delimiter, csv.Sniffer().has_header(text))
""",
    """
import random
random.seed(7)
print(random.choice('abc'), random.sample(range(100), 3), random.choices(['a', 'b'], weights=[1, 9], k=4), random.randint(1, 6))
deck = list(range(5)); random.shuffle(deck)
print(deck, round(random.gauss(0, 1), 6), random.uniform(1, 2), random.Random(3).sample(['x', 'y', 'z'], k=2), random.randrange(0, 10, 2))
class Card: pass
print(type(random.choice([Card()])) is Card)
""",
    """
import difflib
print(difflib.get_close_matches('appel', ['ape', 'apple', 'peach']), difflib.get_close_matches('x', {'xy': 1, 'z': 2}))
print('\\n'.join(difflib.unified_diff('a b'.split(), 'a c'.split(), 'old', 'new', lineterm='')), round(difflib.SequenceMatcher(None, 'abcd', 'bcde').ratio(), 2))
print(list(difflib.ndiff(['one\\n'], ['ore\\n'])), list(difflib.Differ().compare(['a'], ['b'])), difflib.SequenceMatcher(None, [(1, 2)], [(1, 2)]).get_opcodes())
""",
    """
import heapq, bisect
print(list(heapq.merge([1, 4], (x for x in [2, 3]), iter([0]))), heapq.nlargest(2, [3, 1, 2]), heapq.nsmallest(1, [{'a': 2}, {'a': 1}], key=lambda d: d['a']))
print(list(heapq.merge(['bb', 'a'], ['ccc'], key=len, reverse=True)), bisect.bisect_left([1, 3, 5], 3))
""",
    """
import base64, hashlib, html, uuid, urllib.parse as up
print(base64.b64encode('h\\u00e9'.encode()).decode(), base64.urlsafe_b64decode('aGk='), base64.b32encode(b'a'), html.escape('<a href="x">'), html.unescape('&eacute;&lt;'))
print(uuid.uuid5(uuid.NAMESPACE_DNS, 'x.org'), uuid.UUID('12345678123456781234567812345678').hex, hashlib.sha256(b'a').hexdigest()[:8])
print(up.urlencode({'q': 'a b', 'n': [1, 2]}, doseq=True), up.quote('a/b c', safe=''), up.urlparse('http://h:1/p?q=1#f').port, up.parse_qs('a=1&a=2'), up.urljoin('http://h/a/', 'b'), up.urlunparse(up.urlparse('http://h/p')))
""",
    """
import calendar
print(calendar.monthrange(2024, 2), calendar.isleap(2024), calendar.month_name[3], calendar.TextCalendar().formatmonth(2024, 2), calendar.timegm((2024, 1, 1, 0, 0, 0)))
""",
    """
import collections, itertools
c = collections.Counter(w.lower() for w in 'The cat the dog'.split())
print(c.most_common(1), c - collections.Counter(['cat']), collections.OrderedDict(sorted(c.items())), collections.ChainMap({'a': 1}, {'b': 2})['b'])
print(list(itertools.chain.from_iterable([[1], [2]])), list(itertools.islice(itertools.count(5), 2)), list(itertools.zip_longest([1], [2, 3], fillvalue=0)))
""",
    """
from contextlib import ContextDecorator, contextmanager, ExitStack
class Timer(ContextDecorator):
    def __enter__(self): print('in'); return self
    def __exit__(self, *details): print('out'); return False
@Timer()
def work(x):
    'does it'
    return x + 1
print(work(1), work.__name__, work.__doc__)
@contextmanager
def tag(name):
    print('<' + name)
    yield name.upper()
    print('>')
with tag('b') as b, ExitStack() as stack:
    stack.callback(print, 'done')
    print(b)
@tag('p')
def inside(): print('here')
inside()
""",
    """
import pprint, time
print(pprint.pformat({'b': list(range(30)), 'a': {'x': 1}}, width=40))
print(pprint.pformat([1]), time.strptime('2024-01-02', '%Y-%m-%d').tm_yday, time.strftime('%Y', time.gmtime(0)))
""",
    """
import enum
class Color(enum.Enum):
    RED = 1
print(list(Color.__members__), Color.__members__['RED'] is Color.RED, len(Color.__members__))
""",
    """
from fractions import Fraction
class Ratio(Fraction):
    def shown(self): return f'{self.numerator} to {self.denominator}'
print(Ratio(1, 2).shown(), Fraction(Ratio(2, 4)), Ratio(Fraction(1, 3), Ratio(2, 3)), Ratio('1/4') + 1, Fraction.from_float(0.5))
""",
]
