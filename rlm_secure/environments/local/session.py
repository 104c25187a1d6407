"""A local session: one worker, a copy-on-write spare of it, and the log that leads from the spare to now.

A checkpoint is a fork of the worker, taken between cells: the child goes on, the parent is the spare and
waits. When a cell is killed, the spare takes over and the log since the checkpoint, with the host's recorded
replies, is run again. Where there is no spare yet, a fresh session replays the log from its start. The steady
cost is near zero: a checkpoint is taken when the session is idle, or when the log is worth 50 ms of CPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from rlm_secure.broker.protocol import CellResult
from rlm_secure.environments.clock import Clock
from rlm_secure.environments.local import keeper, pidfd, pool, report
from rlm_secure.environments.local.context import SharedContext, share
from rlm_secure.environments.local.forked import Forked
from rlm_secure.environments.local.worker import Died, Overdue, Worker
from rlm_secure.environments.local.zygote import Plan, Zygote
from rlm_secure.environments.logged import Answers, Entry, LoggedSession, begin
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

#: A log that took more CPU seconds, or has more entries, is cut off by a checkpoint before the next cell.
_LOG_SECONDS = 0.05
_LOG_ENTRIES = 256
#: A log that took less, has fewer entries, and called nothing, is not worth a checkpoint while idle.
_WORTH_SECONDS = 0.005
_WORTH_ENTRIES = 16
#: A worker that has not copied itself after this long goes on without a checkpoint.
_FORK_SECONDS = 1.0
#: A spare that was let go of has ended after this long.
_STRANGER_SECONDS = 0.25


class LocalSession(LoggedSession):
    """A sealed worker on this machine. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` does not hold, EnvironmentUnavailable when there is no
    zygote to be had.
    """

    failures = (Died, Overdue)
    _worker: Worker

    def __init__(
        self, policy: Policy, plan: Plan, first: Mapping[str, Any], required: tuple[Wall, ...], *, screen: bool
    ) -> None:
        super().__init__(policy)
        self._recipe = pool.Recipe(plan, policy.limits, policy.isolation.checkpoints, screen, json.dumps(first))
        self._required = required
        self._spare: Worker | None = None
        self._forked: Forked | None = None
        self._start()

    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list, dict or an already shared context."""
        limits = self._policy.limits
        shared = payload if isinstance(payload, SharedContext) else share(payload, Gate(self._policy))
        request = {"op": "context", "name": name, "kind": shared.kind, "length": shared.length}
        self._command(Entry(request, shared), limits.start_seconds + shared.size / 20e6)

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._worker.interrupted.set()

    def close(self) -> None:
        """Kill the worker and all its copies, and wait until they are gone. Idempotent."""
        self._closing = True
        forked = self._forked
        if forked is not None and os.getpid() == self._owner:
            forked.kill()  # a cell that runs in another thread sees its worker die, and lets go of the lock
        with self._lock:
            self._end("it was closed")

    # -- one request ------------------------------------------------------------------------------

    def _clock(self, wall: float) -> Clock:
        return Clock(wall, self._policy.limits.cell_cpu_seconds, self._worker.cpu_seconds)

    def _cell(self, code: str) -> Entry:
        if self._log is None or self._log_seconds > _LOG_SECONDS or len(self._log) > _LOG_ENTRIES:
            self.checkpoint()
        return super()._cell(code)

    def _transmit(self, entry: Entry) -> None:
        try:
            self._worker.send(entry.request, None if entry.attachment is None else [entry.attachment.fd])
        except Died as died:
            died.unsent = True
            raise

    def _attempt(self, entry: Entry, calls: Answers, clock: Clock, stopped: list[BaseException]) -> CellResult:
        for last in (False, True):
            try:
                result = self._converse(entry, calls, clock, stopped)
            except Died as died:
                result = self._recover(self._worker.verdict())
                if died.unsent and result.resumed and not last:
                    continue  # it died while it was idle: the cell has not run, and nothing was lost
                return result
            except Overdue as overdue:
                return self._recover(overdue.error)
            self._note(entry, result)
            result.resumed = last
            return result
        raise AssertionError("the second round returns")

    def _noted(self) -> None:
        if not self._copies:
            super()._noted()
        elif (
            self._log is None
            or self._log_seconds > _WORTH_SECONDS
            or self._log[-1].replies
            or len(self._log) > _WORTH_ENTRIES
        ):
            keeper.watch(self)

    # -- start, checkpoint, recovery, end ---------------------------------------------------------

    def _start(self) -> None:
        blank = pool.take(self._recipe, self._policy.isolation.pool)
        self._forked = blank.forked
        self._worker = self._root = blank.worker
        self.report = blank.report
        # A copy outlives nobody only where the kernel ends it with the session, and is counted only under limits.
        own_pids = self.report[Wall.PID_NAMESPACE].level is Level.FULL
        self._copies = own_pids and self._recipe.plan.rlimits and self._recipe.checkpoints
        try:
            report.require(self._policy, self.report, self._required)
        except BaseException:  # Ctrl-C as well: nothing of it may stay
            self._end("it lacks a required wall")
            raise

    def checkpoint(self) -> bool:
        """Make the worker's present state the one that a killed cell falls back to. Returns whether it did."""
        with self._lock:
            if self._ended or self._forked is None or not self._copies:
                return False
            try:
                fresh = self._fork_worker(self._forked.zygote)
            except (Died, Overdue, EnvironmentUnavailable, OSError):
                return False
            if self._stranger(fresh):
                fresh.drop()
                self._end("a process that nobody asked for was left in it")
                return False
            if self._spare is self._root:
                with contextlib.suppress(Died, Overdue):  # then all of it is gone, and the next request says so
                    self._root.send({"op": "retire"})
            elif self._spare is not None:
                self._spare.drop()
            self._spare, self._worker = self._worker, fresh
            self._log, self._log_seconds = [], 0.0
            return True

    def while_idle(self) -> None:
        """Take a checkpoint, unless a cell runs: a busy session is looked at again after its cell."""
        if self._lock.acquire(blocking=False):
            try:
                self.checkpoint()
            finally:
                self._lock.release()

    def _fork_worker(self, zygote: Zygote) -> Worker:
        allowed = self._policy.limits.processes
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The kernel names the process at the other end: what it writes carries its pid.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            zygote.allow_processes(self._worker.pid, allowed + pool.CHECKPOINT_PROCESSES)
            self._worker.send({"op": "checkpoint"}, [theirs.fileno()])
            theirs.close()
            ours.settimeout(_FORK_SECONDS)
            # Waited for here, because a worker that never answers must not hold the zygote. Where nothing comes,
            # there is nobody to adopt, and adopt() says so after it has put the limit back.
            with contextlib.suppress(TimeoutError):
                ours.recv(1, socket.MSG_PEEK)
            pid, pidfd = zygote.adopt(ours, self._worker.pid, allowed)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            fresh = Worker(ours, pidfd, pid, self._policy.limits)
            fresh.event(Clock(self._policy.limits.start_seconds))
        except BaseException:  # Ctrl-C as well: nothing of it may stay
            ours.close()
            raise
        finally:
            theirs.close()
        return fresh

    def _stranger(self, fresh: Worker) -> bool:
        """Whether anybody but init, the spare, the worker and its copy lives in the session.

        For the moment of a copy a worker may have more processes than its policy grants, and it could keep one. Asked
        from outside; a spare that was let go of has a moment to end.
        """
        deadline = time.monotonic() + _STRANGER_SECONDS
        while True:
            ours = (self._root, self._spare, self._worker, fresh)
            workers = {worker.host_pid for worker in ours if worker is not None}
            init = self._root.host_pid
            try:
                if init is None or not pidfd.descendants(init) - workers:
                    return False
            except OSError:
                return True  # the machine does not say who lives there
            if time.monotonic() > deadline:
                return True
            time.sleep(0.002)

    def _bring_back(self) -> bool:
        if self._spare is not None:
            self._worker.kill()
            self._worker.drop()
            self._worker, self._spare = self._spare, None
            return self.checkpoint()
        self._release()
        self._start()
        return True

    def _release(self) -> None:
        for worker in {self._worker, self._root, self._spare}:
            if worker is not None:
                worker.drop()
        self._spare = None
        if self._forked is not None:
            forked, self._forked = self._forked, None
            forked.end(alive=os.getpid() == self._owner)

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        if self._forked is not None:
            self._release()
            self._log = None

    def __del__(self) -> None:
        if getattr(self, "_forked", None) is not None:
            self._end("it was dropped")


def open_session(
    policy: Policy,
    *,
    tools: Mapping[str, str] | None = None,
    plan: Plan | None = None,
    screen: bool = True,
    required: tuple[Wall, ...] | None = None,
) -> LocalSession:
    """A started session. See LocalSession for `screen` and `required` (the policy's walls, by default)."""
    walls = policy.isolation.required("local") if required is None else required
    walls = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
    return LocalSession(policy, plan or Plan(), begin(policy, tools, screen=screen), walls, screen=screen)
