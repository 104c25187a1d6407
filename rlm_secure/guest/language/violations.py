"""The exceptions that guards raise while a cell runs. A cell may catch them like any Exception, and continue.

A cell can also obtain such an exception and its class, because `__exit__` receives both. So the class that it sees is a
subclass of the one that guards use, and only instances that a guard created count as refusals.
"""

from __future__ import annotations

import weakref
from typing import Any, Self


class RuleViolation(Exception):
    """A guard refused something. `rule` is the rule's id, `message` one sentence with the allowed alternative."""

    def __new__(cls, *values: Any) -> Self:
        """Make one that a cell may catch as the class that Python raises there."""
        if cls not in _CAUGHT:
            return super().__new__(cls, *values)
        rule, message = values
        made: Self = super().__new__(_CAUGHT[cls], _sentence(rule, message))  # the text of an OSError is set here
        _said[made] = (rule, message)
        return made

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(_sentence(rule, message))
        self.rule = rule
        self.message = message


class ModuleRefused(RuleViolation, ModuleNotFoundError):
    """An import of a module that cells do not have. It is an ImportError, so that `except ImportError` works."""


class NameRefused(RuleViolation, ImportError):
    """An import of a name that a facade does not have."""


class AttributeRefused(RuleViolation, AttributeError):
    """An attribute that is closed to cells. It is an AttributeError, so that getattr() with a default gives that."""


class BuiltinRefused(RuleViolation, NameError):
    """A builtin that cells do not have. It is a NameError, as for any name that nothing defines."""


class FileRefused(RuleViolation, FileNotFoundError):
    """The builtin `open`. It is a FileNotFoundError, so that code which expects a missing file goes on."""


class InputRefused(RuleViolation, EOFError):
    """The builtin `input`. It is an EOFError, as where nobody can type."""


def _sentence(rule: str, message: str) -> str:
    return f"{rule}: {message}."


def _below(kind: Any) -> Any:
    """The subclass that a cell sees instead of `kind`, with the name of the class that Python raises there."""
    expected = kind.__bases__[-1] if kind is not RuleViolation else kind
    names = {"__module__": expected.__module__, "__qualname__": expected.__qualname__, "__doc__": kind.__doc__}
    return type(expected.__name__, (kind,), names)


_KINDS: tuple[Any, ...] = (
    RuleViolation, ModuleRefused, NameRefused, AttributeRefused, BuiltinRefused, FileRefused, InputRefused,
)  # fmt: skip
#: The refusals of guards. Kept outside the exceptions, where code could call `__init__` again or set attributes.
_said: weakref.WeakKeyDictionary[RuleViolation, tuple[str, str]] = weakref.WeakKeyDictionary()
_CAUGHT: dict[Any, Any] = {kind: _below(kind) for kind in _KINDS}


def said(error: RuleViolation) -> tuple[str, str] | None:
    """The rule and the message of `error` if a guard made it; None if a cell did."""
    return _said.get(error)


def forget() -> None:
    """Forget the refusals of earlier cells: if a cell kept one and raises it again, it is an ordinary exception."""
    if _said:
        _said.clear()
