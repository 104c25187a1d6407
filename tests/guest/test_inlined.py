"""Guards that are compiled into cells: the same results as plain Python, and nothing between a test and its use."""

from __future__ import annotations

import fractions
import itertools
import types

import pytest

from rlm_secure.guest.language import compiler, facades, formatting, names

from .cells import LIMITS, Session, plain

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

class Named:
    def __getattr__(self, name):
        return 5

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
    "own.x += (own := other)._y", "own, own.x = other, 2", "own.x = lambda: own.x", "own.b._y.z = 1",
    "own.x = [each.x for each in table if hasattr(each, 'x')]", "table[0].x, table[1].x = table[1].x, table[0].x",
]  # fmt: skip
EXPRESSIONS = [
    "own._y", "own.b._y", "note('o', own)._y", "table[0].b._y", "own._none", "type(own)", "type(own) is Own", "type(own.b)",
    "type(note('o', own))", "type(type(own))", "[type(each) for each in values]", "type(own).__name__",
    "[type(each).__name__ for each in values]", "[each.__class__.__name__ for each in values]",
    "sorted(values, key=lambda each: type(each).__name__)[0]", "own.__class__", "own.__class__ is type(own)",
    "own.__class__.__name__", "Own.__name__", "Own.__doc__", "Named().__name__", "own.b.__class__.__qualname__",
    "int.__name__", "unknown.__name__", "unknown.__class__", "type(unknown)", "type()", "note.__name__", "type(own.missing)",
    "getattr(own, 'x')", "getattr(own, 'missing')", "getattr(own, 'missing', note('d', 1))",
    "getattr(note('o', own), note('n', 'x'), note('d', 1))", "getattr(own, name)", "getattr(own, name, 3)", "getattr(own)",
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
    "[(each := p)._y for p in table[:2]]", "(lambda own: [own._y for _ in '12'])(other)", "(own if 0 else own.b)._y",
    "[p.b._y for p in table if p.b._y]", "getattr((name := 'b'), name, 0)", "getattr([name := 'b', own][1], name).x",
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


def _outcome(run: object, source: str, space: dict[str, object]) -> tuple[object, ...]:
    """What `source` wrote down, and the class and text of its exception."""
    failed: object = None
    try:
        run(source)  # type: ignore[operator]
    except Exception as error:
        failed = type(error).__name__, str(error)
    seen = [repr(each) if type(each) in (int, str, list, bool) else type(each).__name__ for each in space["log"]]  # type: ignore[attr-defined]
    return seen, failed


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("statement", [*STATEMENTS, *EXPRESSIONS])
def test_a_cell_does_what_python_does(place: str, statement: str) -> None:
    body = statement if statement in STATEMENTS else f"log.append(repr({statement}))"
    if ":=" in body and place == "class" and "for" in body:
        pytest.skip  # noqa: B018
    body = body.replace("\n", "; ") + f"\nlog.append({RECORD})\n"
    setup = SETUP.replace("\nlog = []\n", "\n")
    source = PLACES[place].format(body=body, inner=_indented(body), deeper=_indented(body, 8), setup=_indented(setup))
    session = Session()
    cell = _outcome(lambda text: session.run(text), SETUP + source, session.space)
    space: dict[str, object] = {}
    expected = _outcome(lambda text: _plain(text, space), SETUP + source, space)
    assert _same(cell) == _same(expected)


def _plain(source: str, space: dict[str, object]) -> None:
    space["__name__"] = "__main__"
    exec(compile(source, "<cell>", "exec", dont_inherit=True), space)


def _same(outcome: tuple[object, ...]) -> str:
    import re

    return re.sub(r" at 0x[0-9a-f]+", "", repr(outcome))
