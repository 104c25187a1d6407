"""The proof of the elided guards: RestrictedPython and this compiler accept and refuse the same source.

On every top-level statement of some hundred standard library files, and on random mutations of them, the two
decisions are equal, save for the relaxations and restrictions listed here. A relaxation has its reason and the
attacks that show what the relaxed construct cannot be used for; test_guards.py runs them.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from RestrictedPython import compile_restricted_exec

from rlm_secure.guest.language import compiler

from .attacks import ATTACKS

SNIPPETS = 3_600
MUTATIONS = 4_000
LONGEST = 4_000  # characters of one snippet

#: What RestrictedPython's own output, and its usual policies, give a meaning.
HOOKS = {
    "_getattr_", "_getitem_", "_getiter_", "_iter_unpack_sequence_", "_unpack_sequence_", "_apply_", "_inplacevar_",
    "_write_", "_print_", "_print", "_call_print", "_guarded_writes",
}  # fmt: skip


def _own(name: str) -> bool:
    return name not in HOOKS and not re.fullmatch(r"__\w+__", name)


class Relaxation(NamedTuple):
    """What RestrictedPython says, which names it is relaxed for, why that is safe, and who tried."""

    says: str
    names: Callable[[str], bool]
    reason: str
    attacks: tuple[str, ...]


def _any(_name: str) -> bool:
    return True


_OPERATORS = (
    "init repr str bytes format hash bool eq ne lt le gt ge len length_hint contains iter next reversed getitem setitem "
    "delitem missing call enter exit neg pos abs invert int float complex index round trunc floor ceil dir sizeof "
    "post_init copy deepcopy new getattr setattr delattr get set delete set_name init_subclass class_getitem await aiter anext aenter aexit"
)
_ARITHMETIC = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul"
DATA_MODEL = {f"__{name}__" for name in _OPERATORS.split()} | {
    f"__{prefix}{name}__" for name in _ARITHMETIC.split() for prefix in ("", "r", "i")
}
GUARDED_DUNDERS = DATA_MODEL | {
    "__name__", "__qualname__", "__module__", "__doc__", "__version__", "__class__", "__dict__", "__annotations__",
    "__members__", "__slots__", "__match_args__", "__defaults__", "__kwdefaults__", "__dataclass_fields__", "__mro__",
    "__wrapped__",
    "__bases__", "__base__", "__cause__", "__context__", "__suppress_context__", "__notes__",
    "__traceback__", "__args__", "__origin__", "__metadata__",
}  # fmt: skip
BINDABLE_DUNDERS = DATA_MODEL | {
    "__name__", "__slots__", "__match_args__", "__doc__", "__all__", "__version__", "__author__",
}  # fmt: skip

RELAXATIONS = (
    Relaxation(
        r'"(\w+)" is an invalid variable name because it starts with "_"',
        lambda name: _own(name) or name in BINDABLE_DUNDERS | {"__import__", "__file__"},
        "guards have names that are no identifiers, so that no variable can stand in for one; data-model methods are "
        "bound in class bodies, where the interpreter calls them with the cell's own objects, and as variables of a "
        "function; a load of a name that cells do not have raises where the cell reaches it",
        (
            "builtins/import-builtin",
            "classes/class-attribute-lies",
            "classes/getattribute-lies",
            "classes/mro-entries",
            "classes/reduce-hook",
            "classes/module-name-lies",
            "classes/del-hook",
            "builtins/builtins-name",
            "builtins/build-class",
        ),
    ),
    Relaxation(
        r'"(\w+)" is an invalid attribute name because it starts with "_"',
        lambda name: _own(name) or name in GUARDED_DUNDERS,
        "private names pass a guard that knows the cell's own classes; data-model names pass the guard of getattr()",
        (
            "stores/private-foreign",
            "stores/private-foreign-load",
            "stores/private-of-module",
            "classes/enum-convert",
            "classes/derive-from-printer",
            "attributes/class-of-class",
            "attributes/context-chain",
            "attributes/mro-list",
            "attributes/class-of-own-class",
            "strings/super-setattr-class",
            "strings/object-setattr-class",
            "classes/foreign-new",
        ),
    ),
    Relaxation(
        r'"(print|printed|builtins|breakpoint)" is a reserved name',
        _any,
        "print is an ordinary builtin here, so that rebinding it changes nothing but itself",
        ("stores/print", "builtins/builtins-module"),
    ),
    Relaxation(
        r'"(\w+)" is an invalid (?:variable|attribute) name because it ends with "__roles__"',
        lambda name: not name.startswith("_"),
        "roles are read by Zope's access control only, which is not here",
        ("stores/function-of-module",),
    ),
    Relaxation(
        r"Augmented assignment of (attributes|object items and slices) is not allowed",
        _any,
        "the load and the store of an attribute pass the same guards as plain ones; items have none in either compiler",
        ("stores/augmented", "attributes/in-augmented"),
    ),
    Relaxation(
        r"(Exec|Eval) calls are not allowed",
        _any,
        "a load of these names calls a guard that raises, or returns what the cell bound to the name",
        ("builtins/eval", "builtins/exec", "builtins/alias", "builtins/eval-in-map", "builtins/in-default"),
    ),
    Relaxation(
        r'"(\*)" imports are not allowed',
        _any,
        "it binds the public members of a facade, as if each was written out",
        ("builtins/import-star",),
    ),
    Relaxation(
        r"(AnnAssign) statements are not allowed",
        _any,
        "the target is checked as in a plain assignment, and annotations are expressions like others",
        ("stores/annotated", "attributes/in-annotation-target", "attributes/in-annotation", "classes/type-hints"),
    ),
    Relaxation(
        r"(Nonlocal) statements are not allowed",
        _any,
        "the names are checked as in `global`",
        ("stores/closure-as-self",),
    ),
    Relaxation(
        r'The keyword argument "(metaclass)" is not allowed',
        _any,
        "only abc.ABCMeta may stand there, and the guard of class statements checks that by identity",
        (
            "classes/metaclass-named-abc-meta",
            "classes/metaclass-attribute-abc-meta",
            "classes/metaclass-abc-meta-by-name",
            "classes/metaclass-abc-meta-derived",
        ),
    ),
    Relaxation(
        r"(TryStar) statements are not allowed",
        _any,
        "no cell has a group whose `split` is not the interpreter's, which is what CVE-2025-22153 needs",
        ("classes/group-that-lies", "classes/group-set-to-lie", "classes/group-set-to-lie-by-name"),
    ),
    Relaxation(
        r"(Match|match_case|Match\w+) statements are not allowed",
        _any,
        "captures are checked as bindings, keyword attributes as attributes, positional ones by a guard on the class",
        tuple(name for name in ATTACKS if name.startswith("matches/")),
    ),
    Relaxation(
        r"(AsyncFunctionDef|AsyncFor|AsyncWith|Await) statements are not allowed",
        _any,
        "a coroutine is what a generator is, and the names that lead from it to its frame and its code are closed; "
        "asynchronous generators are refused",
        tuple(name for name in ATTACKS if name.startswith("coroutines/")),
    ),
    Relaxation(
        r'"(\*)" imports are not allowed',
        _any,
        "it binds the names of a facade, which were chosen one by one",
        ("builtins/import-star",),
    ),
)

#: Rules of ours that refuse what RestrictedPython accepts, each with its reason.
RESTRICTIONS = {
    "relative-import": "a cell is in no package",
    "private-import": "RestrictedPython checks the first part of a dotted name only",
    "future-import": "barry_as_FLUFL changes the grammar",
    "dunder-name": "dunder names as keyword-only, dotted or global spellings that RestrictedPython overlooks",
}


def stock(source: str) -> tuple[str, ...] | None:
    """What RestrictedPython has against `source`: nothing, or its sentences. None if Python cannot read it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
            result = compile_restricted_exec(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return tuple(result.errors)


def ours(source: str) -> str | None:
    """The rule that refuses `source`, or None."""
    try:
        compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=1_000_000)
    except compiler.CellRefused as refusal:
        return refusal.rule
    return None


def relaxed(error: str) -> Relaxation | None:
    """The relaxation that explains one sentence of RestrictedPython, if one does."""
    for each in RELAXATIONS:
        found = re.search(each.says, error)
        if found and each.names(found[1]):
            return each
    return None


def difference(source: str) -> str | None:
    """How the two decisions on `source` differ beyond what is listed, if they do."""
    errors = stock(source)
    if errors is None:
        return None
    rule = ours(source)
    if rule is None:
        unexplained = [error for error in errors if relaxed(error) is None]
        return f"accepted, although {unexplained}" if unexplained else None
    if not errors and rule not in RESTRICTIONS:
        return f"refused by {rule}, although RestrictedPython accepts it"
    return None


@cache
def snippets() -> tuple[str, ...]:
    """Top-level statements of the standard library, from every file in the same measure."""
    found: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for statement in ast.parse(text).body:
            first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
            segment = "\n".join(lines[first - 1 : statement.end_lineno])
            if len(segment) <= LONGEST:
                found.append(segment)
    random.Random(4).shuffle(found)
    return tuple(found[:SNIPPETS])


NASTY = (
    "_x", "__x", "_", "__", "__class__", "__globals__", "__init__", "__del__", "__builtins__", "__import__", "__name__",
    "_getattr_", "_write_", "_print_", "_getitem_", "gi_frame", "f_back", "tb_next", "mro", "obj", "format", "x__roles__",
    "print", "printed", "exec", "eval", "open", "metaclass", "__subclasses__", "__mro_entries__", "__slots__", "getattr",
)  # fmt: skip
_FIELDS = {
    ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name", ast.ClassDef: "name",
    ast.keyword: "arg", ast.alias: "asname", ast.ExceptHandler: "name",
}  # fmt: skip


def mutations() -> list[str]:
    """Snippets with up to three names replaced by names that matter."""
    dice = random.Random(9)
    made: list[str] = []
    pool = [text for text in snippets() if 60 < len(text) < 1_500]
    while len(made) < MUTATIONS:
        tree = ast.parse(dice.choice(pool))
        named = [node for node in ast.walk(tree) if type(node) in _FIELDS]
        if not named:
            continue
        for node in dice.sample(named, min(len(named), dice.randint(1, 3))):
            setattr(node, _FIELDS[type(node)], dice.choice(NASTY))
        made.append(ast.unparse(tree))
    return made


def test_the_standard_library_gets_the_same_decisions() -> None:
    texts = snippets()
    assert len(texts) >= 3_000
    decisions = Counter(("stock " + ("accepts" if not stock(text) else "refuses")) for text in texts)
    assert decisions["stock accepts"] > 1_000
    assert decisions["stock refuses"] > 1_000
    assert {text[:200]: why for text in texts if (why := difference(text))} == {}


def test_mutations_get_the_same_decisions() -> None:
    assert {text[:400]: why for text in mutations() if (why := difference(text))} == {}


def test_every_relaxation_is_used_reasoned_and_attacked() -> None:
    used = Counter(
        relaxation.says
        for text in (*snippets(), "try: pass\nexcept* E: pass", "match x:\n    case 1: pass", "class A:\n    def f(self):\n        self.x__roles__")
        if ours(text) is None
        for error in stock(text) or ()
        if (relaxation := relaxed(error))
    )
    for each in RELAXATIONS:
        assert used[each.says] > 0, f"nothing needs the relaxation {each.says}"
        assert len(each.reason) > 20
        assert each.attacks
        assert set(each.attacks) <= ATTACKS.keys()


@pytest.mark.parametrize(
    "source",
    [
        "x = lambda __class__: 0", "def f(_getattr_, /): pass", "x.__subclasses__", "x.gi_frame", "(yield x.gi_frame)",
    ],
)  # fmt: skip
def test_a_refusal_of_restrictedpython_outside_the_list_is_ours_too(source: str) -> None:
    errors = stock(source)
    assert errors is None or any(relaxed(error) is None for error in errors)
    assert ours(source) is not None


def test_the_comparison_catches_a_planted_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlm_secure.guest.language.names.CLOSED", frozenset())
    assert difference("x.gi_frame") is not None
    monkeypatch.setattr("rlm_secure.guest.language.names.CLOSED", frozenset({"append"}))
    assert difference("x.append(1)") is not None
