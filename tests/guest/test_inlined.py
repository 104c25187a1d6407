"""Guards that are compiled into cells: the same results as plain Python, and nothing between a test and its use."""

from __future__ import annotations

import fractions
import json
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from rlm_secure.guest.language import compiler, formatting, inlined, names

from .cells import LIMITS, Session, is_loot, plain

#: Objects that write down what is asked of them, in the order in which it is asked.
SETUP = """
log = []

def note(label, value):
    log.append(label)
    return value

class Base:
    shared = 'of the class'

class Own(Base):
    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)
    def __getattr__(self, name):
        log.append(f'miss {name}')
        if name == 'missing':
            raise AttributeError(f'no {name}')
        return f'<{name}>'
    def method(self):
        return 'called'

class Slots:
    __slots__ = ('x', '_y', 'b')

class Checked:
    @property
    def x(self):
        log.append('read x')
        return self._x
    @x.setter
    def x(self, value):
        log.append(f'set x {value}')
        if value == 13:
            raise ValueError('unlucky')
        self._x = value

class Text(str):
    pass

own, other, slots, checked = Own(x=1, _y=2), Own(x=3, _y=4), Slots(), Checked()
checked.x = 1
slots.x, slots._y, slots.b = 1, 2, own
own.b, other.b = other, own
table = [own, other, slots]
name, template = 'x', '{} {!r:>4} {{}}'
values = [own, slots, checked, 1, 'text', None, [1], Own, int, ValueError('e'), log.append, Text('t')]
"""
STATEMENTS = [
    "own.x = note('v', 5)", "own.b.x = note('v', 5)", "note('o', own).b.x = note('v', 5)", "table[note('i', 0)].x = 7",
    "table[0].b._y = note('v', 8)", "note('o', table)[1].x += note('v', 1)", "own.x += note('v', 1)",
    "own.b.x, own.x = note('a', (1, 2))", "own.x = own.b.x = note('v', 9)", "own.b.x: int = note('v', 3)",
    "del own.x", "del own.b.x", "del note('o', own).x", "slots.x = 1; slots.b.x = 2; slots.z = 3", "del slots.x, slots.x",
    "checked.x = 2", "checked.x += note('v', 11)", "checked.x = 13", "for own.b.x in [1, 2]: note('body', 0)",
    "for table[0].x in [1]: pass", "(own.x, [other.x, *own.b.rest]) = 1, [2, 3, 4]", "unknown.x = note('v', 1)",
    "unknown.b.x = note('v', 1)", "own.b.x = unknown", "own.x = (own := other)", "own.b.x = (other := own)",
    "own.x += (own := other)._y", "own, own.x = other, 2", "own.x = lambda: own.x",
    "own.x = [each.x for each in table if hasattr(each, 'x')]", "table[0].x, table[1].x = table[1].x, table[0].x",
    "own.b.x: note('a', int)", "own.b.x = 1 if own.x == 99 else 2", "y = own.b._y if own.x == 99 else other.x",
    "assert own.x != 99, own.b._y", "assert own.x == 99, own.b._y", "own.x == 99 and own.b._y", "1 > 2 > own.b._y",
    "y = lambda: own.b._y", "y = [own.b._y for _ in ()], own.x", "del own.b.x, other.b.x", "raise KeyError(own.b._y)",
    "p, q = own, other; p.x = q._y; q.x += p._y", "p = q = own; p.x = 5; q._y = 6", "(p, *q), r = [own, 1], slots; p.x = 2; r.x = 3",
    "p, own.b.x = own, note('v', 4); p.x = own.b.x", "p, p = own, other; p.x = 4", "p, q = slots, checked; p.x = 1; q.x = 13",
]  # fmt: skip
EXPRESSIONS = [
    "own._y", "own.b._y", "note('o', own)._y", "table[0].b._y", "own._none", "type(own)", "type(own) is Own", "type(own.b)",
    "type(note('o', own))", "type(type(own))", "[type(each) for each in values]", "type(own).__name__",
    "[type(each).__name__ for each in values]", "[each.__class__.__name__ for each in values]",
    "sorted(values, key=lambda each: type(each).__name__)[0]", "own.__class__", "own.__class__ is type(own)",
    "own.__class__.__name__", "Own.__name__", "Own.__doc__", "own.b.__class__.__qualname__",
    "int.__name__", "unknown.__name__", "unknown.__class__", "type(unknown)", "note.__name__", "type(own.missing)",
    "getattr(own, 'x')", "getattr(own, 'missing')", "getattr(own, 'missing', note('d', 1))",
    "getattr(note('o', own), note('n', 'x'), note('d', 1))", "getattr(own, name)", "getattr(own, name, 3)",
    "getattr(own, 1)", "getattr(own, Text('x'))", "getattr(unknown, name)", "getattr(own, unknown)",
    "[getattr(each, name, 0) for each in values]", "[getattr(own, each, 0) for each in ('x', 'b', '_y', 'missing')]",
    "[hasattr(own, each) for each in ('x', '_y', 'missing')]", "hasattr(own, 'x')", "hasattr(own, 'missing')",
    "hasattr(own, '__iter__')", "hasattr([], '__iter__')", "hasattr(own, 2)", "setattr(own, 'x', note('v', 4))",
    "setattr(note('o', own), note('n', 'x'), note('v', 4))", "setattr(own, name, note('v', 4))", "setattr(own, 5, 1)",
    "setattr(own.b, 'x', 4)", "setattr(slots, 'none', 1)", "setattr(checked, name, 13)", "setattr(own, 'x', (own := other))",
    "template.format(note('a', 1), note('b', 2))", "template.format(1)", "template.format_map({})", "'{0.x}'.format(own)",
    "note('t', template).format(1, 2)", "[each.format(1, 2) for each in (template, '{}', '{1}')]", "own.format",
    "'{a.b.x:>{w}}'.format(a=own, w=5)", "Text('{}').format(1)", "(lambda each: each._y)(own)", "'{'.format(1)",
    "(lambda: type(own).__name__)()", "next(each._y for each in table)", "{each._y: type(each).__name__ for each in table[:2]}",
    "(own := other)._y", "[each._y for each in own.b.__class__().items] if 0 else 1", "[q._y for p in table for q in [p.b]]",
    "(lambda own: [own._y for _ in '12'])(other)", "(own if 0 else own.b)._y",
    "[p.b._y for p in table if p.b._y]", "getattr((name := 'b'), name, 0)", "getattr([name := 'b', own][1], name).x",
    "type(own).__doc__", "type(note('o', own)).__qualname__", "type(own.missing).__name__", "type(unknown).__name__",
    "[type(each).__name__ for each in (Own, int, len, log.append, type)]", "(lambda each: type(each).__name__)(slots)",
    "type(type(own)).__name__", "type(*[own]).__name__", "type(checked).__module__",
    "[(lambda type: type(own).__name__)(each) for each in (type, lambda own: note)]",
    "own.b._y if own.x == 99 else 0", "own.x if own.x == 1 else own.b._y", "own.x == 1 and own.b._y", "own.x == 99 < own.b._y",
]  # fmt: skip
RECORD = "[repr(each) if type(each) in (int, str, list, dict, bool) else getattr(each, 'x', None) for each in (own, other)]"


def _indented(source: str, by: int = 4) -> str:
    return "".join(" " * by + line + "\n" for line in source.splitlines())


#: Where a statement may stand. Variables are those of the function in most of them, of the module in others.
PLACES = {
    "module": "{body}",
    "loop at the top": "for round in range(3):\n{inner}",
    "function": "def go():\n    global log, Own, Slots, Checked\n{setup}{inner}go()",
    "function of globals": "def go():\n{inner}go()",
    "loop": "def go():\n    global log, Own, Slots, Checked\n{setup}    for round in range(3):\n{deeper}go()",
    "generator": "def go():\n    global log, Own, Slots, Checked\n{setup}{inner}    yield 1\nlist(go())",
    "parameters": "def go(own, other, slots, checked, table, name, template, values):\n{inner}"
    "go(own, other, slots, checked, table, name, template, values)",
    "closure": "def go():\n    global log, Own, Slots, Checked\n{setup}    def inner():\n        nonlocal own, other, name\n"
    "{deeper}    inner()\ngo()",
    "class": "class Body:\n    for round in range(2):\n{deeper}",
    "method": "class Body:\n    def go(self, own, other):\n{deeper}Body().go(own, other)",
    "coroutine": "import asyncio\nasync def go():\n    global log, Own, Slots, Checked\n{setup}{inner}asyncio.run(go())",
}


def _outcome(run: Callable[[str], object], source: str, space: dict[str, Any]) -> str:
    """What `source` wrote down after SETUP, and the class and text of its exception."""
    failed: object = None
    try:
        run(SETUP)
        run(source)
    except Exception as error:
        failed = type(error).__name__, str(error)
    seen = [each if type(each) in (int, str, list, bool) else type(each).__name__ for each in space["log"]]
    return re.sub(r" at 0x[0-9a-f]+", "", repr((seen, failed)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("tried", [STATEMENTS, EXPRESSIONS], ids=["statements", "expressions"])
def test_a_cell_does_what_python_does(place: str, tried: list[str]) -> None:
    session = Session()
    space: dict[str, Any] = {"__name__": "__main__"}
    for each in tried:
        body = each if tried is STATEMENTS else f"log.append(repr({each}))"
        body = body.replace("; ", "\n") + f"\nlog.append({RECORD})\n"
        setup = SETUP.replace("log = []\n", "", 1)
        source = PLACES[place].format(body=body, inner=_indented(body), deeper=_indented(body, 8), setup=_indented(setup))
        cell = _outcome(session.run, source, session.space)
        assert cell == _outcome(lambda text: _plain(text, space), source, space), each


def _plain(source: str, space: dict[str, Any]) -> None:
    exec(compile(source, "<cell>", "exec", dont_inherit=True), space)


#: Where other code binds what was tested, before it is used: a generator's `finally`, which a collection runs.
REBOUND = """
from fractions import Fraction
class Own:
    pass
{names} = Own()
def late():
    global p, Own
    try:
        yield
    finally:
        p = Fraction
def go():
    {local}
    waiting = late()
    next(waiting)
    cycle = [waiting]
    cycle.append(cycle)
    del waiting, cycle
    {use}
{run}
"""
USES = ["p.evil = [{lists}]", "p._evil = [{lists}]", "p.b = [{lists}]; p.evil = 1", "[[{lists}], p._denominator]"]


@pytest.mark.attack("language")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", ["top", "global", "closure"])
def test_nothing_is_bound_between_a_test_and_its_use(place: str, use: str) -> None:
    """From Python 3.12 on, a call may begin a collection: the class of `p` was tested, and then `p` was another."""
    for count in range(1, 1_400, 97 if sys.version_info < (3, 12) else 7):
        session = Session()
        line = use.format(lists=",".join(["[]"] * count))
        if place == "top":
            source = REBOUND.format(names="p", local="pass", use="pass", run="go()\n" + line)
        elif place == "closure":
            source = REBOUND.format(names="q", local="p = q", use=line, run="go()").replace(
                "def late():\n    global p, Own\n    try:\n        yield\n    finally:\n        p = Fraction\ndef go():\n    p = q\n",
                "def go():\n    p = q\n    def late():\n        nonlocal p\n        try:\n            yield\n        finally:\n"
                "            p = Fraction\n",
            )
        else:
            source = REBOUND.format(names="p", local="pass", use=line, run="go()")
        session.outcome(source)
        for name in ("evil", "_evil", "b"):
            assert name not in vars(fractions.Fraction), count


#: What binds a name between the choice of a builtin and the look at its arguments.
REBINDING = """
def f(n):
    return getattr((n := '__globals__', f)[1], n)
f('x')
loot = f('x')
---
def f(n, o):
    setattr(o, n, (n := '__class__'))
    return getattr([n := '__dict__', o][1], n, None)
class C: pass
f('x', C())
loot = f('x', print)
---
loot = [getattr((n := '__globals__') and print, n) for n in ('x',)]
---
def f(n='__globals__'):
    return [getattr(print, n, None) for n in ('x', n)]
loot = f()[1]
---
class Lie(str):
    def __hash__(self): return hash('x')
    def __eq__(self, other): return True
getattr(print, 'x', None)
def f(n): return getattr(f, n, None)
loot = f(Lie('__globals__'))
---
class Lie(str):
    def __hash__(self): return hash('{}')
    def __eq__(self, other): return True
class C: pass
'{}'.format(1)
t = '{}'
t.format(1)
def f(t): return t.format(print)
loot = f(Lie('{0.__globals__}'))
---
type = 5
del type
loot = type(type(print))
---
def f(type=type): return type(type(type))
loot = f()
---
def f(): return [type(k) for k in (print, type, f, 1)], (lambda k: type(k))(f), {k.__class__ for k in (int, f)}
loot = f()
---
loot = (lambda kind: kind.__class__)(int)
---
loot = type(int)('X', (), {})
---
loot = int.__class__.__class__('X', (), {})
---
def f(x):
    x.b = 1
class C: pass
f(C())
f(print)
loot = print.b
---
def f(p):
    for p.x in (1, 2): pass
import json
f(json)
loot = json.x
---
def f(xs):
    for x in xs:
        x.loot = 'won'
class C: pass
import json
try: f([C(), C(), json.JSONEncoder])
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(xs):
    x = C()
    for each in xs:
        x.loot = 'won'
        [x := each for _ in '1']
class C: pass
import json
try: f([json.JSONEncoder, 1])
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(y):
    x = C()
    for each in (1, 2):
        x.loot = 'won'
        x = y
class C: pass
import json
try: f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(y):
    x = C()
    def g():
        nonlocal x
        x = y
    for each in (1, 2):
        x.loot = 'won'
        g()
class C: pass
import json
try: f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(y):
    x = C()
    for each in (1, 2):
        x.loot = 'won'
        match y:
            case x: pass
class C: pass
import json
try: f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
import json
class C:
    def f(self, __p, y):
        _C__p = y
        __p.loot = 'won'
try: C().f(C(), json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
import json
class C:
    def f(self, _C__p, y):
        __p = y
        _C__p.loot = 'won'
try: C().f(C(), json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
import json
class C:
    def f(self, y):
        __p = C()
        for each in (1, 2):
            __p.loot = 'won'
            _C__p = y
try: C().f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
k = 'x'
getattr(f := lambda: 1, k, None)
class C:
    def f(self, __n):
        class D:
            @property
            def b(self):
                nonlocal _C__n
                _C__n = '__globals__'
                return f
        d = D()
        return getattr(d.b, __n, None)
loot = C().f('x')
---
n = 'x'
getattr(f := lambda: 1, n, None)
class D:
    @property
    def b(self):
        globals()['n'] = '__globals__'
        return f
def g(d):
    (n): str
    return getattr(d.b, n, None)
loot = g(D())
---
class T(str): pass
class A: __doc__ = 'text'
class B: __doc__ = T('text')
class C: __doc__ = A.__doc__
def f():
    found = []
    for kind in (A, B, A, C, B, B, A):
        found += [kind.__doc__, type(kind()).__doc__]
    return found
loot = [text for text in f() if type(text) is not str]
loot = print.__globals__ if loot else None
---
getattr(print, 'x', None)
def f(n):
    found = []
    for each in (1, 2):
        found.append(getattr(f, n, None))
        n = '__globals__'
    return found
loot = f('x')[1]
---
getattr(print, 'x', None)
def f():
    found = []
    n, m = 'x', 1
    for each in ('__globals__', '__globals__'):
        found.append(getattr(f, n, None))
        [n := each for _ in '1']
    return found
loot = f()[1]
---
getattr(print, 'x', None)
def f(n):
    def g():
        nonlocal n
        n = '__globals__'
    found = []
    for each in (1, 2):
        found.append(getattr(f, n, None))
        g()
    return found
loot = f('x')[1]
---
getattr(print, 'x', None)
def f():
    return [getattr(f, n, None) for n in ('x', 'x', '__globals__')]
def g():
    found = []
    for n in ('x', 'x', '__globals__'):
        found.append(getattr(f, n, None))
    return found
loot = f() + g()
---
class Lie(str):
    def __hash__(self): return hash('x')
    def __eq__(self, other): return True
getattr(print, 'x', None)
def f(n, m):
    found = []
    for each in (1, 2):
        found += [getattr(f, n, None), getattr(f, m, None)]
    return found
loot = f('x', Lie('__globals__'))
---
def f(xs):
    for x in xs:
        setattr(x, 'loot', 'won')
class C: pass
import json
try: f([C(), C(), json.JSONEncoder])
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(y):
    x, z = C(), C()
    for each in (1, 2):
        x.loot = z.loot = 'won'
        [x := y for _ in '1']
        z = y
class C: pass
import json
try: f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f(y):
    (x, [z]), x = (C(), [C()]), y
    for each in (1, 2):
        x.loot = z.loot = 'won'
class C: pass
import json
try: f(json.JSONEncoder)
except AttributeError: pass
loot = json.JSONEncoder.loot
---
def f():
    found = []
    for k in (C(), C(), int, int, C, f, C(), print, type(int)):
        found.append(type(k))
    return found
class C: pass
loot = f()
---
def f(type=type):
    found = []
    for k in (int, int, f):
        found.append(type(k))
        type = type(int)
    return found
loot = f()
---
def f(**options):
    found = []
    for k in (1, int, f):
        found += [type(k), options]
    return [each for each in found if type(each).__name__ != 'dict']
loot = f(**{'<near type>': print, '<last kind>': type(f), '<near original type>': len})
""".split("---\n")


@pytest.mark.attack("language")
@pytest.mark.parametrize("source", REBINDING)
def test_attack_on_what_is_compiled_otherwise_loses(source: str) -> None:
    session = Session()
    session.outcome(source)
    loot = session.space.get("loot")
    for each in loot if type(loot) in (list, tuple) else [loot]:
        assert not is_loot(each)
        assert each is not type and type(each) not in (types.FunctionType, dict)
        assert not isinstance(each, type) or each.__name__ != "X"
    assert "loot" not in vars(json.JSONEncoder)


def test_what_is_compiled_in_is_hidden() -> None:
    source = """
class Own:
    _x = 1
def go(own, values):
    kept = own
    local = Own()
    for each in values:
        kept.b = each
        local.x = [type(v).__name__ for v in values]
        values[0].x = getattr(own, 'x', 1)
        each.__class__
    return sorted(locals()), sorted(vars()), dir()
class Body:
    own = Own()
    own.x = type(own).__name__
    own.b = own
    own.b.x = own.__class__
print(go(Own(), [Own()])[0], {tuple(each) for each in go(Own(), [Own()])} == {('each', 'kept', 'local', 'own', 'values')})
print([name for name in vars(Body) if not name.startswith('__')], [n for n in globals() if '<' in n], [n for n in dir() if '<' in n])
"""
    assert Session().run(source) == "['each', 'kept', 'local', 'own', 'values'] True\n['own'] [] []\n"


def test_texts_of_the_class_of_a_class_are_those_of_python() -> None:
    source = """
import abc, enum, typing
class A(abc.ABC): pass
class E(enum.Enum): x = 1
class P(typing.Protocol): pass
for each in (A, E, E.x, P, int, len, lambda: 0):
    print(type(each).__name__, type(each).__qualname__, type(each).__module__, [type(k).__name__ for k in (each, A)])
print((lambda k: type(k).__name__)(E), type(E if A else 0).__module__)
"""
    assert Session().run(source) == plain(source)[0]


def test_annotations_that_are_texts_are_as_they_were_written() -> None:
    source = """
from __future__ import annotations
class C:
    a: type(None)
    def f(self, x: getattr(int, 'real'), *y: x.a._b) -> type(x).__name__:
        z: x._y = 1
        self.z: type(x) = 2
        return z
print(*C.__annotations__.values(), *C.f.__annotations__.values(), C().f(1), sep=', ')
"""
    assert Session().run(source) == "type(None), getattr(int, 'real'), x.a._b, type(x).__name__, 1\n"
    assert Session().outcome(source.replace("x._y", "x.__globals__")) == "dunder-attribute"


def test_held_objects_are_local_and_shared_with_no_function() -> None:
    codes = [compiler.compile_cell(SETUP + text, **LIMITS) for text in (place.format(
        body="pass", inner=_indented(body), deeper=_indented(body, 8), setup=_indented(SETUP)
    ) for place in PLACES.values() for body in ("\n".join(STATEMENTS[:9]), "\n".join(EXPRESSIONS)))]  # fmt: skip
    codes.append(compiler.compile_cell("def go(own, name):\n    for each in own:\n        getattr(each, name)", **LIMITS))
    held = {names.HELD, names.KIND, names.LAST, names.LAST_KIND, names.LAST_TEXT, "<name is askable>"}
    held |= {names.near(each) for each in (names.TYPE, *names.ORIGINAL.values(), *names.NATIVE.values())}
    seen = set()
    while codes:
        code = codes.pop()
        seen |= held & set(code.co_varnames)
        assert not held & {*code.co_names, *code.co_cellvars, *code.co_freevars}
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    assert seen == held


def test_a_held_object_is_let_go_of() -> None:
    source = """
class Own: pass
def ends(name):
    try:
        yield
    finally:
        print('end', name)
def go():
    held = [Own(), Own()]
    for number, each in enumerate(held):
        each.end = ends(number)
        next(each.end)
    del each
    held[0].x = 1
    held[1].x = 1
    held[1].x += 1
    held[0]._y = 1
    y = held[1]._y if held[0].x == 9 else held[1].x
    held[0].x == 1 and held[1].end
    held[0].x == 1 and held[0]._y
    held.clear()
    print('cleared')
go()
"""
    assert Session().run(source) == "end 1\nend 0\ncleared\n"


def test_what_is_kept_is_bounded() -> None:
    session = Session()
    session.run(
        "class C: pass\nc = C()\nfor i in range(3_000):\n    getattr(c, f'a{i}', 0), hasattr(c, f'b{i}')\n"
        "    setattr(c, f'c{i}', 0)\n    text = '{}' + str(i)\n    text.format(1)\n    type(type('x', (), {}) if 0 else i)\n"
        "getattr(c, 'x' * 200, 0)\n('{}' + 'x' * 5_000).format(1)\n"
        "for i in range(3_000):\n    class Each: pass\n    type(Each())"
    )
    table = vars(session.space["__builtins__"])
    assert 900 < len(table[names.ASKABLE]) <= 1_000
    assert max(map(len, table[names.ASKABLE])) <= 100
    assert 900 < len(table[names.KINDS]) <= 1_000
    assert 0 < len(formatting.public_templates) <= 256
    assert max(map(len, formatting.public_templates)) <= 2_000


def test_what_is_taken_for_a_local_variable_is_checked_in_what_python_made_of_it() -> None:
    code = compiler.compile_cell("def f(p, k):\n    return getattr(p, k)", source_bytes=1000, ast_nodes=1000)
    (function,) = (each for each in code.co_consts if type(each) is types.CodeType)
    assert {inlined.mark_of("p"), inlined.mark_of("k")} <= {*function.co_varnames}
    assert inlined.relied_on(code)
    other = function.replace(co_varnames=tuple("q" if name == "k" else name for name in function.co_varnames))
    assert not inlined.relied_on(code.replace(co_consts=(other,)))


def test_a_cell_whose_names_python_reads_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlined, "relied_on", lambda code: False)
    with pytest.raises(compiler.CellRefused) as refused:
        compiler.compile_cell("x = 1", source_bytes=1000, ast_nodes=1000)
    assert refused.value.rule == "too-complex"
