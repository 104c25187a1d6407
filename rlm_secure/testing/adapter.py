"""Adapter: what a sandbox of yours needs to be attacked like ours. One method, and a function that opens it.

    from rlm_secure.testing import Adapter, Said

    class Plain(Adapter):
        def run(self, code: str, timeout: float) -> Said:
            ...

    rlm-secure audit --env my_package.my_module:Plain

Nothing here is asked of an adapter about its walls: what a session is, the audit finds out by trying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What one run of code gave: what it printed, as it printed it, and the error that ended it (None if none did)."""

    stdout: str = ""
    stderr: str = ""
    error: str | None = None


class Limits(NamedTuple):
    """What a session shall be held to: seconds of a cell, bytes of memory, bytes of what it prints, calls of models."""

    seconds: float
    memory_bytes: int
    stdout_bytes: int
    calls: int = 0


class Adapter(ABC):
    """One session of a sandbox. The audit makes it by calling what `--env module:name` names, without arguments."""

    #: Whether names that one run binds are there in the next one. Where they are not, every run is given what the
    #: attack needs to know.
    keeps_state: bool = True

    @abstractmethod
    def run(self, code: str, timeout: float) -> Said:
        """Run `code` for at most `timeout` seconds, and say what came of it: a Said, or a tuple of its three fields.

        Code that raises, is refused or is stopped is an `error` in what is returned. An exception from here is a
        failure of the adapter: the attempt then counts as an error, neither as held nor as won.
        """

    def limit(self, limits: Limits) -> None:  # noqa: B027 - a sandbox may have limits of its own, or none
        """Set the limits that attacks try to exceed. Called once, before the first run; by default nothing is set."""

    def load_context(self, context: Any) -> None:  # noqa: B027 - most attacks need none
        """Bind `context` (JSON values) to the name `context` in the session."""

    def close(self) -> None:  # noqa: B027 - a session may have nothing to end
        """End the session and everything that it started. Called once."""
