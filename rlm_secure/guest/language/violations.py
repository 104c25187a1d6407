"""What a guard raises while a cell runs. A cell may catch these like any Exception, and try something else.

It may raise again what it caught, and it holds the class of it: `__exit__` is given both. So what a cell can make is an
instance of a class below those that the guards name, and only instances that a guard made are believed.
"""

from __future__ import annotations

import weakref
from typing import Any, Self


class RuleViolation(Exception):
    """A guard said no. `rule` is the rule's id, `message` one sentence with the allowed alternative."""

    def __new__(cls, *values: Any) -> Self:
        """Make one that a cell may catch as the class that Python raises there."""
        made: Self = super().__new__(_CAUGHT.get(cls, cls), *values)
        if cls in _CAUGHT:
            rule, message = values
            _said[made] = (rule, message)
        return made

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}.")
        self.rule = rule
        self.message = message


class ModuleRefused(RuleViolation, ModuleNotFoundError):
    """An import of a module that cells do not have. An ImportError, so that fallbacks in cells work."""


class NameRefused(RuleViolation, ImportError):
    """An import of a name that a facade does not have."""


def _below(kind: Any) -> Any:
    """The class that a cell meets in place of `kind`."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), names)


#: What the guards said, where nothing writes on it: library code calls `__init__` again, and sets attributes.
_said: weakref.WeakKeyDictionary[RuleViolation, tuple[str, str]] = weakref.WeakKeyDictionary()
_CAUGHT: dict[Any, Any] = {kind: _below(kind) for kind in (RuleViolation, ModuleRefused, NameRefused)}


def said(error: RuleViolation) -> tuple[str, str] | None:
    """The rule and the message of `error` if a guard made it; None if a cell did."""
    return _said.get(error)


def forget() -> None:
    """Believe no refusal of earlier cells: one that was kept and is raised again is an exception like any other."""
    _said.clear()
