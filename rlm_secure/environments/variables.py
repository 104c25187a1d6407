"""What a session's host was told of its variables: a cell's result describes those that it bound or can have changed.

Guards: how many names of variables, and bytes of their descriptions, the host keeps of one session
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import getsizeof
from typing import Any, Final, NamedTuple

from rlm_secure.broker.protocol import MAX_NAMES, CellResult, Variable
from rlm_secure.types import held_bytes, not_kept

#: The names of a variable and of its class, with what holds them: each has 128 characters at most.
_NAMES_BYTES: Final = 1300
#: Classes of values that refer to no others.
_ATOMS: Final = frozenset({str, int, float, bool})
#: Characters of the text of a variable that is made from its value.
_SHORT: Final = 2_000
#: The text of a variable of which a result says no more than its class.
_NO_ROOM: Final = "[not in this result, which is full]"


class Described(NamedTuple):
    """Variables by name, for a result: the JSON value or else a safe text of each, and a text of each."""

    locals: dict[str, Any]
    reprs: dict[str, str]
    known: dict[str, Variable]
    """Those whose whole value is known, or why there is none."""


def described(variables: Mapping[str, Variable]) -> Described:
    """What a result tells of `variables`."""
    return Described(
        {name: _local(variable) for name, variable in variables.items()},
        {name: _shown(variable) for name, variable in variables.items()},
        {name: variable for name, variable in variables.items() if variable.known},
    )


class KnownVariables:
    """The last description of each variable of a session, in at most `most` bytes: one frame can have as many.

    That of a variable which a cell has neither bound nor named may be older than what it holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._variables: dict[str, Variable] = {}
        self._locals: dict[str, Any] = {}
        self._reprs: dict[str, str] = {}
        self._bytes: dict[str, int] = {}
        self._total = 0

    def complete(self, result: CellResult) -> None:
        """Have `result` describe all variables of its session. Its own descriptions replace earlier ones."""
        for name in tuple(self._variables) if result.gone is None else result.gone:
            self._forget(name)
        own: dict[str, Variable] = {}
        known: dict[str, Variable] = {}
        for name, variable in result.variables.items():
            if name in self._variables or len(self._variables) < MAX_NAMES:
                own[name] = variable
                if variable.known:
                    known[name] = variable
                self._keep(name, variable)
        result.variables, result.gone = {**self._variables, **own}, None
        result.described = Described(self._locals.copy(), self._reprs.copy(), known)

    def _keep(self, name: str, variable: Variable) -> None:
        value, shown = _local(variable), _shown(variable)
        atom = value is None or type(value) in _ATOMS
        size = _NAMES_BYTES + (getsizeof(value) if atom else held_bytes(value)) + len(shown) * 4
        self._total -= self._bytes.get(name, 0)
        if self._total + size > self._most:
            value = shown = not_kept(size)
            variable = Variable(variable.type, repr=shown)
            size = _NAMES_BYTES + len(shown)
        elif variable.known:  # the whole value is that of one cell's result
            variable = Variable(variable.type, variable.value, variable.has_value, variable.repr)
        self._variables[name], self._locals[name], self._reprs[name] = variable, value, shown
        self._bytes[name] = size
        self._total += size

    def _forget(self, name: str) -> None:
        if name in self._variables:
            del self._variables[name], self._locals[name], self._reprs[name]
            self._total -= self._bytes.pop(name)


def _local(variable: Variable) -> Any:
    return variable.value if variable.has_value else _text(variable)


def _text(variable: Variable) -> str:
    """The text with which it came; not '', which is a value, for one that a result had no room for."""
    return variable.repr or _NO_ROOM


def _shown(variable: Variable) -> str:
    """A text of a variable, from its value if that is known."""
    if variable.whole is None and (variable.repr or not variable.has_value):
        return _text(variable)
    try:
        text = repr(variable.value if variable.whole is None else variable.whole[0])
    except (ValueError, ArithmeticError):  # an int with too many digits for a text, a Counter of a signaling NaN
        return variable.repr
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}... [{len(text)} long]"
