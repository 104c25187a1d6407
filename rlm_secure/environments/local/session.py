"""A local session: one worker, a copy-on-write spare of it, and the log of requests since the spare was made.

A checkpoint is a fork of the worker, taken between cells: the child goes on, the parent becomes the spare and
waits. When a cell is killed, the spare takes over and the log since the checkpoint, with the host's recorded
replies, is replayed. If there is no spare yet, a fresh worker replays the log from its start. The steady
cost is near zero: a checkpoint is taken when the session is idle, or when the log is worth 50 ms of CPU.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rlm_secure.broker.protocol import CellResult
from rlm_secure.environments.context import SharedContext, share
from rlm_secure.environments.deadline import SESSION_CPU, Deadline
from rlm_secure.environments.local import idle, pidfd, pool, report
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.worker import Died, Overdue, Worker, weigh
from rlm_secure.environments.local.zygote import Plan
from rlm_secure.environments.replay import REPLAY_SECONDS, ReplayedSession, begin
from rlm_secure.environments.replies import Answers
from rlm_secure.environments.request_log import LogEntry
from rlm_secure.errors import CellCrashed, CellError, EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import cost
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

#: If the log took more CPU seconds, or has more entries, a checkpoint precedes the next cell.
_LOG_SECONDS = 0.05
_LOG_ENTRIES = 256
#: A log within both limits, without calls in its last entry, is not worth a checkpoint while idle.
_WORTH_SECONDS = 0.005
_WORTH_ENTRIES = 16
#: Longest checkpoint: a worker needs milliseconds of CPU, and gets them within two seconds even with a hundred busy
#: processes for each processor. The kernel copies the page tables of a gigabyte in a fraction of a second.
_CHECKPOINT_SECONDS = 2.0
#: After this many failed or slow checkpoints in a row, a session takes no more.
_COPIES_MISSED = 2
_COPIED_BYTES_A_SECOND = 1e9
#: A checkpoint is slow if it took longer than this plus the time for its bytes: it delays callers.
_SLOW_SECONDS = 0.5
#: File descriptors that a checkpoint needs in the host: a channel, a pidfd, and open files of /proc.
_DESCRIPTORS = 8
#: How long a retired init may run to free its memory. Then it is stopped.
_RETIRE_SECONDS = 1.0
#: What it may still hold: the interpreter, its modules, and what the allocator does not return to the kernel.
_RETIRED_BYTES = 64 << 20


class LocalSession(ReplayedSession):
    """A sealed worker on this machine. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` is not in force, EnvironmentUnavailable when no zygote can be
    started.
    """

    _worker: Worker

    def __init__(
        self, policy: Policy, plan: Plan, first: Mapping[str, Any], required: tuple[Wall, ...], *, screen: bool
    ) -> None:
        super().__init__(policy)
        budget = policy.limits.session_cpu_seconds
        checkpoints = policy.isolation.checkpoints
        self._spec = pool.WorkerSpec(plan, policy.limits, checkpoints, screen, json.dumps(first), budget)
        self._required = required
        self._spare: Worker | None = None
        self._leaving: Worker | None = None  # the spare that was replaced: killed, but not waited for yet
        self._process: SessionProcess | None = None
        self._listener: Listener | None = None
        self._cpu = CpuAccount(budget)
        self._copies_missed = 0  # in a row
        self._copy_seconds = policy.limits.memory_bytes / _COPIED_BYTES_A_SECOND
        self._unadopted = False  # a fork was allowed, and its copy never reported
        self._start()

    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list, dict or an already shared context."""
        limits = self._policy.limits
        shared = payload if isinstance(payload, SharedContext) else share(payload, Gate(self._policy))
        request = {"op": "context", "name": name, "kind": shared.kind, "length": shared.length}
        self._command(LogEntry(request, shared), limits.start_seconds + shared.size / 20e6)

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._interrupted()

    def close(self) -> None:
        """Kill the worker and all its copies, and wait until they are gone. Idempotent."""
        self._closing = True
        process = self._process
        try:
            if process is not None and os.getpid() == self._owner:
                process.kill()  # a cell that runs in another thread fails, and releases the lock
        finally:
            with self._lock:
                self._end("it was closed")

    # -- one request ------------------------------------------------------------------------------

    def _deadline(self, wall: float) -> Deadline:
        return Deadline(wall, self._policy.limits.cell_cpu_seconds, self._worker_cpu, self._cpu.left)

    def _worker_cpu(self) -> float | None:
        return self._worker.cpu_seconds()

    def _cut_log(self, deadline: Deadline) -> None:
        """Take a checkpoint before a cell, within the cell's bounds. Its time does not count as the cell's own.

        Raises Overdue when the cell's bounds end first, SessionEnded when the session ends.
        """
        if self._log is None or self._log_seconds > _LOG_SECONDS or len(self._log) > _LOG_ENTRIES:
            retires = self._spare is not None and self._spare is self._root
            if retires and deadline.left_of_bounds() < _RETIRE_SECONDS and self._log_seconds <= REPLAY_SECONDS:
                return  # init may need longer to free its memory: left for when the session is idle
            began = time.monotonic()
            self._try_checkpoint(deadline)
            self._require()
            deadline.extend(time.monotonic() - began)

    def _transmit(self, entry: LogEntry, deadline: Deadline) -> None:
        try:
            self._worker.send(entry.request, None if entry.attachment is None else [entry.attachment.fd], deadline)
        except Died as died:
            died.unsent = True
            raise

    def _attempt(self, entry: LogEntry, calls: Answers, deadline: Deadline, stopped: list[BaseException]) -> CellResult:
        for last in (False, True):
            if self._cpu.left_at_last_look() <= 0:
                return self._recover(self._cpu.exceeded(), deadline)
            try:
                if entry.request["op"] == "exec":
                    self._cut_log(deadline)
                result = self._converse(entry, calls, deadline, stopped)
            except Died as died:
                result = self._recover(self._verdict(), deadline)
                result.cpu_seconds = died.cpu_seconds
                if died.unsent and result.resumed and not last and not self._lock.taken:
                    continue  # it died while it was idle: the cell has not run, so it is sent again
                return result
            except Overdue as overdue:
                if overdue.final:
                    said = f"{overdue.error}; the session is over\n"
                    result = self._spent(CellResult(stderr=said), overdue.error)
                else:
                    result = self._recover(overdue.error, deadline)
                result.cpu_seconds = overdue.cpu_seconds
                return result
            if deadline.cause is not None and deadline.cause.limit == SESSION_CPU:
                return self._spent(result, self._cpu.exceeded())
            self._note(entry, result)
            result.resumed = last
            return result
        raise AssertionError("the second round returns")

    def _converse(
        self, entry: LogEntry, calls: Answers, deadline: Deadline, stopped: list[BaseException]
    ) -> CellResult:
        worker, before = self._worker, self._worker.cpu_at_most()
        try:
            result = super()._converse(entry, calls, deadline, stopped)
        except (Died, Overdue) as ended:
            ended.cpu_seconds = worker.cpu_at_most() - before
            raise
        result.cpu_seconds = worker.cpu_at_most() - before  # by the kernel's clock, not the worker's report
        return result

    def _verdict(self) -> CellError:
        """Why the worker died."""
        error = self._worker.verdict()
        self._cpu.settle(self._worker)
        # RLIMIT_CPU may have killed it between two checks of the host.
        return self._cpu.exceeded() if isinstance(error, CellCrashed) and self._cpu.left() <= 0 else error

    def _noted(self) -> None:
        if not self._copies:
            super()._noted()
        elif (
            self._log is None
            or self._log_seconds > _WORTH_SECONDS
            or self._log[-1].replies
            or len(self._log) > _WORTH_ENTRIES
        ):
            idle.watch(self)

    # -- start, checkpoint, recovery, end ---------------------------------------------------------

    def _start(self) -> None:
        spec, size = self._spec, self._policy.isolation.pool
        if self._cpu.used() > 0:  # a ready worker has the CPU limit of a whole session
            spec, size = replace(spec, cpu_seconds=self._cpu.left()), 0
        warm = pool.take(spec, size)
        self._process, self._listener = warm.process, warm.worker.listener
        self._worker = self._root = warm.worker
        self.report = replace(warm.report, spend=cost.bounded(self._policy))
        self._weigh()
        self._cpu.open(self._worker, self._process.group)
        # Copies need a PID namespace, so that the kernel ends them with the session; limits, so that they are counted;
        # and the listener, so that the host knows every process of the session.
        own_pids = self.report[Wall.PID_NAMESPACE].level is Level.FULL
        counted = own_pids and self._spec.plan.rlimits and self._listener is not None
        self._copies = counted and not self._unadopted
        try:
            report.require(self._policy, self.report, self._required)
        except BaseException:  # Ctrl-C as well: no process may remain
            self._end("it lacks a required wall")
            raise

    def _weigh(self) -> None:
        """Have the host check the worker's memory if no cgroup limits it; the report says so if it cannot."""
        if self._spec.plan.rlimits and self.report[Wall.CGROUP].level is not Level.FULL:
            try:
                self._worker.weighed = self._worker.held_bytes() is not None
            except Overdue as overdue:
                raise EnvironmentUnavailable(str(overdue)) from None
            if not self._worker.weighed:
                self.report = report.noted(self.report, Wall.RLIMITS, "the host cannot see what a worker holds")

    def checkpoint(self) -> bool:
        """Make the worker's present state the one from which a killed session resumes. Returns whether it did.

        A worker that does not fork in time, or presents another process as its copy, ends its session, and delays no
        other.
        """
        return self._try_checkpoint(None)

    def _try_checkpoint(self, request: Deadline | None) -> bool:
        """`checkpoint`, within the bounds of a `request` that waits for it. Raises Overdue when those end."""
        with self._lock:
            if self._ended or self._process is None or self._listener is None or not self._copies:
                return False
            try:
                return self._checkpoint(self._listener, request)
            except Overdue as overdue:
                if overdue.final:
                    self._end(str(overdue))
                elif request is not None and (self._worker.interrupted.is_set() or not request.left_of_bounds()):
                    raise
                self._end("its worker made no copy of itself in time when it was asked for a checkpoint")
            except ProtocolViolation as error:
                self._end(f"its checkpoint failed: {error}")
            except OSError as error:
                self._end(f"its checkpoint failed: {error.strerror}")  # without the path: cells read it
            except BaseException:  # Ctrl-C as well: there may be a process without a handle
                self._end("its host was interrupted while it took a checkpoint")
                raise
            return False

    def _checkpoint(self, listener: Listener, request: Deadline | None) -> bool:
        if self._leaving is not None:
            self._drop(self._leaving)
            self._leaving = None
        channel = _channel()
        if channel is None:
            return False  # nothing was sent to the worker: it is unchanged
        before = self._spare
        began = time.monotonic()
        try:
            fresh = self._copy(*channel, listener, request)
        except Died:  # the next request notices, and resumes from the spare
            fresh = None
        except Overdue:
            if self._unadopted:
                self._end_unadopted()
            raise
        if fresh is not None:
            self._spare, self._worker = self._worker, fresh
            # Stopped first, so that a hostile spare uses no CPU or memory while a retired init frees its own.
            self._spare.stop()
            self._let_go(before)
            self._spare.weigh()
        if self._strangers():
            raise ProtocolViolation("a process that nobody asked for was left in it")
        missed = fresh is None or time.monotonic() - began > _SLOW_SECONDS + self._copy_seconds
        self._copies_missed = self._copies_missed + 1 if missed else 0
        self._copies = self._copies and self._copies_missed < _COPIES_MISSED
        if fresh is None or self._spare is None:
            self._worker.stop()
            return False
        if before is self._root and not self._slim(request) and self._process is not None and not self._process.bounded:
            self._drop(self._spare)
            self._spare, self._log, self._copies = None, None, False
            return False
        self._begin_log()
        return True

    def _let_go(self, spare: Worker | None) -> None:
        """Kill the spare that was replaced. Init must live as long as its session: it only frees its memory."""
        if spare is self._root:
            self._cpu.allow(self._root, min(_RETIRE_SECONDS, self._cpu.left()))
            with contextlib.suppress(Died, Overdue):  # then the session is gone, and the next request reports it
                self._root.send({"op": "retire"})
        elif spare is not None:
            spare.kill(wait=False)
            self._leaving = spare

    def while_idle(self) -> None:
        """Take a checkpoint, unless a cell runs: a busy session is scheduled again after its cell."""
        with self._lock.in_background() as free:
            if free:
                self.checkpoint()

    def _copy(
        self, ours: socket.socket, theirs: socket.socket, listener: Listener, request: Deadline | None
    ) -> Worker | None:
        """The copy that replaces the worker, at the other end of `ours`; None if the worker could not make one.

        Raises Died, Overdue, ProtocolViolation and OSError.
        """
        limits = self._policy.limits
        seconds = _CHECKPOINT_SECONDS + self._copy_seconds
        deadline = Deadline(seconds) if request is None else request.step(seconds)
        try:
            # The kernel identifies the process at the other end: it attaches the writer's pid to the data.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._worker.send({"op": "checkpoint"}, [theirs.fileno()], deadline)
            theirs.close()
            consented = False
            while not consented:
                if self._wait(ours, deadline, request, listener) is ours:
                    ours.close()
                    return None  # it made no copy, and did not call clone(2)
                pid = self._worker.host_pid
                if pid is None:
                    raise Died
                began = time.monotonic()
                consented = listener.consent(pid)
            handle = self._adopt(ours, deadline, request, began)
            if handle is None:
                ours.close()
                return None  # it reports that its fork failed; that no copy exists is checked from outside
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        except BaseException:  # Ctrl-C as well: the socket must not remain open
            ours.close()
            raise
        finally:
            theirs.close()
        fresh = Worker(ours, handle, limits, since=began)  # it may end before the first reading
        fresh.listener, fresh.weighed, fresh.nonce = listener, self._worker.weighed, self._worker.nonce
        fresh.descriptors_at_rest = self._worker.descriptors_at_rest
        if request is not None:  # a thread that interrupts the cell may hold either worker
            fresh.interrupted = self._worker.interrupted
        self._cpu.add(fresh)
        fresh.parent = self._worker
        try:
            fresh.result(deadline)
        except BaseException:  # Ctrl-C as well
            self._drop(fresh)
            raise
        fresh.parent = None
        return fresh

    def _wait(
        self, ours: socket.socket, deadline: Deadline, request: Deadline | None, listener: Listener | None = None
    ) -> socket.socket | None:
        """Wait for data on `ours`, then return it, or for a call at the listener: None. Raises Died and Overdue."""
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        poll.register(self._worker.pidfd, select.POLLIN)
        if listener is not None:
            poll.register(listener.fileno(), select.POLLIN)
        while not (ready := {fd for fd, _ in poll.poll(deadline.slice() * 1000)}):
            if request is not None and self._worker.interrupted.is_set():
                deadline.interrupt()
            cause = deadline.over()
            if cause is not None and deadline.overdue() > self._policy.limits.grace_seconds:
                raise Overdue(cause)
            self._worker.weigh()
            if listener is None:
                self._weigh_copy()
        if ours.fileno() in ready:
            return ours
        if self._worker.pidfd in ready:
            raise Died
        return None

    def _weigh_copy(self) -> None:
        """Check the memory of processes that the listener allowed and that have not reported yet."""
        pid = self._worker.host_pid
        for copy in pidfd.descendants(pid) if self._worker.weighed and pid is not None else ():
            weigh(copy, self._policy.limits)

    def _adopt(self, ours: socket.socket, deadline: Deadline, request: Deadline | None, began: float) -> int | None:
        """A pidfd of the copy that was allowed at the time `began`; None if the worker reports that it made none.

        That may be a lie: a copy may have run since then, and ended unseen. So that time counts as used, and there are
        no more copies: no other process of a session runs without its CPU seconds being read.
        """
        handle = None
        try:
            self._wait(ours, deadline, request)
            handle = self._child(ours)
        finally:
            if handle is None:
                self._copies, self._unadopted = False, True
                self._cpu.lost(time.monotonic() - began)
                self._cpu.allow(self._worker, self._cpu.left())
        return handle

    def _child(self, ours: socket.socket) -> int | None:
        """A pidfd of the worker's child that wrote to the other end of `ours`; None if that end is closed.

        One clone(2) was allowed, so there is exactly one new child, and there can be no other.
        """
        data, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(12), socket.MSG_PEEK | socket.MSG_DONTWAIT)
        if not data:
            return None
        pid = struct.unpack("iii", ancillary[0][2])[0] if ancillary else 0
        handle = os.pidfd_open(pid)
        if pidfd.parent_of(handle) != self._worker.host_pid:
            os.close(handle)
            raise ProtocolViolation("a worker passed another process off as its copy")
        return handle

    def _end_unadopted(self) -> None:
        """Kill the worker, and the copy that was allowed and never reported, so that a resumed session has neither.
        Raises ProtocolViolation and OSError if the copy may still live.
        """
        began = time.monotonic()
        self._worker.kill()  # during its call or after it: no copy can start from now on
        try:
            for pid in self._strangers():
                handle = os.pidfd_open(pid)
                try:
                    if pid in self._strangers():  # so the pid and the handle refer to the same process
                        pidfd.send_signal(handle, signal.SIGKILL)
                        pidfd.ended(handle, 5.0)
                finally:
                    os.close(handle)
        finally:
            self._cpu.lost(time.monotonic() - began)
        if self._strangers():
            raise ProtocolViolation("a copy that was never adopted could not be ended")

    def _strangers(self) -> set[int]:
        """Pids of processes in the session other than init, worker and spares, seen from outside; {0} if unknown.

        The listener allows no others, so this is a second check. No process can start during it. It is repeated if a
        known process ended meanwhile, because that one's children have another parent then.
        """
        known = (self._root, self._spare, self._worker, self._leaving)
        ours = [worker for worker in known if worker is not None]
        while True:
            pids = [worker.host_pid for worker in ours]
            if pids[0] is None:
                return set()  # init has ended, and every process with it
            try:
                found = pidfd.descendants(pids[0]) - set(pids)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    raise
                found = {0}  # /proc does not list the processes
            if pids == [worker.host_pid for worker in ours]:
                return found

    def _drop(self, worker: Worker) -> None:
        """Kill a copy, wait until it is gone, and count what it used."""
        worker.kill()
        self._cpu.settle(worker)
        worker.drop()

    def _slim(self, request: Deadline | None) -> bool:
        """Wait until the retired init has freed its memory, and stop it. Returns whether it has.

        It has 1 s, or what is left of the bounds of a `request` that waits, until that is interrupted. Without a cgroup
        for the whole session, only two processes may hold the memory that the policy grants: if init keeps it, there is
        no spare, and there are no more copies.
        """
        seconds = min(_RETIRE_SECONDS, self._cpu.left())
        latest = time.monotonic() + (seconds if request is None else min(seconds, request.left_of_bounds()))
        while (held := self._root.held_bytes()) is not None and held > _RETIRED_BYTES and time.monotonic() < latest:
            self._root.weigh()
            if request is not None and self._worker.interrupted.is_set():
                break
            time.sleep(0.005)
        self._root.stop()
        self._root.weigh()  # it may have taken more instead
        return held is not None and held <= _RETIRED_BYTES

    def _bring_back(self) -> bool:
        if self._spare is not None:
            self._drop(self._worker)
            self._worker, self._spare = self._spare, None
            self._cpu.allow(self._worker, self._cpu.left())
            if not self._copies:  # it cannot be copied: this state can be restored only once
                self._log = None
                return True
            return self.checkpoint()
        self._release()
        self._start()
        return True

    def _release(self) -> None:
        listener, self._listener = self._listener, None
        process, self._process = self._process, None
        alive = os.getpid() == self._owner
        known = (self._worker, self._root, self._spare, self._leaving)
        workers = {worker for worker in known if worker is not None}
        self._spare = self._leaving = None
        with contextlib.ExitStack() as last:  # runs from the last to the first, even if one of them is interrupted
            if process is not None:
                last.callback(process.end, alive=alive)
            if listener is not None:
                last.callback(listener.close)
            for worker in workers:
                last.callback(worker.drop)
            if alive and process is not None:
                last.callback(self._cpu.close)
                for worker in workers:
                    worker.cpu_seconds()
                    last.callback(self._cpu.settle, worker)
                    last.callback(worker.kill)
                last.callback(process.kill)

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        if self._process is not None:
            self._release()
            self._log = None

    def __del__(self) -> None:
        if getattr(self, "_process", None) is None:
            return
        if sys.is_finalizing():  # exit handlers have ended all sessions; threads frozen by now may hold any lock
            return
        self._end("it was dropped")


def _channel() -> tuple[socket.socket, socket.socket] | None:
    """A socket pair for a copy; None if the host lacks the file descriptors that a checkpoint needs."""
    with contextlib.ExitStack() as held:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            for _ in range(_DESCRIPTORS - 2):
                held.callback(os.close, os.dup(ours.fileno()))
        except OSError:
            return None
    return ours, theirs


def open_session(
    policy: Policy,
    *,
    tools: Mapping[str, str] | None = None,
    plan: Plan | None = None,
    screen: bool = True,
    required: tuple[Wall, ...] | None = None,
) -> LocalSession:
    """Start a session. See LocalSession for `screen` and `required` (by default the policy's walls)."""
    walls = policy.isolation.required("local") if required is None else required
    walls = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
    return LocalSession(policy, plan or Plan(), begin(policy, tools, screen=screen), walls, screen=screen)
