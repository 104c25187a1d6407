"""Own classes and functions: by identity, by the exact MRO, by where code was compiled; and what a metaclass gets."""

from __future__ import annotations

import abc
import collections
import dataclasses
import dis
import functools
import io
import pprint
import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.environments.bundle import bundle
from rlm_secure.guest.language import compiler, names, registry
from rlm_secure.guest.language.facades import generated
from rlm_secure.guest.language.violations import RuleViolation
from rlm_secure.guest.session import faults

from .cells import LIMITS, Session, is_loot

CONTROL = "class C:\n    _x = 1\ndef f(): pass\nc = C()\n"


def test_a_class_is_own_by_identity_and_not_by_its_module() -> None:
    session = Session()
    session.run(CONTROL)
    own = session.space["C"]
    foreign = type("C", (), {"__module__": registry.CELL, "_x": 1})
    assert (foreign.__module__, foreign.__name__) == (own.__module__, own.__name__)
    assert registry.own_class(own)
    assert not registry.own_class(foreign)
    session.space["Foreign"] = foreign
    for source in ("Foreign.x = 1", "Foreign()._x", "Foreign.__init__", "class D(Foreign): pass", "vars(Foreign)"):
        assert session.outcome(source) != "ran", source


@pytest.mark.parametrize(
    "source",
    [
        "from collections import namedtuple\nC = namedtuple('C', 'x')",
        "from typing import NamedTuple\nC = NamedTuple('C', [('x', int)])",
        "from typing import NamedTuple\nclass C(NamedTuple):\n    x: int",
        "from typing import TypedDict\nC = TypedDict('C', {'x': int})",
        "from typing import TypedDict\nclass C(TypedDict):\n    x: int",
        "from dataclasses import make_dataclass\nC = make_dataclass('C', ['x'])",
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass C:\n    x: int",
        "from enum import Enum\nC = Enum('C', 'A B')",
        "from enum import IntFlag\nclass C(IntFlag):\n    A = 1",
        "from abc import ABC\nclass C(ABC): pass",
        "from typing import Protocol\nclass C(Protocol): pass",
    ],
)
def test_classes_that_facades_make_are_own(source: str) -> None:
    session = Session()
    session.run(source)
    made = session.space["C"]
    assert registry.own_class(made)
    assert made.__module__ == registry.CELL
    assert not [name for name in vars(made) if not name.isidentifier()]
    assert session.outcome("class D:\n    pass\nC.extra = 1") == "ran"


def test_hooks_of_a_class_in_the_making_see_an_own_class() -> None:
    session = Session()
    session.run(
        "from dataclasses import dataclass\nfrom enum import Enum\n"
        "class Base:\n    def __init_subclass__(cls):\n        cls.made = cls.__name__\n"
        "class Named:\n    def __set_name__(self, owner, name):\n        owner.names = name\n"
        "class A(Base):\n    field = Named()\n"
        "@dataclass(slots=True)\nclass B(Base):\n    x: int\n"
        "class Parent(Enum):\n    def __init_subclass__(cls):\n        cls.extra = 1\n"
        "class Child(Parent):\n    X = 1\nOther = Parent('Other', 'Y')\n"
    )
    assert session.run("print(A.made, A.names, B.made, Child.extra, Other.extra)") == "A field B 1 1\n"


def test_a_function_is_own_when_a_cell_was_compiled_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    session.run(CONTROL + "from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\n")
    worker = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", worker)
    named = types.FunctionType(compile("def g(): pass", "<string>", "exec").co_consts[0], vars(worker))
    compiled = types.FunctionType(named.__code__, session.space)  # globals are right, the code is no cell's
    moved = types.FunctionType(session.space["f"].__code__, vars(worker))  # the other way round
    assert registry.own_function(session.space["f"])
    assert registry.own_function(session.space["f"], session.space)
    for function in (named, compiled, moved, vars(session.space["D"])["__init__"], len):
        assert not registry.own_function(function)
    assert not registry.own_function(session.space["f"], {})


def test_the_worker_has_no_module_that_classes_of_cells_point_to(tmp_path: Path) -> None:
    path = tmp_path / "guest.zip"
    with zipfile.ZipFile(io.BytesIO(bundle().data)) as whole, zipfile.ZipFile(path, "w") as archive:
        for name in whole.namelist():
            if not name.startswith("guest/supervisor/dial.py"):
                archive.writestr(name, whole.read(name))
        archive.writestr(
            "guest/supervisor/dial.py",
            "import sys\ndef main(path): print(sorted(vars(sys.modules['__main__'])), sys.modules['__main__'])\n",
        )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(path), "dial", "x"], capture_output=True, text=True, timeout=150
    )
    empty = sorted(vars(types.ModuleType("__main__")))
    assert done.stdout == f"{empty} <module '__main__'>\n", done.stderr


@pytest.mark.parametrize(
    "source",
    [
        # The second class is made after whatever the first one's hooks did.
        "@dataclass(slots=Flip())\nclass C(Base):\n    x: int = 0\n    y = Named()",
        "@dataclass(slots=True)\nclass C(Base):\n    x: int = 0\n    y = Named()",
        ("class Takes:\n    def __get__(self, instance, owner):\n"
        "        try:\n            delattr(owner, '<registrar>')\n        except AttributeError:\n            return 1\n"
        "@dataclass(slots=True)\nclass C(Base):\n    y = Named()\n    x: int = Takes()"),
        "make_dataclass('C', ['x'], bases=(Base,), slots=True)",
        "make_dataclass('C', [('x', int, Named())], bases=(Base,), slots=Flip())",
        # What an enum takes over from its base stands in its namespace before its body does.
        ("class Next(Named):\n    def __call__(self, *values):\n        return 1\n"
        "class P(Enum):\n    _generate_next_value_ = Next()\nclass C(P):\n    A = 1\n    y = Named()\nC = P('C', 'A')"),
        "class C(Enum):\n    _ignore_ = ['x']\n    _order_ = 'A'\n    x = 1\n    y = Named()\n    A = 1",
    ],
)
def test_no_hook_sees_a_class_before_it_is_registered(source: str) -> None:
    session = Session()
    session.run(
        "from dataclasses import dataclass, make_dataclass\nfrom enum import Enum\nseen = []\n"
        "class Flip:\n    asked = False\n"
        "    def __bool__(self):\n        self.asked, answer = True, self.asked\n        return answer\n"
        "class Named:\n    def __set_name__(self, owner, name):\n        see(owner)\n"
        "    def __get__(self, instance, owner=None):\n        return 1\n"
        "class Base:\n    def __init_subclass__(cls):\n        see(cls)\n"
    )
    seen: list[bool] = []
    session.space["see"] = lambda kind: seen.append(registry.own_class(kind))
    outcome = session.outcome(source)
    assert seen and all(seen), outcome


def test_a_class_whose_bases_are_refused_is_never_registered() -> None:
    session = Session()
    held: list[type] = []
    session.run("class Base:\n    def __init_subclass__(cls):\n        see(cls)\n")
    session.space["see"] = held.append
    own = session.space["Base"]
    for bases in ((own, functools.cached_property), (pprint.PrettyPrinter, own)):
        refused = types.new_class("Refused", bases)
        with pytest.raises(RuleViolation, match="class-base"):
            registry.register(refused)
        assert not registry.own_class(refused)
        with pytest.raises((RuleViolation, RuntimeError)):
            types.new_class("Refused", bases, {}, lambda body: body.update({names.REGISTRAR: registry.registrar(None)}))
        assert not any(registry.own_class(each) for each in held)


def test_the_enums_that_cells_derive_from_are_not_their_own() -> None:
    session = Session()
    for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"):
        assert session.outcome(f"from enum import {name}\n{name}.x = 1") == "attribute-store"


def test_fields_of_a_dataclass_are_what_was_checked() -> None:
    """With a class of fields in hand: it names `x` while the class is decorated, and something else later."""
    session = Session()

    class Changing(dataclasses.Field):  # type: ignore[type-arg]
        __slots__ = ()
        said = "x"
        name = property(lambda self: self.said, lambda self, name: None)  # type: ignore[assignment]

    default = dataclasses.field(default=1)
    session.space["changing"] = Changing(
        *(getattr(default, name) for name in "default default_factory init repr hash compare metadata kw_only".split())
    )
    for default_of_x in ("changing", "Gives()"):
        ran = session.outcome(
            "import dataclasses\nclass Gives:\n    def __get__(self, *values): return changing\n"
            f"@dataclasses.dataclass\nclass C:\n    x: int = {default_of_x}\n"
        )
        assert ran == "TypeError"


def test_functions_of_dataclasses_go_by_what_was_decorated() -> None:
    session = Session()
    printed = session.run(
        "import copy, dataclasses, pprint\n"
        "shared = dataclasses.field(default=1)\n"
        "@dataclasses.dataclass\nclass A:\n    first: int = shared\n"
        "@dataclasses.dataclass\nclass B:\n    second: int = shared\n"
        "@dataclasses.dataclass\nclass C(A):\n    y: int = 2\n    secret: dataclasses.InitVar[int] = 3\n"
        "a, c = A(), C()\nvars(c)['__dataclass_fields__'] = vars(a)['__dataclass_fields__'] = {}\n"
        "print(dataclasses.asdict(a), dataclasses.asdict(c), dataclasses.astuple(c), dataclasses.replace(a, first=5))\n"
        "print([each.name for each in dataclasses.fields(c)], pprint.pformat(c, width=1), dataclasses.asdict(B()))\n"
    )
    assert printed == (
        "{'first': 1} {'first': 1, 'y': 2} (1, 2) A(first=5)\n['first', 'y'] C(first=1,\n  y=2) {'second': 1}\n"
    )


def test_functions_that_dataclasses_generates_find_four_builtins() -> None:
    session = Session()
    session.run("from dataclasses import dataclass\n@dataclass(order=True, frozen=True)\nclass C:\n    x: int = 1")
    made = [each for each in vars(session.space["C"]).values() if type(each) is types.FunctionType]
    generated_ones = [each for each in made if each.__code__.co_filename == "<string>"]
    assert len(generated_ones) >= 8
    for function in generated_ones:
        assert set(function.__builtins__) == {"NotImplemented", "hash", "super", "type"}, function


def test_options_of_a_dataclass_are_plain_names() -> None:
    session = Session()
    session.run("class Key(str): pass\nimport dataclasses, textwrap, re")
    for source in (
        "dataclasses.dataclass(**{Key('slots'): True})",
        "dataclasses.make_dataclass('C', ['x'], **{Key('slots'): True})",
        "textwrap.indent(**{Key('text'): 'a', 'prefix': 'b'})",
        "re.search('a', 'b', **{Key('flags'): 0})",
    ):
        assert session.outcome(source) == "TypeError", source


#: A metaclass in hand, whatever way a cell came by it.
METACLASS = [
    "Meta = Type('Meta', (Type,), {})\nclass C(Meta('B', (), {})): pass",
    "class Meta(Type): pass",
    "class C(metaclass=Type): pass",
    "Type('C', (), {}).x = 1",
    "Type('C', (), {})()._x",
    "C = Type('Meta', (Type,), {})('C', (), {})\nmatch 1:\n    case C(x): pass",
    "C = Type('Meta', (Type,), {'__match_args__': ('x',)})('C', (), {})\nmatch 1:\n    case C(x): pass",
    "C = Type('Meta', (Type,), {'__init__': 1})\nC.__init__",
    "C = Type('Meta', (Type,), {})('C', (), {})\nvars(C)",
    "C = Type('Meta', (Type,), {})('C', (), {})\nC._x",
    "C = Type('Meta', (Type,), {})('C', (), {})\nC().x = 1",
    "import dataclasses\ndataclasses.dataclass(Type('C', (), {'__annotations__': {'x': int}}))",
    "import dataclasses\ndataclasses.make_dataclass('C', ['x'], bases=(Type('C', (), {}),))",
    "import functools\nfunctools.total_ordering(Type('C', (), {'__lt__': 1}))",
    "import typing\ntyping.runtime_checkable(Type('C', (), {}))",
    "import abc\n@abc.abstractmethod\nclass C(Type): pass",
]


@pytest.mark.parametrize("source", METACLASS)
def test_a_metaclass_in_hand_makes_nothing_that_guards_trust(source: str) -> None:
    session = Session()
    session.space["Type"] = type
    assert session.outcome(source) != "ran"


def test_no_class_of_an_unknown_metaclass_is_registered() -> None:
    made: Any = type("Meta", (abc.ABCMeta,), {})("C", (), {})
    with pytest.raises(TypeError):
        registry.register(made)
    assert not registry.is_class(made)
    assert not registry.own_class(made)


@pytest.mark.parametrize(
    "bases",
    [
        "typing.Type[int]", "typing.Type", "type[int]", "typing.Type[int], types.MappingProxyType(Peer())",
        "types.MappingProxyType(Peer())", "types.SimpleNamespace(__mro_entries__=Peer().seen)", "Peer()", "typing.Any",
        "typing.Optional[int]", "typing.NewType('N', int)", "typing.Annotated[int, 1]", "len", "(lambda bases: bases)", "1",
        "typing.TypeVar('T')", "typing.Literal[1]", "type(None)", "type", "typing.Callable[[int], int]", "enum.auto",
        "re.Pattern", "functools.cached_property", "contextlib.ExitStack", "random.Random",
    ],
)  # fmt: skip
def test_a_base_is_asked_nothing_before_it_is_known(bases: str) -> None:
    session = Session()
    session.run(
        "import typing, types, enum, re, functools, contextlib, random\nheld = []\nclass Peer(dict):\n"
        "    def __eq__(self, other):\n        held.append(other)\n        return True\n"
        "    def seen(self, *values):\n        held.extend(values)\n        return ()\n"
        "    def __getattr__(self, name):\n        held.append(name)\n        return self.seen\n"
    )
    ran = session.outcome(f"class C({bases}): pass")
    assert session.space["held"] == []
    if bases != "typing.Callable[[int], int]":  # an alias of collections.abc.Callable, which cells derive from
        assert ran == "class-base"


def test_class_bodies_look_guards_up_in_globals_only() -> None:
    source = (
        "class C:\n    'Text.'\n    import json\n    from json import loads\n    def f(self): pass\n    a = f.__name__\n"
        "    b = json._x\n    json.x = 1\n    f.__name__ = 'g'\n    t = 'x'\n    c = t.format\n    d = open\n"
        "    try: pass\n    except: pass\n    e = [each._y for each in ()]\n"
    )
    module = compiler.compile_cell(source, **LIMITS)
    body = next(each for each in module.co_consts if isinstance(each, types.CodeType))
    loads = [each for each in dis.get_instructions(body) if str(each.argval).startswith("<") and "LOAD" in each.opname]
    assert {each.argval for each in loads if each.opname == "LOAD_NAME"} == {names.REGISTRAR}
    assert {each.argval for each in loads if each.opname == "LOAD_GLOBAL"} <= set(names.IN_BODIES)
    assert len(loads) > 8
    session = Session()
    session.run("class C:\n    'Text.'\n    x = 1")
    assert session.space["C"].__doc__ == "Text."


def test_is_instance_asks_nobody() -> None:
    class Hooked(abc.ABC):  # noqa: B024 - only its registry matters
        @classmethod
        def __subclasshook__(cls, kind: type) -> bool:
            return True

    Hooked.register(int)
    assert isinstance(1, Hooked)
    assert not registry.is_instance(1, Hooked)
    assert not registry.derives(int, Hooked)
    liar: Any = type("Liar", (), {"__class__": property(lambda self: dict)})()
    assert isinstance(liar, dict)
    assert not registry.is_instance(liar, dict)
    assert registry.is_instance(True, int)


def test_stored_runs_no_descriptor() -> None:
    made: Any = type("Made", (), {"x": property(lambda self: 1 / 0)})
    assert type(registry.stored(made, "x")) is property
    assert registry.stored(made, "y", 3) == 3


def test_a_type_that_no_facade_offers_is_a_name_only() -> None:
    session = Session()
    for source in (
        "[].append", "print", "{}.keys()", "iter([])", "(x for x in [])", "vars(C)", "typing.List[int]", "list[int]", "C.f",
        "C().f", "json", "typing.Type", "len", "super(C, C())", "int.real", "typing.TypeVar", "C._abc_impl", "int | str",
    ):  # fmt: skip
        session.space.pop("kind", None)
        session.run("import abc, json, typing\nclass C(abc.ABC):\n    def f(self): pass\n")
        session.run(f"value = {source}\nkind = type(value)\nsame = kind is type(value) and isinstance(value, kind)")
        kind = session.space["kind"]
        assert session.space["same"] is True, source
        assert kind is not type(session.space["value"]) or type(session.space["value"]) in (types.GeneratorType, types.UnionType, types.MappingProxyType, super), source  # fmt: skip
        assert not is_loot(kind)
        assert repr(kind).startswith("<class '")


def test_generated_methods_take_exact_instances_only() -> None:
    session = Session()
    session.run(
        "from dataclasses import dataclass\nfrom collections import namedtuple\nimport functools\n"
        "@dataclass(order=True, frozen=True)\nclass F:\n    x: int\n"
        "@dataclass(slots=True, unsafe_hash=True)\nclass S:\n    x: int\n"
        "@functools.total_ordering\nclass T:\n    def __lt__(self, other): return True\n"
        "N = namedtuple('N', 'x')\nclass Child(F): pass\nchild, record = Child(1), F(2)\n"
    )
    found = 0
    for title in ("F", "S", "T", "N"):
        kind = session.space[title]
        for name, value in vars(kind).items():
            if not generated.generated(value) or name == "__new__":
                continue
            found += 1
            for foreign in (collections.Counter(), len, kind, object()):
                arguments = [foreign, *[1] * (value.__code__.co_argcount - 1)]
                with pytest.raises(TypeError, match="takes its instances"):
                    value(*arguments)
    assert found > 20
    assert session.run("print(child, child < record if type(child) is F else 1, hash(child) == hash((1,)))")


def test_slots_that_would_lie_are_refused_before_any_hook_runs() -> None:
    session = Session()
    session.run("ran = []\nclass Base:\n    def __init_subclass__(cls): ran.append(cls)")
    for name in ("__class__", "__getstate__", "__dataclass_fields__", "__mro_entries__", "__del__"):
        assert session.outcome(f"class C(Base):\n    __slots__ = ['{name}']") == "class-slots", name
    assert session.space["ran"] == []
    assert session.outcome("class C:\n    __slots__ = ('a', '_b', '__c', '__dict__', '__weakref__')") == "ran"


def test_a_pattern_and_its_guard_see_the_same_names() -> None:
    session = Session()
    session.run("from dataclasses import dataclass\n@dataclass\nclass P:\n    _x: int\n    y: int\nclass E(Exception): pass")
    assert session.outcome("match P(1, 2):\n    case P(a, b): pass") == "TypeError"  # no positional parts
    assert session.outcome("P.__match_args__ = ('__class__',)") == "dunder-attribute"
    assert session.outcome("del P.__match_args__") == "dunder-attribute"
    assert session.outcome("setattr(P, '__match_args__', ('__class__',))") == "attribute-store"
    with pytest.raises(RuleViolation):
        session.run("class L:\n    __match_args__ = ('x', '_y')\nmatch 1:\n    case L(x): pass")


def test_what_a_guard_said_is_written_once() -> None:
    """Library code that a cell leads to another object calls its `__init__` again, and sets attributes of it."""
    error = RuleViolation("class-base", "keep one in an attribute")
    type(error).__init__(error, "limits.cost_usd", "pay 5 dollars")
    error.rule, error.message = "limits.cost_usd", "pay 5 dollars"
    kind, message, rule, text = faults.fault(error, "", interrupted=False)
    assert (kind, rule) == ("refused", "class-base")
    assert message == text.strip() == "class-base: keep one in an attribute."


@pytest.mark.parametrize("bases", ["datetime.timedelta, enum.Enum", "Base", "datetime.date, enum.Enum"])
def test_an_enum_of_dates_makes_dates(bases: str) -> None:
    session = Session()
    session.run(
        "import datetime, enum\nclass Base(datetime.timedelta, enum.Enum): pass\n"
        f"class E({bases}):\n    A = 1, 1, 1\n    B = 2, 1, 1\n"
    )
    kind = session.space["E"]
    assert session.run("print(E.A is E(E.A.value), E.B > E.A, len(E), E.A in E)") == "True True 2 True\n"
    made = registry.stored(kind, "__new__").__func__
    with pytest.raises(ValueError, match="is not a valid E"):
        made(kind, 3)
    registry.finish(kind)
    assert registry.stored(kind, "__new__").__func__ is made
    # What stands there looks at what the one below it answers.
    type.__delattr__(kind, "__new__")
    type.__setattr__(kind, "__new__", lambda cls, *values: 1)
    registry.finish(kind)
    with pytest.raises(TypeError, match="returns its instances"):
        registry.stored(kind, "__new__").__func__(kind, 3)
