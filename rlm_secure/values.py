"""What a cell's result says about variables: values that are whole, or an error that says why there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from rlm_secure.errors import ValueNotPlain, ValueTooLarge, ValueUnavailable
from rlm_secure.plural import counted

__all__ = ["Values", "unavailable"]

_NONE: Final = object()


class Values(Mapping[str, Any]):
    """The variables of a session after a cell, by name: each value is whole, and of the class that it had there.

    It holds those that the cell bound, and small ones that it mentioned. Others are read from the session when they
    are asked for, as long as it has run nothing since; each is read once. Iterating goes over the names whose value
    is held here. `refused` maps the names of the others that the cell bound to the error that asking for them raises.

    Raises KeyError for a name that is no variable, ValueTooLarge for a value over limits.value_bytes, or for
    limits.result_bytes, ValueNotPlain for one that is no plain data, and ValueUnavailable if the session has gone on.
    """

    def __init__(
        self,
        held: Mapping[str, Any] | None = None,
        refused: Mapping[str, ValueUnavailable] | None = None,
        names: Collection[str] = (),
        ask: Callable[[str], Any] | None = None,
        *,
        more: bool = False,
    ) -> None:
        """`more`: there may be other variables than `names`, which the result had no room for."""
        self._held = dict(held) if held else {}
        self.refused: dict[str, ValueUnavailable] = dict(refused) if refused else {}
        self._names = names
        self._ask = ask
        self._more = more

    def __reduce__(self) -> tuple[Callable[..., Values], tuple[dict[str, Any], dict[str, ValueUnavailable]]]:
        """The values held and the errors; each other variable is a ValueUnavailable there: its session is here."""
        gone = {
            name: ValueUnavailable(
                f"{name} was not read before its result was pickled; read it in the process of its session",
                name=name,
            )
            for name in self._names
            if name not in self._held
        }
        return Values, (dict(self._held), {**gone, **self.refused})

    def __getitem__(self, name: str) -> Any:
        if (value := self._held.get(name, _NONE)) is not _NONE:
            return value
        if (error := self.refused.get(name)) is not None:
            raise error
        if self._ask is None or (name not in self._names and not (self._more and isinstance(name, str))):
            raise KeyError(name)
        value = self._held[name] = self._ask(name)
        return value

    def __contains__(self, name: object) -> bool:
        """Whether `name` is a variable, whatever became of its value."""
        return name in self._held or name in self.refused or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        try:
            held = repr(self._held)
        except (ValueError, ArithmeticError):  # an int with too many digits for a text, a Counter of a signaling NaN
            held = f"<{counted(len(self._held), 'value')}>"
        return f"Values({held})" if not self.refused else f"Values({held}, refused={self.refused!r})"


def unavailable(name: str, kind: str, size: int, why: str, value_bytes: int, result_bytes: int) -> ValueUnavailable:
    """The error of a value of class `kind` that takes `size` bytes or more, if any, or is no plain data for `why`.

    With `size` and `why`, it did not fit into one result.
    """
    if size and why:
        return ValueTooLarge(name=name, kind=kind, size=size, limit=result_bytes, one_result=True)
    if size:
        return ValueTooLarge(name=name, kind=kind, size=size, limit=value_bytes)
    return ValueNotPlain(name=name, kind=kind, why=why)
