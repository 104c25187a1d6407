"""Type variables of cells: as in Python, whatever stands by keyword."""

from __future__ import annotations

import pytest

from .cells import Session

_PROGRAM = """
from typing import Generic, TypeVar
print(TypeVar("T"), TypeVar("T", covariant=True), TypeVar("T", contravariant=True), TypeVar("T", bound=int))
print(isinstance(TypeVar("T"), TypeVar), type(TypeVar("T")) is TypeVar)
U = TypeVar("U", int, str)
class Box(Generic[U]):
    pass
print(Box[int], U)
for make in (
    lambda: TypeVar(), lambda: TypeVar("T", other=1), lambda: TypeVar("T", int),
    lambda: TypeVar("T", name="T"),
):
    try:
        make()
        print("made")
    except TypeError:
        print("TypeError")
try:
    TypeVar("T", covariant=True, contravariant=True)
except ValueError as error:
    print(error)
"""


def test_they_are_made_as_in_python() -> None:
    assert Session().run(_PROGRAM).splitlines() == [
        "~T +T -T ~T", "True True", "__main__.Box[int] ~U", *["TypeError"] * 4, "Bivariant types are not supported.",
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["covariant", "contravariant"])
def test_the_name_may_be_a_keyword(option: str) -> None:
    source = f"""
from typing import TypeVar
for count in range(200):
    made = [TypeVar(name="T", {option}=True), TypeVar({option}=True, name="T"), TypeVar(name="T", bound=[count][:0] or int)]
print(made)
"""
    sign = "+" if option == "covariant" else "-"
    assert Session().run(source) == f"[{sign}T, {sign}T, ~T]\n"
