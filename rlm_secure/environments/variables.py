"""What a session's host was told of its variables: a cell's result describes those that it bound or can have changed.

Guards: how many names of variables, and bytes of their descriptions, the host keeps of one session
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rlm_secure.broker.protocol import MAX_NAMES, CellResult, Variable
from rlm_secure.types import held_bytes, not_kept


class KnownVariables:
    """The last description of each variable of a session, in at most `most` bytes: one frame can have as many.

    The description of a variable that a cell has neither bound nor named may be older than what it holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, Variable] = {}
        self._bytes: dict[str, int] = {}
        self._total = 0

    def complete(self, result: CellResult) -> None:
        """Have `result` describe all variables of its session. Its own descriptions replace earlier ones."""
        for name in tuple(self._known) if result.gone is None else result.gone:
            self._forget(name)
        for name, variable in result.variables.items():
            self._forget(name)
            if len(self._known) < MAX_NAMES:
                self._keep(name, variable)
        result.variables, result.gone = {**self._known, **self._own(result.variables)}, None

    def _own(self, variables: Mapping[str, Variable]) -> dict[str, Variable]:
        return {name: variable for name, variable in variables.items() if name in self._known}

    def _keep(self, name: str, variable: Variable) -> None:
        size = held_bytes([name, variable.type, variable.value, variable.repr])
        if self._total + size > self._most:
            variable = Variable(variable.type, repr=not_kept(size))
            size = held_bytes([name, variable.type, variable.repr])
        # The whole value is that of one cell's result.
        self._known[name] = replace(variable, whole=None, size=0, why="") if variable.known else variable
        self._bytes[name] = size
        self._total += size

    def _forget(self, name: str) -> None:
        if self._known.pop(name, None) is not None:
            self._total -= self._bytes.pop(name)
