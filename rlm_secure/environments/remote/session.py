"""A session in a sandbox that is reached through the broker protocol: Docker and the four clouds.

The same promises as a local session: the host has the wall clock; the supervisor counts CPU seconds, interrupts a
worker and then kills it; if that fails, the host ends the whole sandbox. A worker that dies is replaced by a new one,
in which the session's log is replayed with the recorded replies; a sandbox that is lost, by a worker in another one.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rlm_secure.broker.client import Declined, Lost
from rlm_secure.broker.protocol import CellResult, ready
from rlm_secure.environments.context import Flat, SharedContext, flatten
from rlm_secure.environments.deadline import SESSION_CPU, Deadline
from rlm_secure.environments.remote import supervisor
from rlm_secure.environments.remote.contexts import Contexts, Upload
from rlm_secure.environments.remote.data_image import start_seconds, unfit
from rlm_secure.environments.remote.lease import Lease, report
from rlm_secure.environments.remote.worker import KILL_SECONDS, RemoteDied, RemoteOverdue, RemoteWorker, verdict
from rlm_secure.environments.replay import NotReplayed, ReplayedSession, begin
from rlm_secure.environments.replies import Answers
from rlm_secure.environments.request_log import LogEntry
from rlm_secure.errors import (
    CellCrashed,
    CellError,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.guarantees import WITHOUT_PACKAGES, Level, Wall
from rlm_secure.loggers import logger
from rlm_secure.policy import cost
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

_log = logger("rlm_secure.broker")
_BOUND_BYTES_A_SECOND = 1e6
#: How often a session that waits for another sandbox looks whether it was closed, in seconds.
_LOOK_SECONDS = 0.1


class UnfitImage(EnvironmentUnavailable):
    """The sandbox was made from an image that cannot give the policy's packages to cells: another one is the same."""


class RemoteSession(ReplayedSession[RemoteWorker]):
    """A sealed worker in a leased sandbox. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` is not in force, EnvironmentUnavailable when the sandbox
    does not answer. Always ends the lease: releases it if the session was closed while idle and nothing went wrong
    in it, and closes it in every other case. `another(check)` leases one more sandbox, after the first one was lost;
    it raises what `check()` raises while it waits.
    """

    _worker: RemoteWorker

    def __init__(
        self,
        lease: Lease,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
        screen: bool = True,
        required: tuple[Wall, ...] | None = None,
        another: Callable[[Callable[[], None]], Lease] | None = None,
    ) -> None:
        super().__init__(policy)
        self._another: Callable[[Callable[[], None]], Lease] | None = None
        self._lost = False  # the sandbox: the next worker is in another one
        self._parting = threading.Lock()  # a late close() must not end the sandbox of the next session
        self._lease: Lease | None = lease
        self._client = lease.client
        self._screen = screen
        self._contexts = Contexts(lease)
        self._cpu = self._cpu_before = 0.0  # CPU seconds of the session, and those of them in sandboxes that are lost
        self._sound = True  # no worker died, was killed or ran into a wall
        self._underway = False
        self._telling = threading.Lock()  # an interrupt never reaches the worker of the next session
        self._worker = RemoteWorker(lease.client, policy.limits)
        walls = policy.isolation.required(lease.environment) if required is None else required
        self._required = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
        try:
            self._start(lease)
            self._command(LogEntry(begin(policy, tools, screen=screen)))
        except (Lost, Declined) as error:
            self._end("it did not start")
            if isinstance(error, Declined) and error.rule == "packages":
                raise UnfitImage(unfit(lease.environment, str(error).partition(": ")[2])) from None
            raise EnvironmentUnavailable(f"the {lease.environment} sandbox did not start: {error}") from None
        except BaseException:  # Ctrl-C as well: the sandbox must not outlive it
            self._end("it did not start")
            raise
        if policy.isolation.checkpoints:
            self._another = another  # not before: a session that did not start is begun anew by whoever opens it

    def load_context(self, name: str, payload: Any, also: Mapping[str, Any] | None = None) -> None:
        """Bind `name` to a str, list or dict of any size. Raises TypeError for a shared context.

        See ReplayedSession.load_context.
        """
        limits = self._policy.limits
        with self._lock, self._unbroken():
            self._require()
            if isinstance(payload, SharedContext):
                raise TypeError("a context that is shared by memory stays on its machine; give the payload itself")
            flat = flatten(payload, Gate(self._policy))
            self._contexts.keep(self._needed())
            try:
                upload = self._sent(flat, payload)
            except Declined as declined:
                raise EnvironmentUnavailable(f"the context {name!r} could not be sent: {declined}") from None
            request = {"op": "context", "name": name, "kind": flat.kind, "length": flat.length, **(also or {})}
            self._command(LogEntry(request, upload), limits.start_seconds + flat.view.nbytes / _BOUND_BYTES_A_SECOND)
            self._contexts.bind(name, upload)
            if not self._ended:
                self._contexts.keep(self._needed())

    def _sent(self, flat: Flat, payload: Any) -> Upload:
        """Send a context, to another sandbox if this one is lost. Raises SessionEnded, and as Contexts.send."""
        seconds = self._policy.limits.start_seconds
        try:
            return self._contexts.send(flat.view, payload, seconds=seconds)
        except Lost as lost:
            result = self._without_sandbox(Deadline(seconds), lost)
            if not result.resumed or self._lock.taken:
                raise SessionEnded(str(result.error)) from None
        try:
            return self._contexts.send(flat.view, payload, seconds=seconds)
        except Lost as lost:
            raise SessionEnded(self._gone(lost)) from None

    def _needed(self) -> list[object]:
        """The contexts that a replay of the log would need."""
        log = self._log if self._policy.isolation.checkpoints else None
        return [entry.attachment for entry in log or () if entry.attachment is not None]

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        if not self._interrupted() or not self._telling.acquire(blocking=False):
            return  # no cell runs, it is being interrupted already, or has ended
        try:
            if not self._ended:
                self._worker.interrupt()
        except ProtocolViolation:
            with self._parting:  # the thread that runs the cell finds its sandbox gone
                if self._lease is not None:
                    self._lease.kill()
        finally:
            self._telling.release()

    def close(self) -> None:
        """End the worker and its sandbox, and wait until they are gone. Idempotent."""
        self._closing = True
        at_rest = self._lock.acquire(blocking=False)
        if not at_rest:
            # A cell runs in another thread: that notices the sandbox's end, and releases the lock.
            if os.getpid() == self._owner:
                with self._parting:
                    if self._lease is not None:
                        self._lease.kill()
            self._lock.acquire()
        try:
            self._end("it was closed", release=at_rest and self._sound and not self._underway)
        finally:
            self._lock.release()

    # -- one request ------------------------------------------------------------------------------

    @contextmanager
    def _unbroken(self) -> Iterator[None]:
        """End the session if the supervisor breaks the protocol within the block."""
        try:
            yield
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise

    def _deadline(self, wall: float) -> Deadline:
        return Deadline(wall)

    def _transmit(self, entry: LogEntry, deadline: Deadline) -> None:
        upload: Upload | None = entry.attachment
        if upload is not None and upload not in self._contexts:  # it was sent to a sandbox that is lost
            began = time.monotonic()
            seconds = self._policy.limits.start_seconds
            upload = entry.attachment = self._contexts.send(upload.data, upload.payload, seconds=seconds)
            self._contexts.bind(entry.request["name"], upload)
            deadline.extend(time.monotonic() - began)
        self._worker.send(entry.request, None if upload is None else upload.number)

    def _attempt(self, entry: LogEntry, calls: Answers, deadline: Deadline, stopped: list[BaseException]) -> CellResult:
        self._underway = True
        worker = self._worker
        try:
            result = self._converse(entry, calls, deadline, stopped)
            self._underway = False
            if deadline.cause is not None and deadline.cause.limit == SESSION_CPU:
                return self._spent(result, deadline.cause)
        except (RemoteDied, RemoteOverdue, Lost, Declined) as failure:
            used = worker.cpu_seconds
            self._cpu += used
            result = self._ended_with(failure, deadline)
            result.cpu_seconds = used
            return result
        self._sound = self._sound and not isinstance(result.error, WallViolation | CellCrashed)
        self._note(entry, result)
        return result

    def _note(self, entry: LogEntry, result: CellResult) -> None:
        self._cpu += result.cpu_seconds
        super()._note(entry, result)
        if self._log is None:
            self._contexts.forget()

    def _ended_with(self, failure: RemoteDied | RemoteOverdue | Lost | Declined, deadline: Deadline) -> CellResult:
        """The result of a cell that ended with its worker, or with the sandbox."""
        if isinstance(failure, RemoteDied):
            return self._recover(verdict(failure.ended, self._policy.limits, self._cpu_before), deadline)
        if not isinstance(failure, RemoteOverdue):
            return self._without_sandbox(deadline, failure)
        if failure.final:
            # What holds too much memory is not started again.
            self._lost = isinstance(failure.error, CellTimeout)
            if not self._lost or self._another is None:
                return self._not_resumed(failure.error, str(failure))
        return self._recover(failure.error, deadline)

    # -- start, recovery, end ---------------------------------------------------------------------

    def _start(self, lease: Lease) -> None:
        limits = self._policy.limits
        # Of all workers together: the supervisor adds up those of its sandbox.
        cpu = math.ceil(limits.session_cpu_seconds - self._cpu_before)
        rlimits = {
            "DATA": limits.memory_bytes,
            "AS": (1 << 30) + 2 * limits.memory_bytes + 4 * limits.context_bytes,  # page tables, as in local/pool.py
            "CPU": [cpu, cpu + 1],
            "NPROC": limits.processes,
            "NOFILE": limits.open_files,
        }
        started = self._client.start(rlimits, "worker", seconds=start_seconds(self._policy))
        try:
            sealed = ready(self._worker.receive(Deadline(limits.start_seconds)))
        except (RemoteDied, RemoteOverdue) as error:
            raise EnvironmentUnavailable(f"a worker died while it was sealed: {error}") from None
        outer = (*lease.walls(started.around), *supervisor.walls(started.around))
        packages = self._policy.language.packages
        found = report(lease, started.walls, sealed, outer, started.details, screen=self._screen, packages=packages)
        self.report = replace(found, spend=cost.bounded(self._policy))
        advice = "use another image, runtime or place"
        if Wall.LANGUAGE in self.report.missing(self._required):
            advice = WITHOUT_PACKAGES
        self._gate.require_walls(self.report, self._required, lease.environment, advice)
        network = self.report[Wall.PROVIDER_NETWORK_BLOCK]
        if network in self.report.walls and network.level is Level.NONE:
            said = "this %s sandbox has a network, which the policy accepts: %s"
            _log.warning(said, lease.environment, network.evidence)

    def _bring_back(self) -> bool:
        if not self._policy.isolation.checkpoints:
            return False
        if self._lost:
            self._move()
        else:
            self._sound = False
            self._client.end(seconds=KILL_SECONDS)
        if (lease := self._lease) is None:
            return False
        self._worker = RemoteWorker(self._client, self._policy.limits)
        self._start(lease)
        return True

    def _move(self) -> None:
        """End the sandbox, and lease another one. Raises EnvironmentUnavailable."""
        with self._parting:
            lease, self._lease = self._lease, None
        if lease is None or self._another is None:
            return
        lease.close()  # first: there may be no more than one at a time
        self._cpu_before, most = self._cpu, self._policy.limits.session_cpu_seconds
        if self._cpu_before >= most:
            raise NotReplayed(f"the session used up limits.session_cpu_seconds = {most:g} s")
        lease = self._leased(self._another)
        with self._parting:
            self._lease = lease
        self._client, self._contexts = lease.client, Contexts(lease)
        self._lost, self._sound = False, True

    def _leased(self, another: Callable[[Callable[[], None]], Lease]) -> Lease:
        """A new lease. Raises as `another`, and EnvironmentUnavailable once the session is closed: it then ends as soon
        as it is made."""
        future: Future[Lease] = Future()

        def lease() -> None:
            try:
                made = another(self._require)
            except BaseException as error:  # noqa: BLE001 - result() raises it
                future.set_exception(error)
                return
            with self._parting:
                wanted = not self._closing
                if wanted:
                    future.set_result(made)
            if not wanted:
                made.close()

        threading.Thread(target=lease, name="rlm_secure-lease", daemon=True).start()
        while True:
            try:
                return future.result(_LOOK_SECONDS)
            except TimeoutError:
                with self._parting:
                    if self._closing and not future.done():
                        raise EnvironmentUnavailable("it was closed") from None

    def _without_sandbox(self, deadline: Deadline, lost: Lost | Declined) -> CellResult:
        """The result of a cell whose sandbox cannot be reached; the session goes on in another one, if it can."""
        if deadline.cause is not None:
            error: CellError = deadline.cause
        elif self._another is not None and isinstance(lost, Lost) and not self._closing:
            self._lost = True
            return self._recover(CellCrashed(self._why(lost), wall="container"), deadline)
        else:
            error = CellCrashed(self._gone(lost), wall="container")
        return self._not_resumed(error, str(error))

    def _why(self, lost: Lost | Declined) -> str:
        """Why the sandbox cannot be reached, as cells may read it."""
        lease = self._lease
        exit_reason = "it was closed" if self._closing or lease is None else lease.exit_reason()
        # Cells may not read the words of a provider, or an address.
        _log.warning("the sandbox is gone: %s (%s)", exit_reason, lost)
        return f"the sandbox is gone: {exit_reason}"

    def _gone(self, lost: Lost | Declined) -> str:
        """End the session; return why its sandbox cannot be reached."""
        said = self._why(lost)
        self._end(said)
        return said

    def _end(self, reason: str, *, release: bool = False) -> None:
        self._ended = self._ended or reason
        self._log = None
        self._contexts.forget()
        if os.getpid() != self._owner:
            self._lease = None
            return
        with self._parting:
            lease, self._lease = self._lease, None
        if lease is None:
            return
        if not release:
            lease.close()
            return
        with self._telling:
            lease.release()

    def __del__(self) -> None:
        # At interpreter exit, exit handlers have ended every lease, and frozen threads may hold any lock.
        if getattr(self, "_lease", None) is not None and not sys.is_finalizing():
            self._end("it was dropped")
