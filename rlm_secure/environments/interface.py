"""The interface of an environment: a place that opens sessions, each one worker behind walls.

The loop, Sandbox, the audit and the tests use only these names. The implementations are in the folders beside this
file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from rlm_secure.broker.protocol import Call, CellResult, Variable
from rlm_secure.decision import Decided
from rlm_secure.environments.owned import Owned
from rlm_secure.errors import CallFailed, EnvironmentUnavailable
from rlm_secure.guarantees import EnforcementReport, Wall
from rlm_secure.policy.gate import Gate
from rlm_secure.registry import ENVIRONMENTS
from rlm_secure.types import CodeFinding

if TYPE_CHECKING:
    from rlm_secure.environments.quota import SandboxReservation
    from rlm_secure.policy.model import Policy

__all__ = ["AuditSink", "CallFailed", "Environment", "HostCalls", "Session"]

HostCalls = Callable[[Call], Any]
"""Answers a call that a cell makes. Returns a JSON value; raises CallFailed to raise in the cell. It runs on the host
and is the only thing that a guest can make the host do. It runs in a thread of its own, which is abandoned if it
takes too long. If it has a true attribute `interruptible`, it ends by itself when its run is stopped, and calls
other than tools run in the caller's thread, unless the caller set a time limit for the cell. If it has an attribute
`output`, a function of "stdout" or "stderr" and a text, that is told what a cell prints while it runs; the caller's
thread runs it, and its time is the host's. Sessions with the same attribute `owner`, such as those of one RLM,
share a limit of abandoned calls.
"""


NO_COPIES = "this environment cannot copy a session: fork(), snapshot() and restore() are for local sessions"


class AuditSink(Protocol):
    """Receives what happens in a session; `rlm_secure.logger.AuditLog` is one."""

    def session_start(self, session: str, *, policy: str, report: EnforcementReport) -> None:
        """A session began, with the walls in `report`."""

    def session_end(self, session: str, *, cells: int, reason: str = "closed") -> None:
        """A session ended after `cells` cells."""

    def refusal(self, session: str, *, rule: str, reason: str) -> None:
        """A rule refused a cell."""

    def violation(self, session: str, *, violation: str, wall: str | None = None, detail: str = "") -> None:
        """A cell ran into a wall, crashed its worker, or broke the protocol."""

    def limit(self, session: str, *, limit: str, detail: str = "") -> None:
        """A limit ended a cell, or cut its output."""


class Snapshot(Owned, ABC):
    """The state of a session at one moment, kept in a process that is stopped: it takes memory, and no CPU time.

    Sandbox.restore() goes on from it, as often as needed. It counts for limits.forks until it is closed or dropped.
    """

    @abstractmethod
    def close(self) -> None:
        """End it. Idempotent; what was restored from it lives on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class Session(Owned, ABC):
    """One worker behind walls, with the state that its cells leave. One cell at a time: callers take turns.

    In a fork of the process that made it, every method raises WrongProcess, and nothing done to the session there
    affects the parent's. A method that a tool calls while a cell of the session waits for that tool raises
    ReentrantCall. Every method raises SessionEnded when the worker is gone and could not be resumed, and
    ProtocolViolation (after killing the worker) when it sent what the protocol does not allow.
    """

    report: EnforcementReport
    """The walls around its worker: another object whenever it has started another worker. See REPL."""
    with_values: bool = False
    """Whether results carry whole values (CellResult.value, Variable.whole). A session that cannot may ignore it."""

    def require(self) -> None:
        """Nothing, where the session can be used from here. Else raises WrongProcess or ReentrantCall."""

    @abstractmethod
    def execute(
        self, code: str, calls: HostCalls, *, seconds: float | None = None, exclude_host_time: bool = False
    ) -> CellResult:
        """Run one cell and return its result; never raises for what the cell does.

        `seconds` lowers the policy's wall clock for this cell and includes all waits, that for its turn as well; with
        `exclude_host_time` it counts as limits.cell_seconds does under the policy. A limit that ended the cell is in
        `result.error`, with `session_ended` true when the next execute would raise SessionEnded. A cell that cannot be
        interrupted is killed limits.grace_seconds later. If its session is not resumed within as long again, resuming
        continues in the background, and the next request waits for it, for as long as that request has time.
        """

    @abstractmethod
    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list or dict of any size, byte for byte."""

    def open_context(self, name: str, payload: Any, values: Mapping[str, Any], alias: str | None = None) -> None:
        """As load_context(); then bind `alias` to the same object, and names to small JSON `values`.

        A session may do all of it in one request.
        """
        self.load_context(name, payload)
        if alias is not None:
            self.alias(alias, name)
        for each, value in values.items():
            self.assign(each, value)

    @abstractmethod
    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""

    @abstractmethod
    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the same object as the already bound `target` (context -> context_0)."""

    @abstractmethod
    def read_text(self, name: str) -> str | None:
        """`str()` of the variable `name` as a cell sees it, or None if there is no such variable.

        Raises the CellError that stopped it: its text may be too large, and its `__str__` a cell's.
        """

    def read_value(self, name: str) -> Variable | None:
        """The variable `name`, whole or with the reason why not; None if there is no such variable."""
        raise EnvironmentUnavailable(f"this environment returns no values, so {name} cannot be read; print it")

    def set_value(self, name: str, value: Any) -> None:  # noqa: ARG002 - the value of a session that can
        """Bind `name` to a value that rlm_secure.tagged wrote as JSON. A cell may overwrite it."""
        raise EnvironmentUnavailable(f"this environment takes no values, so {name} cannot be set; give it as a context")

    def check_code(self, code: str, rules: Mapping[str, Any]) -> list[CodeFinding]:  # noqa: ARG002 - as above
        """What is to be said against `code` before it runs. It is read in the worker, runs there not at all, and leaves
        the session as it is. See REPL.check_code."""
        raise EnvironmentUnavailable("this environment checks no code")

    def digest(self, name: str) -> str | None:
        """The SHA-256, in hex, of all that the variable `name` holds; None if there is no such variable. The worker
        reads it by exact classes, and runs no code of a cell."""
        raise EnvironmentUnavailable(f"this environment computes no digests, so {name} cannot be compared")

    def list_files(self) -> dict[str, int]:
        """The files of the session, and their sizes in bytes."""
        raise EnvironmentUnavailable("this environment has no files; give the data as a context")

    def read_file(self, name: str, seconds: float | None = None) -> bytes | None:  # noqa: ARG002 - as above
        """The contents of a file; None if there is no such file.

        Raises CellTimeout if it has not come in `seconds`, all waits included, and one more for each 2 MB that have;
        by default in limits.run_seconds.
        """
        raise EnvironmentUnavailable(f"this environment has no files, so {name!r} cannot be read")

    def write_file(self, name: str, data: bytes | None) -> None:  # noqa: ARG002 - those of a session that can
        """Set the contents of a file, or remove it if there are none."""
        raise EnvironmentUnavailable(f"this environment has no files, so {name!r} cannot be written; give a context")

    def fork(self) -> Session:
        """A session of its own that begins with the state of this one, between two requests.

        Raises Refused (limits.forks), and EnvironmentUnavailable where sessions cannot be copied.
        """
        raise EnvironmentUnavailable(NO_COPIES)

    def snapshot(self) -> Snapshot:
        """The present state, for `restore`. Raises as `fork`."""
        raise EnvironmentUnavailable(NO_COPIES)

    def restore(self, snapshot: Snapshot) -> None:  # noqa: ARG002 - the snapshot of a session that can
        """Go on from the state in `snapshot`, of a session with this one's policy and tools. Raises ValueError for
        another or a closed one, and EnvironmentUnavailable, after which this session is as it was."""
        raise EnvironmentUnavailable(NO_COPIES)

    @abstractmethod
    def interrupt(self) -> None:
        """From another thread, stop the running cell, or a request that waits for a resume or a checkpoint: CellTimeout
        with limit "interrupt"."""

    @abstractmethod
    def close(self) -> None:
        """End the worker and everything it started. Idempotent."""

    @property
    def refused(self) -> tuple[Decided, ...]:
        """Refused calls of the last cell: the first of each rule."""
        return ()

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether execute() can be called."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class Environment(ABC):
    """A kind of place for sessions. Holds no session itself; `open()` makes one.

    An environment of another distribution is registered as an entry point, see rlm_secure.registry; its sessions start
    only if their report shows every wall of `required_walls`, and every one that the policy requires, and go on with
    another report only if that one shows them as well.
    """

    name: str
    """The name by which policies and callers know it."""
    required_walls: tuple[Wall, ...] = ()

    @abstractmethod
    def open(self, policy: Policy, *, tools: Mapping[str, str] | None = None) -> Session:
        """Start a sealed session under `policy`.

        `tools` maps the names of host callables that cells may call to their descriptions. Raises
        EnforcementError when a required wall cannot be built and EnvironmentUnavailable when no session can be
        started.
        """

    def share(self, reservation: SandboxReservation, options: Mapping[str, Any]) -> None:  # noqa: B027 - most keep nothing
        """Let sessions reuse the sandboxes that runs of `reservation`'s tree opened with equal `options`."""

    def expect(self, context: Any) -> None:  # noqa: B027 - most need no memory in advance
        """Be told the first context of the session that is opened next, which may take memory for it."""

    def sweep(self) -> int:
        """End the sandboxes of ended processes of this machine. Returns how many; local sessions leave nothing."""
        return 0


def require_walls(environment: Environment, policy: Policy, report: EnforcementReport) -> None:
    """Check the walls that an environment of another distribution must have; ours check theirs themselves.

    Raises EnforcementError where `report` lacks one.
    """
    if environment.name in ENVIRONMENTS:
        return
    required = policy.isolation.required(environment.name, environment.required_walls)
    Gate(policy).require_walls(report, required, environment.name, "use another environment")
