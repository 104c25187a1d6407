"""Hooks of a cell's own classes: whatever builtins and facades do with such an object, its hooks see nothing new."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import pytest

from rlm_secure.guest.language import facades, names

from .cells import Session, is_loot

#: Every data-model method that a class may define, each keeping what it is handed.
RECORDER = "\n".join(
    [
        "seen = []",
        "class Base:\n    def __init_subclass__(cls, **options):\n        seen.append(cls)\n        seen.append(options)",
        "class Recorder(Base, mark=1):",
        "    steps = 0",
        *(
            f"    def {name}(self, *values, **options):\n        seen.extend(values)\n        seen.append(options)\n"
            f"        return {answer}"
            for name, answer in {
                **dict.fromkeys(sorted(names.OPERATORS - {"__init__", "__post_init__"}), "self"),
                "__repr__": "'r'", "__str__": "'r'", "__format__": "'r'", "__bytes__": "b'r'", "__hash__": "7",
                "__bool__": "True", "__len__": "2", "__length_hint__": "2", "__contains__": "True", "__int__": "3",
                "__float__": "3.0", "__complex__": "3j", "__index__": "3", "__dir__": "['a']", "__sizeof__": "1",
                "__eq__": "False", "__lt__": "True", "__exit__": "True", "__getitem__": "self._item(values)",
                "__next__": "self._item(values)", "__set_name__": "None",
            }.items()
        ),
        "    def _item(self, values):\n        Recorder.steps += 1\n        if Recorder.steps % 5:\n            return 'x'\n        raise IndexError if values else StopIteration",
        "    def keys(self):\n        return ['x']",
        "    def read(self, *values):\n        return 'x'",
        "    def write(self, *values):\n        seen.extend(values)",
        "    def __getattr__(self, name):\n        seen.append(name)\n        raise AttributeError(name)",
        "    def __setattr__(self, name, value):\n        seen.append(name)\n        seen.append(value)",
        "    def __delattr__(self, name):\n        seen.append(name)",
        "    def __get__(self, *values):\n        seen.extend(values)\n        return self",
        "    def __set__(self, *values):\n        seen.extend(values)",
        "    def __delete__(self, *values):\n        seen.extend(values)",
        "    def __call__(self, *values, **options):\n        seen.extend(values)\n        seen.append(options)\n        return 'x'",
        "    @classmethod\n    def __class_getitem__(cls, item):\n        seen.append(item)\n        return cls",
        "r = Recorder()",
    ]
)  # fmt: skip

HELPERS = """
def tried(function):
    for call in (
        lambda: function(r), lambda: function(r, r), lambda: function('x', r), lambda: function(r, 'x'), lambda: function(r, 1),
        lambda: function([r, r]), lambda: function(r, [1, 2]), lambda: function(r, r, r), lambda: function({'x': r}),
        lambda: function(Recorder), lambda: function(Recorder, r), lambda: function(r, Recorder), lambda: function(key=r),
        lambda: function(function(r)), lambda: function(r)(r), lambda: function(*[r, r]), lambda: function(**{'x': r}),
    ):
        try:
            made = call()
        except Exception as error:
            seen.append(error.args)
            continue
        seen.append(made)
        for take in (lambda: next(made), lambda: [x for _, x in zip(range(5), made)], lambda: made(r), lambda: str(made), lambda: made == r):
            try:
                seen.append(take())
            except Exception:
                pass
"""

#: Functions that end only with the wall clock when an object never ends, or that wait; and one that ends the cell.
ENDLESS = {"itertools": {"count", "cycle", "repeat"}, "time": {"sleep"}, "builtins": {"input"}, "sys": {"exit"}}


class _Late(BaseException):
    """One function took more than a second."""


def _harmless(value: Any, depth: int = 2) -> bool:
    if is_loot(value):
        return False
    if depth and type(value) in (list, tuple, dict, set, frozenset):
        items = list(value.items() if type(value) is dict else value)
        return all(_harmless(item, depth - 1) for item in items[:50])
    return True


def _exercise(session: Session, expression: str) -> None:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        session.run(f"del seen[:]\ntried({expression})")
    except (_Late, SystemExit):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("module", ["builtins", *sorted(facades.NAMES)])
def test_hooks_are_handed_nothing_forbidden(module: str) -> None:
    session = Session()
    session.run(RECORDER)
    session.run(HELPERS)
    if module == "builtins":
        offered = [
            name for name in vars(session.space["__builtins__"]) if name.isidentifier() and name != "__build_class__"
        ]
    else:
        session.run(f"import {module} as module")
        offered = [f"module.{name}" for name in dir(facades.load(module))]
    tried = 0
    for expression in offered:
        if expression.removeprefix("module.") in ENDLESS.get(module, ()):
            continue
        _exercise(session, expression)
        tried += len(session.space["seen"])
        bad = [value for value in session.space["seen"] if not _harmless(value)]
        assert bad == [], f"{module} {expression}"
    assert tried or not offered


@pytest.mark.parametrize(
    "source",
    [
        "class Owned:\n    a = Recorder()\nOwned.a\nOwned().a\nOwned().a = 1\ndel Owned().a",
        "Recorder[int]\nclass Child(Recorder, flag=2): pass",
        "match r:\n    case Recorder(x=1): pass\n    case {'x': y}: pass\n    case [a, b]: pass",
        "with r as s: raise ValueError('x')\nfor x in r: pass\nx in r\nr + r\nr < r\nf'{r:>5}'\n'{}'.format(r)\nr[1:2]\nr.nothing",
        "try:\n    raise r\nexcept TypeError: pass\nprint(r, file=r)\nr.x = 1\ndel r.x\n[*r]\n{**r}\nr(*r, **r)",
    ],
)  # fmt: skip
def test_hooks_of_the_language_are_handed_nothing_forbidden(source: str) -> None:
    session = Session()
    session.run(RECORDER)
    for line in [source, *source.splitlines()]:
        session.outcome(line)
    seen = session.space["seen"]
    assert seen
    assert [value for value in seen if not _harmless(value)] == []


def test_an_exit_hook_sees_a_traceback_that_it_cannot_open() -> None:
    session = Session()
    session.run(
        "class C:\n    def __enter__(self): return self\n    def __exit__(self, kind, error, tb):\n        self.tb = tb\n"
        "        return True\nc = C()\nwith c: 1 / 0\nt = c.tb"
    )
    for source in (
        "t.tb_frame", "t.tb_next", "getattr(t, 'tb_frame')", "'{0.tb_frame}'.format(t)", "vars(t)", "t.__class__(None, 1, 1, 1)", "t.__mro__", "t.x = 1",
        "match t:\n    case object(tb_frame=f): pass", "import operator\noperator.attrgetter('tb_frame')(t)",
        "import copy\ncopy.copy(t)", "import copy\ncopy.deepcopy(t)", "type(t)(None, 1, 1, 1)", "t.tb_lasti = 1", "t.tb_next = t",
    ):  # fmt: skip
        assert session.outcome(source) != "ran", source
