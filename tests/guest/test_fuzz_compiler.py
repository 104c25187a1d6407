"""Any text at all: code or a Refusal. And whatever random cells do, they end up holding nothing forbidden."""

from __future__ import annotations

import ast
import keyword
import random
import sysconfig
import types
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rlm_secure.guest.language import compiler, names
from tests.effort import examples

from .attacks import ATTACKS
from .cells import LIMITS, Session, is_loot
from .honest import HONEST

QUICK = settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def compiles_or_refuses(source: str) -> types.CodeType | compiler.CellRefused:
    try:
        code = compiler.compile_cell(source, **LIMITS)
    except compiler.CellRefused as refusal:
        assert refusal.rule and refusal.message
        assert isinstance(str(refusal), str)
        return refusal
    assert type(code) is types.CodeType
    return code


@QUICK
@given(st.text(st.characters(), max_size=400))
@example("\ud800")
@example("\0")
@example("\ufeffx = 1")
@example("x = '\ud800'")
@example("# -*- coding: utf-7 -*-\n+AHg- = 1")
@example("\\")
@example("\x1a")
def test_any_text(source: str) -> None:
    compiles_or_refuses(source)


TOKENS = st.sampled_from(
    [
        *keyword.kwlist, *keyword.softkwlist, *"()[]{}:;,.=+-*/%@<>&|^~!\\#\n", "**", "->", ":=", "==", "...", "\n    ",
        "\n        ", "'", '"', "'''", "f'", "f'{", "}'", "b'", "0x", "1e9", "1_0", "10j", "_", "__", "__class__", "x", "self",
        "_getattr_", "__init__", "format", "print", "open", "eval", "gi_frame", "mro", "obj", "A", "π", "ｘ", "\t", "\r", " ",
    ]
)  # fmt: skip


@QUICK
@given(st.lists(TOKENS, max_size=60).map(" ".join))
def test_any_tokens(source: str) -> None:
    compiles_or_refuses(source)


@cache
def pieces() -> tuple[str, ...]:
    """Statements of the standard library, honest cells and attacks, to be cut up."""
    texts = list(HONEST) + list(ATTACKS.values())
    for name in ("dataclasses.py", "enum.py", "typing.py", "contextlib.py", "collections/__init__.py", "statistics.py"):
        texts += (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8").split("\n\n\n")
    return tuple(text for text in texts if len(text) < 4_000)


@QUICK
@given(st.integers(0, 2**32))
def test_any_cut_and_splice(seed: int) -> None:
    dice = random.Random(seed)
    text = dice.choice(pieces())
    for _ in range(dice.randint(1, 4)):
        other = dice.choice(pieces())
        at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
        start = dice.randrange(len(other) + 1)
        text = text[:at] + other[start : start + dice.randrange(80)] + text[to:]
    compiles_or_refuses(text)


WORDS = (
    "__class__", "__globals__", "__subclasses__", "__code__", "__dict__", "__builtins__", "__init__", "__new__", "__self__",
    "__func__", "__mro__", "__base__", "__getattribute__", "__setattr__", "__match_args__", "__reduce_ex__", "__module__",
    "gi_frame", "f_globals", "tb_frame", "mro", "obj", "format", "_x", "_convert_", "__name__", "__members__", "__call__",
)  # fmt: skip


class _Swap(ast.NodeTransformer):
    """Replaces names, attributes and short strings at random by words that attacks are made of."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if self._dice.random() < 0.3:
            node.attr = self._dice.choice(WORDS)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and self._dice.random() < 0.3:
            word = self._dice.choice(WORDS)
            text = self._dice.choice(["", "{0.", "{x."]) + word
            return ast.copy_location(ast.Constant(text + "}" * text.count("{")), node)
        return node


@settings(max_examples=examples(600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_no_mutated_cell_gets_hold_of_anything(seed: int) -> None:
    """Honest cells and attacks, mutated and run: every variable that they leave is harmless."""
    dice = random.Random(seed)
    tree = _Swap(dice).visit(ast.parse(dice.choice(HONEST + list(ATTACKS.values()))))
    try:
        source = ast.unparse(ast.fix_missing_locations(tree))
    except ValueError:
        return
    session = Session()
    session.outcome(source)
    for name, value in session.space.items():
        if not names.is_dunder(name):
            # `won` is text that an attack leaves once it believes to have won: mutated, it believes that too easily.
            assert type(value) is str or not is_loot(value), f"{name} of\n{source}"
