"""What a guard raises while a cell runs. A cell may catch these like any Exception, and try something else."""

from __future__ import annotations


class RuleViolation(Exception):
    """A guard said no. `rule` is the rule's id, `message` one sentence with the allowed alternative."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}.")
        self.rule = rule
        self.message = message


class ModuleRefused(RuleViolation, ModuleNotFoundError):
    """An import of a module that cells do not have. An ImportError, so that fallbacks in cells work."""


class NameRefused(RuleViolation, ImportError):
    """An import of a name that a facade does not have."""
