"""Attributes that have a guard: what honest cells read and set is what plain Python gives; the rest has a refusal."""

from __future__ import annotations

import decimal
import types
from typing import Any

import pytest

from rlm_secure.guest.language import attributes, registry
from rlm_secure.guest.language.facades.signals import Signals, SignalsOf
from rlm_secure.guest.language.violations import AttributeRefused

from .cells import Session, plain

#: Each prints what plain Python prints.
HONEST = {
    "setting by name": """
class A:
    pass
class B(A):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
    def __delattr__(self, name):
        super().__delattr__(name)
a, b = A(), B()
a.__setattr__('x', 1)
A.__setattr__(a, 'y', 2)
b.z = 3
super(B, b).__setattr__('w', 4)
print(vars(a), vars(b))
a.__delattr__('x')
A.__delattr__(a, 'y')
del b.z
print(vars(a), vars(b))
for call in (
    lambda: a.__setattr__('x'), lambda: a.__setattr__(), lambda: a.__setattr__(a, 'x', 1, 2), lambda: A.__setattr__(a, 'x'),
    lambda: a.__delattr__(), lambda: A.__delattr__(a, 'x', 'y'), lambda: a.__setattr__(1, 2), lambda: A.__setattr__(a, 1, 2),
):
    try:
        print(call())
    except TypeError:
        print('TypeError')
""",
    "orders of classes": """
class A:
    pass
class B(A):
    pass
class C:
    mro = 5
class D:
    def mro(self):
        return 'own'
print([each.__name__ for each in B.mro()], [each.__name__ for each in B.__mro__])
print([each.__name__ for each in B.__bases__], B.__base__.__name__, object.__base__, object.__bases__, B().__class__ is B)
print(C.mro, C().mro, D().mro(), getattr(A(), 'mro', 'none'), getattr(5, 'mro', 'none'))
""",
    "what is wrapped": """
import functools
def f():
    'doc'
@functools.wraps(f)
def g():
    pass
class W:
    pass
w = functools.update_wrapper(W(), f)
print(g.__wrapped__ is f, g.__name__, w.__wrapped__ is f, getattr(f, '__wrapped__', 'none'), getattr(W(), '__wrapped__', 7))
print(list(g.__dict__), g.__dict__['__wrapped__'] is f)
for value in (f, W()):
    try:
        value.__wrapped__
    except AttributeError as error:
        print(error)
""",
    "names that a class lists": """
import dataclasses
class S:
    __slots__ = ('x', 'y')
class L:
    __slots__ = ['x']
class T:
    __slots__ = 'one'
@dataclasses.dataclass
class P:
    x: int
    y: int = 2
print(S.__slots__, S().__slots__, L.__slots__, T.__slots__)
print(list(P.__dataclass_fields__), P.__dataclass_fields__['y'].default, P.__match_args__, P(1).__match_args__)
""",
    "what functions and classes hold": """
import enum, types
class A:
    x: int = 1
    def __init__(self):
        self.y = 2
def f(a: int = 1, *, b: str = 'x') -> None:
    pass
f.note = 5
class E(enum.Enum):
    ONE = 1
    TWO = 2
print(A.__annotations__, A.__dict__['x'], type(A.__dict__).__name__, A().__dict__, vars(A()))
print(f.__annotations__, f.__defaults__, f.__kwdefaults__, f.__dict__, (lambda: 0).__defaults__)
print(types.SimpleNamespace(x=1).__dict__, list(E.__members__), E.__members__['TWO'].value, type(E.__members__).__name__)
""",
    "texts": """
class A:
    'doc'
def f():
    'd'
print(A.__doc__, A.__name__, A.__qualname__, f.__doc__, getattr(5, '__name__', 'none'), getattr(A(), '__name__', None))
f.__doc__ = None
print(f.__doc__)
f.__name__, f.__qualname__, A.__name__, A.__doc__ = 'n', 'q.r', 'Z', 'new'
f.__name__ += 'x'
print(f.__name__, f.__qualname__, A.__name__, A().__doc__)
""",
    "names that others guard": """
import functools, types
class A:
    format, obj, sub, throw, flags = 'x', 1, [1], 'ball', 5
a = A()
a.format += 'y'
a.obj += 1
a.flags += 1
print(a.format, a.obj, a.sub, a.throw, a.flags, A.flags, types.SimpleNamespace(obj=1).obj, getattr(5, 'obj', 'none'))
print(functools.cmp_to_key(lambda x, y: 0)(3).obj, getattr(a, 'groupindex', 'none'), getattr(a, 'traps', 'none'))
def f(): pass
f.obj = 2
f.obj += 1
print(f.obj)
""",
    "chains of exceptions": """
class Own(Exception):
    pass
def chained(cause):
    try:
        try:
            raise KeyError('first')
        except KeyError:
            raise ValueError('second') from cause
    except ValueError as error:
        error.add_note('noted')
        return type(error.__cause__).__name__, type(error.__context__).__name__, error.__suppress_context__, error.__notes__
for cause in (None, KeyError(1), Own(2), ExceptionGroup('g', [KeyError(3)]), Own):
    print(chained(cause))
class Noted(Exception):
    def __init__(self):
        self.x = 1
print(getattr(Noted(), '__notes__', 'none'), Noted().__cause__, Noted().__context__, Noted().__traceback__)
""",
    "aliases": """
import typing
from collections.abc import Callable
for alias in (
    list[int], dict[str, int], int | str, typing.Optional[int], typing.List[int], typing.Literal[1, 2],
    typing.Annotated[int, 'm', 'n'], Callable[[int], str], typing.Callable[[int], str],
):
    print(alias.__args__, getattr(alias, '__metadata__', 'none'))
print(list[int].__origin__, typing.Annotated[int, 'm'].__origin__, getattr(int | str, '__origin__', 'none'))
class A:
    pass
for value in (5, A(), A):
    for name in ('__args__', '__origin__', '__metadata__'):
        print(getattr(value, name, 'none'))
for value in (5, A()):
    try:
        value.__args__
    except AttributeError as error:
        print(error)
""",
    "records": """
import collections, typing
P = collections.namedtuple('P', 'x y', defaults=[2])
class Q(typing.NamedTuple):
    a: int
    b: int = 3
class R(P):
    _z = 4
    def total(self):
        return sum(self._asdict().values()) + self._z
p, q, r = P(1), Q(1), R(5)
print(p._fields, P._fields, p._asdict(), p._replace(x=7), P._make([8, 9]), q._asdict(), Q._make([1, 2]), r.total(), R._fields)
""",
    "patterns and matches": """
import re
class Text(str):
    pass
p = re.compile('(?P<first>a)(?P<second>b)')
m = p.match('abc')
print(p.sub('x', 'abab'), p.subn(Text('y'), Text('abab'), 1), m.expand(r'\\\\2\\\\1'), m.expand(Text(r'\\\\g<first>')))
print(p.sub(repl=lambda m: m[0].upper(), string='cabc', count=1), re.Pattern.sub(p, 'z', 'ab'), re.Match.expand(m, r'\\\\1'))
print(dict(p.groupindex), p.groupindex['second'], type(p.groupindex).__name__, p.sub.__name__, list(p.groupindex))
""",
    "methods of a parent": """
class A:
    x, _y = 1, 2
    def __init__(self, z=0):
        self.z = z
    def __new__(cls, *values):
        made = super().__new__(cls)
        made.new = True
        return made
    def __len__(self):
        return 3
    @classmethod
    def kind(cls):
        return cls.__name__
class B(A):
    x, _y = 5, 6
    def __init__(self):
        super().__init__(7)
    def __len__(self):
        return super().__len__() + 1
    def read(self):
        return super().x, super()._y, super().kind(), super().__class__.__name__
b = B()
print(b.z, b.new, len(b), b.read(), A.__len__(b), object.__new__(B).x, B.__new__(B).new, super(B, b)._y, super(B, B)._y)
""",
    "methods that a library made": """
import dataclasses
@dataclasses.dataclass(order=True)
class P:
    x: int
    y: int = 2
p, q = P(1), P(3)
P.__init__(p, 5, 6)
print(P.__repr__(p), P.__eq__(p, q), P.__lt__(q, p), p.__eq__(P(5, 6)), p.__repr__.__name__)
""",
    "by names that are computed": """
import collections, decimal, operator
g, s = getattr, setattr
c = decimal.Context(prec=5)
print(g(c, 'prec'), len(g(c, 'flags')), g(c, 'traps')[decimal.InvalidOperation], g(operator, 'sub')(5, 3))
s(c, 'prec', 7)
s(c, 'traps', {each: False for each in c.traps})
print(c.prec, any(c.traps.values()), c.divide(decimal.Decimal(1), decimal.Decimal(0)))
class R(collections.namedtuple('P', 'x y')):
    _z = 4
r = R(1, 2)
print(g(r, '_z'), g(R, '_z'), g(r, '_fields'), g(R, '_make')([5, 6]))
class A:
    _y = 1
    def __len__(self):
        return 3
    def mro(self):
        return 'own'
class B:
    pass
s(A, '_y', 2)
s(R, '_z', 9)
print(R._z)
b = B()
b.mro = [].append
print(A._y, A.__len__(B()), b.mro(1), g(A, '_y'), operator.sub(7, 2))
try:
    [][0]
except IndexError as error:
    print(g(error, '__traceback__') is None, g(error, '__context__'))
class D:
    __doc__ = [1]
print(g(5, '__name__', 'none'))
""",
    "output to another place": """
import io, sys
kept = sys.stdout
sys.stdout = out = io.StringIO()
print('inside')
sys.stdout = kept
print(repr(out.getvalue()))
""",
}


@pytest.mark.parametrize("cell", HONEST.values(), ids=HONEST)
def test_what_honest_cells_read_is_what_plain_python_gives(cell: str) -> None:
    assert Session().run(cell) == plain(cell)[0]


REFUSED = {
    "obj of an error": ("try:\n    (5).nothing\nexcept AttributeError as e:\n    x = e.obj", "closed-attribute"),
    "obj of an own AttributeError": ("class E(AttributeError): pass\nx = E('a', obj=[1]).obj", "closed-attribute"),
    "mro of type": ("import typing\nx = typing.Type.mro", "closed-attribute"),
    "the maker of another class": ("class A: pass\nA.__new__(int)", "foreign-instance"),
    "a library's method of another class": (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\nclass A: x = 1\nP.__repr__(A())", "foreign-instance",
    ),
    "a library's initialiser of a class": (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\nclass A: x = 1\nP.__init__(A, 1)", "foreign-instance",
    ),
    "a method whose operator checks its arguments": ("import datetime\nx = datetime.date.today().__format__", "dunder-attribute"),
    "a method on a class of a library": ("import datetime\nx = datetime.date.__add__", "dunder-attribute"),
    "a method of a built-in class": ("x = list.__init_subclass__", "dunder-attribute"),
    "texts of another": ("import json\njson.dumps.__name__ = 'x'", "attribute-store"),
    "no text": ("def f(): pass\nf.__name__ = 1", "TypeError"),
    "no name": ("def f(): pass\nf.__name__ = None", "TypeError"),
    "the base of an instance": ("class A: pass\nA().__base__", "dunder-attribute"),
    "the order of a value": ("(5).__mro__", "dunder-attribute"),
    "the cause of a class": ("x = ValueError.__cause__", "dunder-attribute"),
    "defaults of a library": ("import json\nx = json.dumps.__defaults__", "dunder-attribute"),
    "annotations of a library": ("import json\nx = json.dumps.__annotations__", "dunder-attribute"),
    "members of a library": ("import re\nx = re.RegexFlag.__members__", "dunder-attribute"),
    "the dict of a function's class": ("import json\nx = json.__dict__", "dunder-attribute"),
    "the dict of a library's object": ("import decimal\nx = decimal.Context().__dict__", "dunder-attribute"),
    "slots of a library": ("import fractions\nx = fractions.Fraction.__slots__", "dunder-attribute"),
    "fields of a class that has none": ("class A: pass\nx = A.__dataclass_fields__", "dunder-attribute"),
    "match arguments that are no names": ("class A: __match_args__ = 5\nx = A.__match_args__", "dunder-attribute"),
    "what a library wraps": ("import json\nx = json.dumps.__wrapped__", "AttributeError"),
    "what a built-in wraps": ("x = len.__wrapped__", "dunder-attribute"),
    "another stream": ("import sys\nsys.stdin = 1", "attribute-store"),
    "the output of another module": ("import json\njson.stdout = 1", "attribute-store"),
    "a private name of a library": ("import decimal\ndecimal.Context()._x", "private-attribute"),
    "a private name of a number": ("x = (5)._x", "private-attribute"),
    "a private store": ("import decimal\ndecimal.Context()._x = 1", "private-attribute"),
    "records of a tuple's class": ("x = tuple._fields", "AttributeError"),
    "a frame": ("def f(): yield\nx = f().gi_frame", "closed-attribute"),
    "a frame by name": ("def f(): yield\nx = getattr(f(), 'gi_' + 'frame')", "closed-attribute"),
    "a frame's store by name": ("class A: pass\ns = setattr\ns(A(), 'gi_' + 'frame', 1)", "closed-attribute"),
    "a private store by name": ("import decimal\ns = setattr\ns(decimal.Context(), '_x', 1)", "private-attribute"),
    "privates of a counter": ("import collections\nclass A(collections.Counter): pass\nx = A()._keep_positive", "private-attribute"),
    "privates of a counter by name": (
        "import collections\nclass A(collections.Counter): pass\ng = getattr\na = A()\ng(a, '_keep_' + 'positive')", "private-attribute",
    ),
    "privates of a fraction's class": (
        "import fractions\nclass A(fractions.Fraction): pass\ng = getattr\ng(A, '_ope' + 'rator_fallbacks')", "private-attribute",
    ),
    "the subscript of a class of C": (
        "class A(list): pass\nA.__class_getitem__ = classmethod(lambda kind, item: kind)", "attribute-store",
    ),
    "privates of a metaclass": ("import enum\nclass E(enum.Enum): A = 1\ng = getattr\ng(E, '_convert_')", "private-attribute"),
    "what an enum keeps": ("import enum\nclass E(enum.Enum): A = 1\nx = E._value2member_map_\ns = setattr\ns(E, '_member_map_', {})", "attribute-store"),
    "the order of an alias": ("import typing\nx = typing.List.mro", "closed-attribute"),
    "members of a function": ("def f(): pass\nx = f.__members__", "dunder-attribute"),
    "a super of a library's class": (
        "import collections\nx = super(collections.Counter, collections.Counter()).__len__", "dunder-attribute",
    ),
    "an unbound super": ("class A: pass\nx = super(A)._y", "private-attribute"),
    "a frame's store": ("class A: pass\nA().gi_frame = 1", "closed-attribute"),
}


@pytest.mark.parametrize(("cell", "rule"), REFUSED.values(), ids=REFUSED)
def test_what_is_closed_is_refused(cell: str, rule: str) -> None:
    assert Session().outcome(cell) == rule


#: Cells that print "kept" where what they were given is a copy.
COPIES = {
    "slots": "class A: __slots__ = ['x']\nA.__slots__.append('y')\nprint('kept' if A.__slots__ == ['x'] else '')",
    "notes": "e = ValueError()\ne.add_note('n')\ne.__notes__.append('m')\nprint('kept' if e.__notes__ == ['n'] else '')",
    "annotations": "class A: x: int\nA.__annotations__['y'] = 1\nprint('kept' if list(A.__annotations__) == ['x'] else '')",
    "attributes of a function": "def f(): pass\nf.x = 1\nf.__dict__['y'] = 1\nprint('kept' if f.__dict__ == {'x': 1} else '')",
    "orders": "class A: pass\nA.mro().append(1)\nprint('kept' if len(A.mro()) == 2 else '')",
    "names of an enum": (
        "import enum\nclass E(enum.Enum): A = 1\nE._member_names_.append('B')\ng = getattr\ng(E, '_member_' + 'names_').append('C')\n"
        "print('kept' if E._member_names_ == ['A'] else '')"
    ),
    "a view that calls back": (
        "import re\nseen = []\nclass B:\n    def __ror__(self, other):\n        seen.append(other)\n        return other\n"
        "p = re.compile('(?P<a>x)')\np.groupindex | B()\n"
        "for each in seen:\n    if type(each) is dict: each['b'] = 1\nprint('kept' if list(p.groupindex) == ['a'] else '')"
    ),
}


@pytest.mark.parametrize("cell", COPIES.values(), ids=COPIES)
def test_what_lists_is_a_copy(cell: str) -> None:
    assert Session().run(cell) == "kept\n"


class Foreign:
    """Neither a cell's nor a facade's."""

    _fields = ("x",)


def test_objects_of_nobody_are_closed() -> None:
    session, foreign, raw = Session(), Foreign(), decimal.Context().flags
    foreign.__dict__["__wrapped__"] = 1
    other = types.new_class("Other", (), {"metaclass": type("Meta", (type,), {})})
    session.space.update(foreign=foreign, other=other, held=types.SimpleNamespace(flags=raw))
    assert session.outcome("foreign._fields") == "private-attribute"
    assert session.outcome("foreign.__wrapped__") == "dunder-attribute"
    assert session.outcome("other._x") == "metaclass"
    assert session.outcome("held.flags") == session.outcome("getattr(held, 'fla' + 'gs')") == "closed-attribute"


def test_signals_of_a_context_keep_it() -> None:
    session = Session()
    session.run("import decimal\ng = getattr\nx, y = g(decimal.Context(), 'flags'), decimal.Context().traps")
    assert type(session.space["x"]) is type(session.space["y"]) is Signals


@pytest.mark.attack("language")
@pytest.mark.parametrize("call", ["p.sub(t, 'ab')", "p.subn(t, 'ab')", "re.Pattern.sub(p, t, 'ab')", "g(p, 'sub')(t, 'ab')"])
def test_no_hook_of_a_template_is_called_by_a_cache(call: str) -> None:
    cell = (
        "import re\nseen = []\ng = getattr\nclass T(str):\n    def __hash__(self):\n        seen.append(1)\n        return 7\n"
        "    def __eq__(self, other):\n        seen.append(other)\n        return False\n"
        f"p = re.compile('(a)(b)')\nm = p.match('ab')\nt = T(r'\\2\\1')\nprint({call}, seen)"
    )
    printed, _ = plain(cell)
    assert "[1" in printed  # the control
    assert Session().run(cell) == printed[: printed.rindex("[")] + "[]\n"


@pytest.mark.attack("language")
def test_a_template_that_lies_is_no_known_one() -> None:
    session = Session()
    session.run(
        "class T(str):\n    def __hash__(self):\n        return hash('x {}')\n    def __eq__(self, other):\n        return True\n"
        "def f(): pass\nfor _ in range(3):\n    'x {}'.format(1)\n    getattr('x {}', 'for' + 'mat')(1)"
    )
    for read in ("t.format", "getattr(t, 'for' + 'mat')"):
        assert session.outcome(f"t = T('{{0.__globals__}}')\nloot = {read}(f)") == "format-attribute"
    assert "loot" not in session.space


def test_a_throw_is_not_that_of_c() -> None:
    session = Session()
    session.run("def f():\n    yield\nx, y = f().throw, getattr(f(), 'th' + 'row')")
    assert types.BuiltinMethodType not in (type(session.space["x"]), type(session.space["y"]))


def test_a_default_is_given_as_it_is_and_nothing_else_that_is_no_text() -> None:
    session = Session()
    session.run("class A: __doc__ = [1]\nerror = AttributeError('x', obj=[1])\na = A()")
    guard, default = attributes.session(session.space), [2]
    assert guard.read(5, "__name__", default) is default and guard.read(5, "obj", default) is default
    assert guard.read(session.space["A"], "__name__", default) == "A"
    for value, name in ((session.space["a"], "__doc__"), (session.space["error"], "obj")):
        with pytest.raises(AttributeRefused):
            guard.read(value, name, default)


def test_public_names_of_open_classes_need_no_guard() -> None:
    def generator() -> Any:
        yield 1

    guard, made = attributes.session(Session().space), generator()
    assert guard.load(types.SimpleNamespace(x=5), "x") == 5
    with pytest.raises(AttributeRefused):
        guard.load(made, "gi_frame")
    guard.open.add(types.GeneratorType)
    assert guard.load(made, "gi_frame") is made.gi_frame


def test_what_sets_on_a_class_or_a_context_goes_through_a_proxy_and_nothing_else_does() -> None:
    session = Session()
    session.run("import collections\nclass A: _y = 1\nclass B(collections.Counter): _own = 1\nb = B()")
    guard, context, space = attributes.session(session.space), decimal.Context(), types.SimpleNamespace()
    kind, other = session.space["A"], session.space["b"]
    assert type(guard.store(kind, "_y")) is type(guard.private(kind, "_y")) is registry.Changed
    assert guard.private(other, "_own") is guard.store(other, "_own") is other
    assert type(guard.store(context, "flags")) is type(guard.store(context, "traps")) is SignalsOf
    assert guard.store(context, "prec") is context and guard.store(space, "flags") is space and guard.store(space, "x") is space
    assert type(guard.store(kind, "__getitem__")) is type(guard.store(kind, "__iter__")) is registry.Iterated
    assert type(guard.store(kind, "__len__")) is registry.Changed


def test_a_package_may_bring_stricter_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stricter(attributes.Attributes):
        pass

    monkeypatch.setattr(attributes, "_kind", attributes._kind)
    assert type(attributes.session({})) is attributes.Attributes
    attributes.use(Stricter)
    assert type(attributes.session({})) is Stricter


def test_what_a_session_keeps_of_names_and_classes_is_bounded() -> None:
    guard = attributes.session(Session().space)
    assert guard.asked("x" * 100) in guard.askable and guard.asked("x" * 101) not in guard.askable
    for closed in ("_x", "__len__", "format", "gi_frame"):
        assert guard.asked(closed) == closed and closed not in guard.askable
    for number in range(1_100):
        guard.asked(f"name_{number}")
    assert len(guard.askable) == 1_000
    session = Session()
    guard = attributes.session(session.space)
    kinds = []
    for _ in range(1_100):
        session.run("class A: pass")
        kinds.append(session.space["A"])
        assert guard.seen(kinds[-1]) is kinds[-1]
    assert len(guard.kinds) == 1_000
