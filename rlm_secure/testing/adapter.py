"""Adapter: what your own sandbox implements to be attacked like ours: one method, and a callable that opens it.

    from rlm_secure.testing import Adapter, Said

    class Plain(Adapter):
        def run(self, code: str, timeout: float) -> Said:
            ...

    rlm-secure audit --env my_package.my_module:Plain

An adapter declares nothing about its walls: the audit finds out by trying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple


class Said(NamedTuple):
    """The result of one run: its unmodified output, and the error that ended it (None if none did)."""

    stdout: str = ""
    """What it printed."""
    stderr: str = ""
    """What it printed as an error."""
    error: str | None = None
    """What ended it, as text; None where it ended by itself."""


class Limits(NamedTuple):
    """The limits of a session: seconds for a cell, bytes of memory, bytes of output, model calls."""

    seconds: float
    """Wall time of a cell."""
    memory_bytes: int
    """Memory of the session."""
    stdout_bytes: int
    """Output of a cell."""
    calls: int = 0
    """How many questions to models a session may ask."""


class Adapter(ABC):
    """One session of a sandbox. The audit creates it by calling the object of `--env module:name` without arguments."""

    keeps_state: bool = True
    """Whether names that one run binds exist in the next one. If not, the attack's TARGET is sent again with every
    run.
    """

    @abstractmethod
    def run(self, code: str, timeout: float) -> Said:
        """Run `code` for at most `timeout` seconds and return a Said, or a tuple of its three fields.

        Report code that raises, is refused or is stopped as `error` in the result. An exception raised here is a
        failure of the adapter: the attempt then counts as an error, neither as held nor as won.
        """

    def limit(self, limits: Limits) -> None:  # noqa: B027 - a sandbox may have limits of its own, or none
        """Set the limits that attacks try to exceed. Called once, before the first run; by default nothing is set."""

    def load_context(self, context: Any) -> None:  # noqa: B027 - most attacks need none
        """Bind `context` (JSON values) to the name `context` in the session."""

    def close(self) -> None:  # noqa: B027 - a session may have nothing to end
        """End the session and every process that it started. Called once."""
