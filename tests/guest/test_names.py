"""What an attacker finds in attributes of the interpreter and in namespaces that honest cells may read."""

from __future__ import annotations

import types

import pytest

from rlm_secure.guest.language import classes, facades, names, registry
from rlm_secure.guest.language.violations import RuleViolation

from .cells import Session, is_loot
from .walk import complaint, walk


def _value(source: str) -> object:
    session = Session()
    session.run(source)
    return session.space["x"]


HIDDEN = {
    "a name that a facade lacks": "try:\n    from math import nothing\nexcept ImportError as e:\n    x = e.__context__",
    "a refusal's own context": "try:\n    open('x')\nexcept OSError as e:\n    x = e.__context__, e.__cause__",
    "a date": "import datetime\ntry:\n    datetime.datetime.strptime('x', '%Y')\nexcept ValueError as e:\n    x = e.__context__",
    "an enum": "import enum\nclass E(enum.Enum):\n    A = 1\ntry:\n    E(5)\nexcept ValueError as e:\n    x = e.__context__",
    "in a class with its own names": (
        "class E(Exception):\n    def __getattr__(self, name):\n        return 1\ntry:\n    try:\n        import subprocess\n"
        "    except ImportError as e:\n        raise E from e\nexcept E as e:\n    x = e.__cause__.__context__"
    ),
}


@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN)
def test_the_chain_of_an_exception_ends_where_no_cell_could_have_caught_it(source: str) -> None:
    assert _value(source) in (None, (None, None))


def test_the_chain_of_an_exception_shows_what_passed_through_a_cell() -> None:
    """Even where library code was between: the cell's function could have caught it as well."""
    source = (
        "import functools\ndef f(a, b): raise KeyError(1)\ntry:\n    try:\n        functools.reduce(f, [1, 2])\n"
        "    finally:\n        [][1]\nexcept IndexError as e:\n    x = e.__context__"
    )
    assert type(_value(source)) is KeyError


def test_only_an_exception_has_a_chain() -> None:
    session = Session()
    session.run("class A:\n    def __getattr__(self, name): return name")
    for name in sorted(names.OF_EXCEPTIONS):
        for value in ("ValueError", "A()", "(5)", "A"):
            assert session.outcome(f"{value}.{name}") == "dunder-attribute", (name, value)


@pytest.mark.parametrize("module", sorted(facades.NAMES))
def test_the_bases_of_every_class_are_offered_classes_and_stand_ins(module: str) -> None:
    session = Session()
    session.run(
        f"import {module} as m\nx = []\nfor name in dir(m):\n    kind = getattr(m, name)\n    if isinstance(kind, type):\n"
        "        x.append((kind.__mro__[1:], kind.__bases__, kind.__base__, tuple(kind.mro()[1:]), kind.__class__))"
    )
    found = dict(walk({"x": session.space["x"]}, {}, depth=3))
    assert {path: why for path, value in found.items() if (why := complaint(value, {}))} == {}
    for listed in session.space["x"]:
        for kind in (*listed[0], *listed[1], *listed[3]):
            assert kind in classes._OFFERED or type(kind) is classes._StandIn or registry.own_class(kind)


def test_a_stand_in_makes_nothing_and_tells_its_instances() -> None:
    session = Session()
    assert session.run("k = ValueError.__mro__[-2]\nprint(k.__name__, isinstance(KeyError(), k), k.__mro__[0] is k)") == (
        "BaseException True True\n"
    )
    assert session.outcome("k('x')") == "type-call"
    assert session.outcome("class A(k): pass") == "class-base"
    assert session.outcome("k.x = 1") == "attribute-store"


def test_the_variables_that_a_cell_lists_are_copies_without_guards() -> None:
    session = Session()
    session.run(
        "def f(o):\n    o.x = 1\n    match o:\n        case A(): pass\n    return locals(), vars(), dir()\nclass A:\n"
        "    def m(self):\n        super()\n        return locals()\n    shown = locals()\n"
        "x = [globals(), locals(), vars(), dict.fromkeys(dir()), *f(A()), A().m(), A.shown]"
    )
    for listed in session.space["x"]:
        assert not is_loot(listed)
        for name in listed:
            assert name == "__name__" or (name.isidentifier() and not names.is_dunder(name)), name
    session.run("for each in x:\n    if type(each) is dict:\n        each.clear()\n        each['x'] = each['<store>'] = 5")
    assert "f" in session.space
    assert "<store>" not in session.space
    assert session.outcome("A().x = 1") == "ran"


def test_variables_of_code_outside_cells_are_not_listed() -> None:
    session = Session()
    for call in ("locals", "vars", "dir"):
        assert session.outcome(
            f"from dataclasses import dataclass, field\n@dataclass\nclass D:\n    x: object = field(default_factory={call})\nD()"
        ) == "removed-builtin"  # fmt: skip
        assert session.outcome(f"next(iter({call}, 0))") == "removed-builtin"


def test_attributes_of_functions_are_read_as_copies() -> None:
    session = Session()
    session.run("def f(*, a=1): pass\nf.n = 1\nvars(f)['__wrapped__'] = f\nf.__dict__.clear()\nf.__kwdefaults__['a'] = 2")
    assert vars(session.space["f"]) == {"n": 1}
    assert session.space["f"].__kwdefaults__ == {"a": 1}
    session.space["foreign"] = test_attributes_of_functions_are_read_as_copies
    for name in ("__dict__", "__defaults__", "__kwdefaults__", "__annotations__"):
        assert session.outcome(f"foreign.{name}") == "dunder-attribute"


def test_lists_of_names_are_the_cell_s_own() -> None:
    session = Session()
    assert session.run("class A:\n    __slots__ = ['a']\nA.__slots__.append('b')\nprint(A.__slots__)") == "['a']\n"
    session.run("import decimal, dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\nD.__dataclass_fields__.clear()")
    assert session.run("print(D(1), list(D.__dataclass_fields__))") == "D(a=1) ['a']\n"
    for source in ("decimal.Decimal.__slots__", "decimal.Decimal(1).__slots__", "(5).__match_args__"):
        assert session.outcome(source) == "dunder-attribute"
    assert session.outcome("class P(property): pass") == "class-base"
    assert session.outcome("class B:\n    __slots__ = property(lambda self: 1)\nB.__slots__") != "ran"


def test_methods_by_name_are_only_those_that_an_operator_calls_in_the_same_way() -> None:
    assert names.AS_OPERATORS < names.OPERATORS
    for name in ("__init__", "__exit__", "__format__", "__setitem__", "__dir__", "__copy__", "__deepcopy__", "__missing__"):
        assert name not in names.AS_OPERATORS
    session = Session()
    session.run("import contextlib, pprint\ns = contextlib.ExitStack()\np = pprint.PrettyPrinter()")
    for source in ("s.__exit__", "s.__init__", "p.__init__", "contextlib.ExitStack.__call__", "super(int, 5).__format__"):
        assert session.outcome(f"x = {source}") in ("dunder-attribute", "ran"), source
    assert session.outcome("s.__exit__(1, 2, 3)") == "dunder-attribute"
    assert session.outcome("p.__init__(stream=s)") == "dunder-attribute"


def test_a_star_import_binds_what_the_facade_has_and_no_more() -> None:
    session = Session(frozenset({"collections", "math", "urllib.parse"}))
    session.run("1")
    before = set(session.space)
    session.run("from collections import *\nfrom math import *\nfrom urllib import *\nfrom urllib.parse import *")
    bound = session.space.keys() - before
    assert {"Counter", "sqrt", "quote"} <= bound
    offered = {name for module in ("collections", "math", "urllib.parse") for name in dir(facades.load(module))}
    assert bound <= offered | {"UserDict", "UserList", "UserString"}
    assert not any(isinstance(session.space[name], facades.Facade | types.ModuleType) for name in bound)
    assert session.outcome("from json import *") == "import-module"
    assert session.outcome("from os import *") == "import-module"
    for name in bound:
        assert not names.is_dunder(name)
        assert name.isidentifier()


@pytest.mark.parametrize("binding", ["{} = 1", "def {}(): pass", "class {}: pass", "import json as {}", "[{} := 1]"])
@pytest.mark.parametrize("name", ["__build_class__", "__import__", "__builtins__", "__class__", "__name__", "__del__"])
def test_a_function_binds_no_name_that_the_interpreter_looks_up(binding: str, name: str) -> None:
    assert Session().outcome(f"def f():\n    {binding.format(name)}\nf()") == "dunder-name"


def test_a_template_reads_private_names_by_the_rules_of_a_dot() -> None:
    session = Session()
    session.run(
        "import pprint, decimal\nclass A:\n    def __init__(self): self._x = decimal.Context()\na = A()\nq = pprint.PrettyPrinter()"
    )
    for template, rule in {
        "{0._stream}": "private-attribute",
        "{1._x}{0._stream}": "private-attribute",
        "{1._x:{0._stream}}": "private-attribute",
        "{1._x.flags}": "format-attribute",
        "{1._x}{0.format}": "format-attribute",
        "{1._x}{0.obj}": "format-attribute",
        "{1._x}{0.__init__}": "format-attribute",
        "{1._x}{0.__cause__}": "format-attribute",
        "{1._x}{0.gi_frame}": "format-attribute",
        "{1.__class__.__subclasses__}": "format-attribute",
        "{0.__dict__}": "dunder-attribute",
        "{1.__class__.__mro__[0].__dict__[_x]}": "KeyError",
    }.items():
        assert session.outcome(f"'{template}'.format(q, a)") == rule, template
        assert session.outcome(f"t = '{template}'\nt.format(q, a)") == rule, template
        assert session.outcome(f"str.format('{template}', q, a)") == rule, template


def test_a_default_hides_a_refusal_only_where_the_attribute_was_refused() -> None:
    session = Session()
    session.run("class A:\n    @property\n    def x(self): return open('x')\n    @property\n    def y(self): return 1 / 0")
    with pytest.raises(RuleViolation, match="removed-builtin"):
        session.run("getattr(A(), 'x', None)")
    assert session.outcome("getattr(A(), 'y', None)") == "ZeroDivisionError"
    assert session.outcome("getattr(A(), 'x', 1, 2)") == "TypeError"
    assert session.outcome("hasattr(A(), 5)") == "TypeError"
