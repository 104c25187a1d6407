"""The guards of the language layer: what attacks get, and what honest cells keep."""

from __future__ import annotations

import builtins
import contextlib
import types
import typing
from typing import Any

import pytest

from rlm_secure.guest.language import classes, guards, names
from rlm_secure.guest.language.violations import RuleViolation, said

from .attacks import ATTACKS
from .cells import Session, is_loot, plain
from .honest import HONEST
from .honest_classes import CLASSES
from .honest_names import NAMES
from .walk import complaint, walk

#: Attacks that run to their end here, because what they do is harmless here: with what they leave in `loot`.
HARMLESS = {
    "attributes/class-of-class": "type",
    "attributes/class-of-own-class": "type",
    "attributes/class-twice": "type",
    "attributes/mro": "type",
    "attributes/class-dict": types.MappingProxyType,
    "attributes/class-dict-vars": types.MappingProxyType,
    "attributes/in-augmented": types.MappingProxyType,
    "attributes/mro-list": "type",
    "strings/getattr-default": None,
    "strings/getattr-mro": "type",
    "strings/getattr-class": "type",
    "strings/vars-of-nothing": dict,
    "builtins/globals": dict,
    "builtins/locals": dict,
    "matches/class-swapped-in-guard": None,
    "classes/type-of-class": "type",
    "classes/type-of-type": "type",
    "classes/type-of-own-class": "type",
    "classes/type-of-enum": "type",
    "classes/type-in-map": "type",
    "classes/type-in-defaultdict": "type",
    "classes/type-by-get-origin": typing.Type,  # noqa: UP006 - the alias itself
    "classes/type-generic-alias": "type",
    "classes/function-type": "function",
    "stores/rename-with-subclass": 0,
}


@pytest.mark.attack("language")
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_wins_as_plain_python(name: str) -> None:
    _, space = plain(ATTACKS[name])
    assert is_loot(space.get("loot")), f"the control of {name} holds {space.get('loot')!r}"


@pytest.mark.attack("language")
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_loses_in_a_cell(name: str) -> None:
    session = Session()
    outcome = session.outcome(ATTACKS[name])
    loot = session.space.get("loot")
    assert not is_loot(loot)
    if name not in HARMLESS:
        assert outcome != "ran"
        return
    assert outcome == "ran"
    expected = HARMLESS[name]
    if isinstance(expected, str):
        assert loot in (classes.Kind, classes.Function)
        assert loot.__name__ == expected
    else:
        assert type(loot) is expected if isinstance(expected, type) else loot == expected


def test_builtins_lead_to_nothing_forbidden() -> None:
    table = vars(Session().space["__builtins__"])
    spelled = {name: value for name, value in table.items() if name.isidentifier()}
    found = {path: complaint(value, {}) for path, value in walk(spelled, {})}
    assert {path: why for path, why in found.items() if why} == {}
    assert len(found) > 500


def test_dir_lists_exact_texts_and_no_closed_name() -> None:
    cell = """
class Named:
    def __dir__(self):
        return [1, 2]
class Text(str):
    pass
class Other:
    def __dir__(self):
        return [Text("a"), "b", "__class__", "__globals__"]
def function():
    pass
print(dir(Named()), dir(Other()), [name for name in ("__globals__", "__code__", "__doc__") if name in dir(function)])
"""
    assert Session().run(cell) == "[] ['__class__', 'b'] ['__doc__']\n"


def test_guards_have_names_that_no_source_can_spell() -> None:
    table = vars(Session().space["__builtins__"])
    hidden = {name for name in table if not name.isidentifier()}
    assert hidden == {
        names.STORE, names.PRIVATE, names.ATTRIBUTE, names.IMPORT, names.IMPORT_FROM, names.IMPORT_ALL, names.REMOVED,
        names.RENAME, names.LOAD, names.OPEN, names.NAMESPACE, names.PATTERN, names.PATTERN_VALUE, names.OPERATED,
        names.CLASSES, names.TYPE, names.EXCEPTION,
        names.SETTABLE, names.TEMPLATES, names.TEXT, names.TEXT_ATTRIBUTE, names.STRING, names.KINDS, names.SEEN,
        names.KIND_OF, names.ASKABLE, *names.ORIGINAL.values(), *names.NATIVE.values(),
        names.REGISTRAR, names.AWAITED, names.RUN_ASYNC, names.ANY_EXCEPTION,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["open", "__import__", "eval", "exec", "compile", "input", "breakpoint", "memoryview", "help", "BaseExceptionGroup"],
)  # fmt: skip
def test_dangerous_builtins_are_absent(name: str) -> None:
    assert name not in vars(Session().space["__builtins__"])


def test_every_other_builtin_is_present_or_has_advice() -> None:
    table = vars(Session().space["__builtins__"])
    missing = {name for name in vars(builtins) if not name.startswith("_")} - set(table) - set(names.REMOVED_BUILTINS)
    # The site module adds the other three.
    assert missing <= {"BaseExceptionGroup", "copyright", "credits", "license"}


@pytest.mark.parametrize("name", names.REMOVED_BUILTINS)
def test_a_removed_builtin_answers_with_what_to_use_instead(name: str) -> None:
    with pytest.raises(RuleViolation) as caught:
        Session().run(f"x = {name}")
    assert caught.value.rule == ("code-from-text" if name in ("exec", "eval") else "removed-builtin")
    assert names.REMOVED_BUILTINS[name] in str(caught.value)


@pytest.mark.parametrize(
    ("source", "caught"),
    [
        ("open('/nowhere/x.csv')", "FileNotFoundError"),
        ("with open('/nowhere/x.csv') as f: pass", "OSError"),
        ("f = open", "IOError"),
        ("input()", "EOFError"),
        ("eval('1 + 1')", "NameError"),
        ("exec('x = 1')", "NameError"),
        ("compile('1', '', 'eval')", "NameError"),
        ("__import__('os')", "ImportError"),
        ("__import__('os')", "ModuleNotFoundError"),
        ("__file__", "NameError"),
        ("import subprocess", "ImportError"),
        ("(5)._y", "AttributeError"),
        ("len.__self__", "AttributeError"),
        ("len.x = 1", "AttributeError"),
        ("setattr([], 'x', 1)", "AttributeError"),
        ("delattr([], 'append')", "AttributeError"),
        ("'{0._y}'.format(1)", "AttributeError"),
        ("'{0.obj}'.format(1)", "AttributeError"),
    ],
)
def test_a_refusal_is_caught_as_what_honest_code_expects(source: str, caught: str) -> None:
    """Only where the cell reaches it, so that its fallback runs."""
    source = source.replace("len.__self__", "getattr(len, '__self__')")
    cell = f"print('before')\ntry:\n    {source}\nexcept {caught} as e:\n    print(type(e).__name__)"
    name = type(getattr(builtins, caught)()).__name__
    expected = {"OSError": "FileNotFoundError", "ImportError": "ModuleNotFoundError"}.get(name, name)
    assert Session().run(cell) == f"before\n{expected}\n"
    with pytest.raises(getattr(builtins, caught)) as raised:
        Session().run(source)
    assert isinstance(raised.value, RuleViolation)
    assert said(raised.value) == (raised.value.rule, raised.value.message)


def test_a_refusal_that_a_cell_made_is_none() -> None:
    """The class that it catches, and what that leads to, only make ordinary exceptions."""
    session = Session()
    session.run("kinds = []\nfor each in ('open', 'input', '__import__', 'eval', 'json.x'):\n    pass")
    for source in ("open", "input", "__import__", "eval", "__file__", "len._y", "import subprocess", "type(1, 2, 3)"):
        session.run(f"try:\n    {source}\nexcept Exception as e:\n    kinds.append(type(e))")
    made = session.run(
        "made = []\nfor kind in kinds:\n    for each in (kind, *kind.__mro__, *kind.__bases__, kind.__base__):\n"
        "        try: made.append(each('r', 'm'))\n        except Exception: pass\nprint(len(kinds), len(made))"
    )
    assert made.startswith("8 ")
    assert len(session.space["made"]) >= 8
    assert not any(said(each) for each in session.space["made"] if isinstance(each, RuleViolation))


@pytest.mark.parametrize("name", ["open", "input", "compile", "help", "exit", "eval", "globals"])
def test_a_cell_may_use_the_name_of_a_removed_builtin(name: str) -> None:
    session = Session()
    session.run(f"{name} = 5")
    assert session.run(f"print({name})") == "5\n"
    assert session.run(f"def f({name}):\n    return {name} + 1\nprint(f(2))") == "3\n"
    assert session.run(f"def g():\n    {name} = 7\n    return {name}\nprint(g())") == "7\n"


def test_is_internal_hides_guards_and_dunders_only() -> None:
    shown = ["x", "_x", "_", "answer", "context_0", "π"]
    hidden = ["__name__", "__builtins__", "<store>", "<pattern 0>", "_getattr_", "__x__", "a b", ""]
    assert [guards.is_internal(name) for name in shown + hidden] == [False] * len(shown) + [True] * len(hidden)


def test_no_worker_exception_can_be_caught_by_name() -> None:
    class Interrupt(BaseException):
        pass

    def stop() -> None:
        raise Interrupt

    for handler in ("except:", "except BaseException:", "except (BaseException,):", "except Exception:",
                    "except (KeyboardInterrupt, SystemExit, GeneratorExit):"):  # fmt: skip
        session = Session()
        session.space["stop"] = stop
        with pytest.raises(Interrupt):
            session.run(f"while True:\n    try:\n        stop()\n    {handler}\n        pass")


def test_a_bare_except_catches_even_where_exception_was_rebound() -> None:
    assert Session().run("Exception = int\ntry:\n    1 / 0\nexcept:\n    print('caught')") == "caught\n"


def test_system_exit_can_be_raised_and_passes_through() -> None:
    with pytest.raises(SystemExit):
        Session().run("raise SystemExit(3)")


@pytest.mark.parametrize("number", range(len(HONEST)))
def test_honest_code_prints_what_plain_python_prints(number: int) -> None:
    printed = Session().run(HONEST[number])
    assert printed
    assert printed == plain(HONEST[number])[0]


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_honest_use_of_names_prints_what_plain_python_prints(number: int) -> None:
    assert Session().run(NAMES[number]) == plain(NAMES[number])[0]


@pytest.mark.parametrize("number", range(len(CLASSES)))
def test_honest_classes_print_what_plain_python_prints(number: int) -> None:
    session = Session()
    with contextlib.redirect_stdout(session.out):  # where pprint writes
        printed = session.run(CLASSES[number])
    assert printed
    assert printed == plain(CLASSES[number])[0]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("import json\njson.x = 1", "attribute-store"),
        ("[].x = 1", "attribute-store"),
        ("len.x = 1", "attribute-store"),
        ("def f(): pass\nf.__wrapped__ = 1", "dunder-attribute"),
        ("import pprint\npprint.PrettyPrinter()._stream", "private-attribute"),
        ("f = len\nf.__self__", "dunder-attribute"),
        ("f = len\nf.__mro__", "dunder-attribute"),
        ("f = len\nf.__cause__", "dunder-attribute"),
        ("f = len\nf.__defaults__", "dunder-attribute"),
        ("len.__init__", "dunder-attribute"),
        ("class A: pass\nA.__slots__", "dunder-attribute"),
        ("class A: pass\nA.__dataclass_fields__", "dunder-attribute"),
        ("class A: pass\nA().__class__ = A", "dunder-attribute"),
        ("vars(len)", "dunder-attribute"),
        ("import contextlib\nwith contextlib.ExitStack() as s:\n    s.callback(locals)", "removed-builtin"),
        ("globals()['__builtins__'] = 1", "dunder-name"),
        ("globals()['<store>'] = 1", "dunder-name"),
        ("globals()['_getattr_'] = 1", "dunder-name"),
        ("class S(str): pass\nglobals()[S('x')] = 1", "dunder-name"),
        ("del globals()['__name__']", "dunder-name"),
        ("globals()['__name__'] += 'x'", "dunder-name"),
        ("type('A', (), {})", "type-call"),
        ("type(lambda: 0)(1)", "type-call"),
        ("import socket", "import-module"),
        ("from json import tool", "import-name"),
        ("t = '{0.__globals__}'\nt.format(1)", "format-attribute"),
        ("class A(property): pass", "class-base"),
        ("k = {'metaclass': 1}\nclass A(**k): pass", "metaclass"),
        ("k = {'metaclass': type}\nclass A(**k): pass", "metaclass"),
        ("ABCMeta = type\nclass A(metaclass=ABCMeta): pass", "metaclass"),
        ("class ABCMeta: pass\nclass A(metaclass=ABCMeta): pass", "metaclass"),
        ("import abc\nclass A(abc.ABCMeta): pass", "class-base"),
        ("class A:\n    __match_args__ = ['x']\nmatch 1:\n    case A(x): pass", "pattern-attribute"),
        ("class A: pass\nsetattr(A(), '__class__', A)", "attribute-store"),
        ("class A: pass\nA().__setattr__('__class__', A)", "attribute-store"),
        ("object.__new__(int)", "foreign-instance"),
    ],
)
def test_a_violation_names_its_rule_and_is_an_exception_that_cells_can_catch(source: str, rule: str) -> None:
    session = Session()
    with pytest.raises((RuleViolation, Exception)) as caught:
        session.run(source)
    assert getattr(caught.value, "rule", None) == rule
    if isinstance(caught.value, RuleViolation):
        assert str(caught.value).startswith(f"{rule}: ")
        indented = source.replace("\n", "\n    ")
        assert session.run(f"try:\n    {indented}\nexcept Exception as e:\n    print(e.rule)") == f"{rule}\n"


def test_modules_of_the_policy_decide_what_can_be_imported() -> None:
    session = Session(frozenset({"json", "collections"}))
    assert session.outcome("import json, collections.abc") == "ran"
    assert session.outcome("import math") == "import-module"
    assert session.outcome("from urllib.parse import quote") == "import-module"
    with pytest.raises(ImportError) as caught:
        session.run("import math")
    assert "available: collections, collections.abc, json." in str(caught.value)
    assert caught.value.name == "math"


def test_messages_stay_short_for_endless_names() -> None:
    session = Session()
    session.space["long"] = "_" + "a" * 10**6
    for source in ("getattr(1, long)", "setattr(1, long, 1)", "'{0.%s}'.replace('%s', long).format(1)"):
        with pytest.raises(RuleViolation) as caught:
            session.run(source)
        assert len(str(caught.value)) < 400


def test_sessions_share_no_guard_state() -> None:
    one, two = Session(), Session()
    one.run("class A:\n    def __init__(self): self._x = 1\ndef f(): pass\nf.x = 1")
    two.space["A"], two.space["f"] = one.space["A"], one.space["f"]
    assert two.outcome("f.x = 2") == "attribute-store"
    assert one.space["__builtins__"] is not two.space["__builtins__"]


def test_a_class_that_lies_about_itself_is_judged_by_its_type() -> None:
    liar: Any = type("Liar", (), {"__class__": property(lambda self: classes.Kind), "__module__": "elsewhere"})()
    session = Session()
    session.space["liar"] = liar
    assert session.outcome("liar.x = 1") == "attribute-store"
    assert session.outcome("liar._x") == "private-attribute"
    assert session.outcome("liar.__dict__") == "dunder-attribute"


def test_exit_ends_the_cell_with_its_code() -> None:
    for call in ("exit(3)", "quit(3)"):
        with pytest.raises(SystemExit) as ended:
            Session().run(call)
        assert ended.value.code == 3


def test_a_plain_value_can_be_awaited_and_another_one_is_what_it_was() -> None:
    cell = """
class Own:
    def __await__(self):
        yield from ()
        return "own"
async def inner():
    return "inner"
async def main():
    return [await 1, await "text", await [2], await {"a": 1}, await None, await Own(), await inner()]
import asyncio
print(asyncio.run(main()))
"""
    assert Session().run(cell) == "[1, 'text', [2], {'a': 1}, None, 'own', 'inner']\n"


def test_a_pattern_of_something_that_is_no_class_is_a_type_error() -> None:
    for kind in ("1", "print", "[int]"):
        with pytest.raises(TypeError, match="called match pattern must be a class"):
            Session().run(f"kind = {kind}\nmatch 1:\n    case kind(x):\n        pass")
