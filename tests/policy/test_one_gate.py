"""Every refusal of the host is a Decision of the gate: nobody else makes one, and nobody else compares a limit.

Two looks, because either alone could be passed by: the source is read for whoever could make a refusal, under any
name, and sessions run under a policy whose numbers write down who compares them.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rlm_secure
from rlm_secure import Policy, Sandbox, errors
from rlm_secure.policy import gate, load_policy
from tests.loops import cell, scripted

PACKAGE = Path(rlm_secure.__file__).parent
GATE = "policy/gate.py"


def below(*kinds: type) -> Iterator[type]:
    for kind in kinds:
        yield kind
        yield from below(*kind.__subclasses__())


#: What only the gate makes.
REFUSALS = frozenset({gate.Decision, *below(errors.Refused, errors.CallRefused, errors.CellRefused)})
NAMES = frozenset(kind.__name__ for kind in REFUSALS)

#: Files that may use a refusal for more than to recognise it, each with the names and the reason.
ALLOWED = {
    GATE: (NAMES, "makes them"),
    "errors.py": (NAMES, "defines them"),
    "broker/protocol.py": ({"CellRefused"}, "the word of the guest on its own language layer, as a closed table reads it"),
    "__init__.py": (NAMES, "offers them by name"),
    "policy/__init__.py": (NAMES, "offers them by name"),
}


@functools.cache  # each file is a test of its own
def sources() -> dict[str, str]:
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    return {path: text for path, text in files.items() if not path.startswith("guest/")}


def other_uses(path: str, source: str) -> list[str]:
    """Where a file does with a refusal what is not to recognise one: makes, renames, passes on, derives from it."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    known = dict(_imported(tree))
    allowed = ALLOWED.get(path, (frozenset(), ""))[0]
    found = []
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Name):
            name = known.get(node.id)
        elif isinstance(node, ast.Attribute):
            name = node.attr if node.attr in NAMES else None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            name = node.value
        elif isinstance(node, ast.Call) and _makes_another(node):
            found.append(f"{path}:{node.lineno} makes an object of a class that it asks an object for")
        if name is not None and name not in allowed and not _recognises(node, parents):
            found.append(f"{path}:{node.lineno} uses {name}; ask the gate for its Decision, and have that raised")
    return found


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Local name -> refusal, for whatever import gives one, under whatever name it goes there and here."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("rlm_secure"):
            continue
        module = importlib.import_module(str(node.module))
        for alias in node.names:
            value = getattr(module, alias.name, None)
            if isinstance(value, type) and value in REFUSALS:
                yield alias.asname or alias.name, value.__name__


def _makes_another(call: ast.Call) -> bool:
    """`type(x)(...)`, `x.__class__(...)`, and replace(x, allowed=...)."""
    of_type = isinstance(call.func, ast.Call) and isinstance(call.func.func, ast.Name) and call.func.func.id == "type"
    of_class = isinstance(call.func, ast.Attribute) and call.func.attr == "__class__"
    return of_type or of_class or any(keyword.arg == "allowed" for keyword in call.keywords)


def _recognises(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the name stands where it can only be compared with: except, isinstance, case, an annotation, require()."""
    child, parent = node, parents.get(node)
    while isinstance(parent, ast.Tuple | ast.BinOp | ast.Subscript | ast.Starred):
        child, parent = parent, parents.get(parent)
    match parent:
        case ast.ExceptHandler() | ast.MatchClass():
            return child is parent.type if isinstance(parent, ast.ExceptHandler) else child is parent.cls
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            return child in parent.args[1:]
        case ast.Call(func=ast.Attribute(attr="require")):
            return child in parent.args
        case ast.arg() | ast.AnnAssign():
            return child is parent.annotation
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return child is parent.returns
    return False


@pytest.mark.parametrize("path", sorted(sources()))
def test_only_the_gate_makes_a_refusal(path: str) -> None:
    assert other_uses(path, sources()[path]) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from rlm_secure.errors import CellRefused\nx = CellRefused('no')",
        "from rlm_secure.errors import CellRefused as No\ndef f(): raise No('no')",
        "from rlm_secure import CellRefused as No\nreturned = No",
        "from rlm_secure.errors import Refused\nclass No(Refused): ...",
        "from rlm_secure import errors as e\nraise e.Refused(1)",
        "from rlm_secure import errors as e\nraise getattr(e, 'CallRefused')(1)",
        "from rlm_secure.policy import Decision\nDecision(False, 'mine', 'no')",
        "from rlm_secure.policy import Decision as D\nmake = D",
        "from rlm_secure.policy import Decision as D\nkinds = {'no': D}",
        "from rlm_secure.policy import Decision as D\nmap(D, [False])",
        "from dataclasses import replace\nreplace(decision, allowed=False)",
        "try: ...\nexcept Exception as e:\n    raise type(e)('no')",
    ],
)
def test_a_planted_refusal_is_found(planted: str) -> None:
    assert other_uses("planted.py", planted)


@pytest.mark.parametrize(
    "planted",
    [
        "from rlm_secure.errors import CellRefused, WallViolation\nok = isinstance(x, CellRefused | WallViolation)",
        "from rlm_secure.errors import CallRefused\ntry: ...\nexcept (CallRefused, ValueError): ...",
        "from rlm_secure.policy import Decision\ndef f(d: Decision) -> Decision | None: ...",
        "from rlm_secure.errors import WrongProcess\ngate.process(1).require(WrongProcess)",
        "from rlm_secure.errors import CellRefused\nmatch x:\n    case CellRefused(): ...",
    ],
)
def test_a_refusal_may_be_recognised(planted: str) -> None:
    assert other_uses("planted.py", planted) == []


def test_every_kind_of_refusal_is_defined_in_one_place() -> None:
    for module in pkgutil.walk_packages(rlm_secure.__path__, "rlm_secure."):
        if ".guest" not in module.name and not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as error:  # an optional SDK
                assert "rlm_secure" not in str(error.name)
    kinds = set(below(errors.Refused, errors.CallRefused, errors.CellRefused))
    assert {kind.__module__ for kind in kinds if kind.__module__.startswith("rlm_secure")} == {"rlm_secure.errors"}


# -- who compares a limit --------------------------------------------------------------------------------

_compared: set[tuple[str, str]] = set()


def _watching(base: type) -> Any:
    """A number of the policy's that writes down in which file of the package it is compared."""

    def of(name: str) -> Any:
        def compare(self: Any, other: Any) -> Any:
            path = Path(sys._getframe(1).f_code.co_filename)
            if path.is_relative_to(PACKAGE):
                _compared.add((self.key, path.relative_to(PACKAGE).as_posix()))
            return getattr(base, name)(self, other)

        return compare

    return type(f"Watched_{base.__name__}", (base,), {name: of(name) for name in ("__lt__", "__le__", "__gt__", "__ge__")})


WATCHED = {int: _watching(int), float: _watching(float)}

#: Limits whose excess is refused, for all that the tests below exceed: who compares one decides.
REFUSING = {
    "language.source_bytes", "limits.cells", "limits.context_bytes", "limits.tool_calls", "limits.tool_seconds",
    "limits.abandoned_calls", "lm.prompt_bytes", "lm.reply_bytes", "lm.batch",
}  # fmt: skip

#: Compares a size with the units that it may be written in, for the model's prompt.
SHOWING = {"rlm/prompts/session.py"}


def watched(**changed: Any) -> Policy:
    """The strict policy with other values, all of whose numbers are watched."""
    policy = load_policy("strict")
    sections: dict[str, Any] = {}
    for section in ("language", "limits", "lm"):
        values = getattr(policy, section)
        numbers = {}
        for name in type(values).model_fields:
            value = changed.get(name, getattr(values, name))
            if type(value) in WATCHED:
                numbers[name] = WATCHED[type(value)](value)
                numbers[name].key = f"{section}.{name}"
        sections[section] = values.model_copy(update=numbers)
    return policy.model_copy(update=sections)


def test_only_the_gate_compares_what_it_refuses_by() -> None:
    _compared.clear()
    policy = watched(source_bytes=200, cells=8, tool_calls=3, tool_seconds=0.2, context_bytes=2000, reply_bytes=500)
    over = threading.Event()
    tools = {"long": lambda: "x" * 900, "hang": lambda: over.wait(10), "take": lambda x: 1}
    try:
        with Sandbox(policy=policy, tools=tools, context="c") as box:
            assert box.run("#" * 300).error is not None
            assert box.run("long()").error is not None
            assert box.run("take('x' * 900)").error is not None
            assert box.run("hang()").error is not None
            assert box.run("take(1)").error is not None, "the fourth call of three"
            with pytest.raises(errors.Refused):
                box._repl.add_context("x" * 3000)
            for _ in range(4):
                box.run("1")
            with pytest.raises(errors.SessionEnded):
                box.run("1")
    finally:
        over.set()
    turns = [cell("print(llm_query('x' * 300), llm_query_batched(['a'] * 4), llm_query('a'))\nfinal_answer(1)")]
    scripted(turns, "y" * 600, policy=watched(prompt_bytes=200, batch=3, reply_bytes=500)).completion("c")
    deciding = {(key, path) for key, path in _compared if key in REFUSING}
    assert {key for key, _ in deciding} == REFUSING, "each is exceeded here"
    assert {path for _, path in deciding} - SHOWING == {GATE}
