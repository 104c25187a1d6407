"""The current context of decimal: as in Python, never freed, and taken up again."""

from __future__ import annotations

import decimal
import gc
import inspect
import subprocess
import sys
from typing import Any

import pytest

from rlm_secure.guest.language.facades import contexts

from .cells import Session

HONEST = """
from decimal import Context, Decimal, Inexact, getcontext, localcontext, setcontext, ROUND_UP
outer = Context(prec=9, Emin=-50, Emax=60, capitals=0, clamp=1, rounding=ROUND_UP, traps=[Inexact])
setcontext(outer)
print(getcontext() is outer)
with localcontext() as inner:
    print(inner, inner is getcontext(), inner is outer)
    inner.prec = 3
with localcontext(prec=4, rounding=None, flags=[Inexact], traps=[]) as inner:
    print(inner, Decimal(1) / 3)
with localcontext(Context(prec=5), Emax=77) as inner:
    print(inner, Decimal(1) / 3)
try:
    with localcontext(prec=2):
        Decimal(1) / 3
except Inexact:
    print(getcontext() is outer, outer)
manager = localcontext()
with manager as first:
    with manager as second:
        print(first is second)
for bad in (
    lambda: localcontext(1), lambda: setcontext(1), lambda: localcontext(unknown=1), lambda: localcontext(prec="")
):
    try:
        bad()
    except TypeError as error:
        print("TypeError")
setcontext(Context())
"""


def _kept() -> Any:
    return inspect.getclosurevars(contexts._unheld).nonlocals["kept"]


def test_contexts_are_as_in_python() -> None:
    expected = subprocess.run([sys.executable, "-I", "-c", HONEST], capture_output=True, text=True, check=True).stdout
    before = decimal.getcontext()
    try:
        assert Session().run(HONEST) == expected
    finally:
        decimal.setcontext(before)
    assert expected.count("TypeError") == 4


def test_a_context_that_nobody_holds_is_used_again() -> None:
    def contexts_alive() -> int:
        return sum(type(each) is decimal.Context for each in gc.get_objects()) + len(_kept())

    gc.collect()
    before = contexts_alive()
    for _ in range(1000):
        with decimal.localcontext(prec=3) as held:
            assert held.prec == 3
    assert contexts_alive() <= before + 200


def test_a_context_that_somebody_holds_is_left_alone() -> None:
    held = []
    for number in range(1, 20):
        with decimal.localcontext(prec=number) as context:
            held.append(context)
    assert [context.prec for context in held] == list(range(1, 20))


def test_a_context_that_was_current_is_kept() -> None:
    start = decimal.getcontext()
    context = decimal.Context(prec=17)
    decimal.setcontext(context)
    decimal.setcontext(start)
    decimal.setcontext(context)
    decimal.setcontext(start)
    assert sum(each is context for each in _kept()) == 1


def test_the_class_of_managers_is_final() -> None:
    with pytest.raises(TypeError, match="acceptable base"):
        type("Derived", (contexts.ContextManager,), {})
