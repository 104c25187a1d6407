"""The plain way to run untrusted Python, without a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rlm_secure.environments.local import launch
from rlm_secure.environments.owned import Owned, forwards
from rlm_secure.pickling import twin
from rlm_secure.resources import policy_names

if TYPE_CHECKING:  # at run time after the first process of a local session was started, see __init__
    from pathlib import Path

    from rlm_secure.environments.interface import AuditSink, Snapshot
    from rlm_secure.environments.repl import REPL
    from rlm_secure.environments.session_files import SessionFiles
    from rlm_secure.guarantees import EnforcementReport
    from rlm_secure.policy.model import Policy
    from rlm_secure.registry import EnvironmentType
    from rlm_secure.types import REPLResult


class Sandbox(Owned):
    """Runs untrusted Python behind walls; variables persist from run to run.

    Examples:
        >>> with Sandbox() as sandbox:
        ...     sandbox.run("print(1 + 1)").stdout
        '2\\n'

    `policy` is a shipped name, a path, a mapping or a Policy. `context` (str, list or dict) is bound to the
    variable `context`; a Path, or one as a value of the list or dict, is read here on the host: a file as its text,
    a directory as a dict from path to text. `tools` maps names to host callables, which cells call with JSON values
    and which return JSON values: each is an opening to the host that you make, see rlm_secure.tools. `audit`, a
    `rlm_secure.logger.AuditLog`, records every refusal, violation and limit.

    Threads take turns. A fork of the process that created it cannot use it (WrongProcess), nor can a tool for which
    its cell is waiting (ReentrantCall). Raises PolicyError for a bad policy, ContextError for a Path that cannot be
    read, ValueError for a tool that no cell could call, EnforcementError when a required wall cannot be built here.
    """

    pickle_instead = "send its policy, context and code, and create a sandbox there"

    def __init__(
        self,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        context: Any = None,
        environment: EnvironmentType | str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        audit: AuditSink | None = None,
    ) -> None:
        local = environment == "local"
        try:
            if local and _may_be_local(policy):
                launch.ahead()  # it imports its program while this process imports what follows
            from rlm_secure.policy import shipped

            policy = shipped.resolved(policy)
            if local and environment in policy.isolation.environments:
                launch.ahead()
            from rlm_secure import documents
            from rlm_secure.environments.registry import create_environment
            from rlm_secure.environments.repl import REPL

            context = documents.resolved(context, policy.limits.context_bytes)
            place = create_environment(environment, **dict(environment_kwargs or {}))

            def opened() -> REPL:
                return REPL(
                    place, policy=policy, context_payload=context, custom_tools=tools, audit=audit, with_values=True
                )

            self._open = opened
            self._repl = opened()
        except BaseException:  # Ctrl-C as well: no process may outlive a start that failed
            launch.discard()
            raise
        self._resetting = threading.Lock()

    @property
    def report(self) -> EnforcementReport:
        """The walls in force around this sandbox, found by trying."""
        return self._repl.report

    @forwards
    def run(
        self,
        code: str,
        timeout: float | None = None,
        *,
        exclude_host_time: bool = False,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
    ) -> REPLResult:
        """Run one cell, for at most `timeout` seconds of wall time (the policy's limits by default).

        The time counts from the call: it includes waiting for the cell of another thread, or for the session to be
        resumed after a killed cell, and so does the result's time. A cell that does not start in time changes nothing;
        its error is a CellTimeout. A cell that cannot be interrupted ends at most 2 * limits.grace_seconds later. Its
        files are read within as long again, and a second for each 2 MB.

        Time in tools counts, unless `exclude_host_time`: then `timeout` limits the cell's own time, as
        limits.cell_seconds does under a policy that says so, and limits.run_seconds limits the total. A tool that still
        runs when the cell ends, or after limits.tool_seconds, is abandoned: it goes on in a daemon thread.

        `on_stdout` and `on_stderr` are called in this thread with what the cell prints, soon after it is printed, and
        with the rest when it ends: together they get what the result holds. What they raise stops the cell, and is
        raised here. The text is the cell's: rlm_secure.inert.inert() makes it safe for a terminal.

        A failure of the cell is in `result.stderr` and, typed, in `result.error`; `result.check()` raises it.
        Raises SessionEnded when an earlier cell ended the session.
        """
        output = _output(on_stdout, on_stderr) if on_stdout or on_stderr else None
        return self._repl.execute_code(code, timeout=timeout, exclude_host_time=exclude_host_time, output=output)

    def set(self, **values: Any) -> None:
        """Bind variables of the session, which cells may change, to plain data of any size: see REPLResult.

        Raises ValueError for a name that a cell could not use, TypeError for a value that is no plain data, and Refused
        for one over limits.context_bytes.
        """
        self._repl.set(values)

    def get(self, name: str) -> Any:
        """The value of a variable, whole and of the class that it has there.

        Raises KeyError if there is no such variable, ValueTooLarge (limits.value_bytes) and ValueNotPlain, and
        CellTimeout if it could not be read in time.
        """
        return self._repl.get(name)

    @property
    def files(self) -> SessionFiles:
        """The files of the session, by name: bytes in its memory, which cells have as `files`. See SessionFiles."""
        return self._repl.files

    def reset(self) -> None:
        """Start again without variables: a new session with the same policy, context and tools, and its own limits.

        Raises what the constructor raises; the old session is over then.
        """
        with self._resetting:
            self._repl.cleanup()
            self._repl = self._open()

    def fork(self) -> Self:
        """A copy of this sandbox as it is now: its variables, and the same policy, tools and audit log.

        Both go on, each on its own, and neither sees what the other does; `random` gives both the same numbers. The
        copy shares memory with the original until one of them changes it, and is closed on its own. It begins with what
        the original has used of its limits, and has the rest for itself. A cell that runs ends first.

        Only for local sandboxes: raises EnvironmentUnavailable elsewhere, and Refused if limits.forks copies and
        snapshots live.
        """
        made = twin(self)
        made._repl = self._repl.fork()
        made._resetting = threading.Lock()
        return made

    def snapshot(self) -> Snapshot:
        """This sandbox's present state, for `restore`. Raises what `fork` raises."""
        return self._repl.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of this sandbox, or of another with the same policy and tools.

        What the session has used of its limits remains used. Raises ValueError for another snapshot or a closed one,
        EnvironmentUnavailable if no copy of it can be made, and SessionEnded.
        """
        self._repl.restore(snapshot)

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._repl.interrupt()

    def close(self) -> None:
        """End the worker and everything in it. Idempotent."""
        self._repl.cleanup()
        with self._resetting:  # a reset on its way has started another by now
            self._repl.cleanup()

    def _check(self) -> None:
        self._repl.require()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _may_be_local(policy: object) -> bool:
    if type(policy) is str and policy in policy_names():
        return True  # said without importing what reads a policy
    from rlm_secure.policy import peek

    return peek.may_be_local(policy)


def _output(
    on_stdout: Callable[[str], object] | None, on_stderr: Callable[[str], object] | None
) -> Callable[[str, str], object]:
    """What gets a cell's output, and tells it whom it concerns."""
    told = {"stdout": on_stdout, "stderr": on_stderr}

    def output(stream: str, text: str) -> None:
        if (tell := told[stream]) is not None:
            tell(text)

    return output
