"""A local session: one worker, a copy-on-write spare of it, and the log that leads from the spare to now.

A checkpoint is a fork of the worker, taken between cells: the child goes on, the parent is the spare and
waits. When a cell is killed, the spare takes over and the log since the checkpoint, with the host's recorded
replies, is run again. Where there is no spare yet, a fresh session replays the log from its start. The steady
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
from rlm_secure.environments.deadline import SESSION_CPU, Clock
from rlm_secure.environments.local import idle, pidfd, pool, report
from rlm_secure.environments.local.context import SharedContext, share
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.worker import Died, Overdue, Worker, weigh
from rlm_secure.environments.local.zygote import Plan
from rlm_secure.environments.replay import REPLAY_SECONDS, LoggedSession, begin
from rlm_secure.environments.replies import Answers
from rlm_secure.environments.request_log import LogEntry
from rlm_secure.errors import CellCrashed, CellError, EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import cost
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

#: A log that took more CPU seconds, or has more entries, is cut off by a checkpoint before the next cell.
_LOG_SECONDS = 0.05
_LOG_ENTRIES = 256
#: A log that took less, has fewer entries, and called nothing, is not worth a checkpoint while idle.
_WORTH_SECONDS = 0.005
_WORTH_ENTRIES = 16
#: Longest checkpoint: a worker needs milliseconds for it, and on a machine with a hundred busy processes for each
#: processor it gets them within two seconds. The kernel copies a page table of a gigabyte in a fraction of a second.
_CHECKPOINT_SECONDS = 2.0
#: After so many checkpoints in a row that came to nothing, a session has no more of them.
_COPIES_MISSED = 2
_COPIED_BYTES_A_SECOND = 1e9
#: One that took longer than this, and its bytes, came to something, and delays callers: too slow to have many of.
_SLOW_SECONDS = 0.5
#: Descriptors that a checkpoint takes of its host: a channel, a pidfd, and what is read in /proc.
_DESCRIPTORS = 8
#: How long a retired init may run, to free its memory. Then it is stopped.
_RETIRE_SECONDS = 1.0
#: What it may still hold: the interpreter, its modules, and what the allocator does not give back.
_RETIRED_BYTES = 64 << 20


class LocalSession(LoggedSession):
    """A sealed worker on this machine. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` does not hold, EnvironmentUnavailable when there is no
    zygote to be had.
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
        self._leaving: Worker | None = None  # a spare that was replaced, and killed
        self._forked: SessionProcess | None = None
        self._listener: Listener | None = None
        self._cpu = CpuAccount(budget)
        self._copies_missed = 0  # in a row
        self._copy_seconds = policy.limits.memory_bytes / _COPIED_BYTES_A_SECOND
        self._unadopted = False  # a copy was consented to, and never came forward
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
        forked = self._forked
        try:
            if forked is not None and os.getpid() == self._owner:
                forked.kill()  # a cell that runs in another thread sees its worker die, and lets go of the lock
        finally:
            with self._lock:
                self._end("it was closed")

    # -- one request ------------------------------------------------------------------------------

    def _clock(self, wall: float) -> Clock:
        return Clock(wall, self._policy.limits.cell_cpu_seconds, self._worker_cpu, self._cpu.left)

    def _worker_cpu(self) -> float | None:
        return self._worker.cpu_seconds()

    def _cut_log(self, clock: Clock) -> None:
        """A checkpoint before a cell, within the bounds of the cell. What it takes is taken off the cell's own seconds.

        Raises Overdue where the cell is over before it is done, SessionEnded where the session is.
        """
        if self._log is None or self._log_seconds > _LOG_SECONDS or len(self._log) > _LOG_ENTRIES:
            retires = self._spare is not None and self._spare is self._root
            if retires and clock.left_of_bounds() < _RETIRE_SECONDS and self._log_seconds <= REPLAY_SECONDS:
                return  # init may take longer to let go: while the session is idle, it has the time
            began = time.monotonic()
            self._try_checkpoint(clock)
            self._require()
            clock.extend(time.monotonic() - began)

    def _transmit(self, entry: LogEntry, clock: Clock) -> None:
        try:
            self._worker.send(entry.request, None if entry.attachment is None else [entry.attachment.fd], clock)
        except Died as died:
            died.unsent = True
            raise

    def _attempt(self, entry: LogEntry, calls: Answers, clock: Clock, stopped: list[BaseException]) -> CellResult:
        for last in (False, True):
            if self._cpu.left_at_last_look() <= 0:
                return self._recover(self._cpu.exceeded(), clock)
            try:
                if entry.request["op"] == "exec":
                    self._cut_log(clock)
                result = self._converse(entry, calls, clock, stopped)
            except Died as died:
                result = self._recover(self._verdict(), clock)
                result.cpu_seconds = died.cpu_seconds
                if died.unsent and result.resumed and not last and not self._lock.taken:
                    continue  # it died while it was idle: the cell has not run, and nothing was lost
                return result
            except Overdue as overdue:
                if overdue.final:
                    said = f"{overdue.error}; the session is over\n"
                    result = self._spent(CellResult(stderr=said), overdue.error)
                else:
                    result = self._recover(overdue.error, clock)
                result.cpu_seconds = overdue.cpu_seconds
                return result
            if clock.cause is not None and clock.cause.limit == SESSION_CPU:
                return self._spent(result, self._cpu.exceeded())
            self._note(entry, result)
            result.resumed = last
            return result
        raise AssertionError("the second round returns")

    def _converse(self, entry: LogEntry, calls: Answers, clock: Clock, stopped: list[BaseException]) -> CellResult:
        worker, before = self._worker, self._worker.cpu_at_most()
        try:
            result = super()._converse(entry, calls, clock, stopped)
        except (Died, Overdue) as ended:
            ended.cpu_seconds = worker.cpu_at_most() - before
            raise
        result.cpu_seconds = worker.cpu_at_most() - before  # by the kernel's clock, not by what the worker says
        return result

    def _verdict(self) -> CellError:
        """Why the worker died."""
        error = self._worker.verdict()
        self._cpu.settle(self._worker)
        # RLIMIT_CPU ends what nobody looked at.
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
        if self._cpu.used() > 0:  # one of the pool has the seconds of a whole session
            spec, size = replace(spec, cpu_seconds=self._cpu.left()), 0
        warm = pool.take(spec, size)
        self._forked, self._listener = warm.forked, warm.worker.listener
        self._worker = self._root = warm.worker
        self.report = replace(warm.report, spend=cost.bounded(self._policy))
        self._weigh()
        self._cpu.open(self._worker, self._forked.group)
        # A copy outlives nobody only where the kernel ends it with the session, and is counted only under limits; and
        # who lives in a session is known only where each copy waits for consent.
        own_pids = self.report[Wall.PID_NAMESPACE].level is Level.FULL
        counted = own_pids and self._spec.plan.rlimits and self._listener is not None
        self._copies = counted and not self._unadopted
        try:
            report.require(self._policy, self.report, self._required)
        except BaseException:  # Ctrl-C as well: nothing of it may stay
            self._end("it lacks a required wall")
            raise

    def _weigh(self) -> None:
        """Have the host look at what the worker holds, where no cgroup bounds it; the report says where it cannot."""
        if self._spec.plan.rlimits and self.report[Wall.CGROUP].level is not Level.FULL:
            try:
                self._worker.weighed = self._worker.held_bytes() is not None
            except Overdue as overdue:
                raise EnvironmentUnavailable(str(overdue)) from None
            if not self._worker.weighed:
                self.report = report.noted(self.report, Wall.RLIMITS, "the host cannot see what a worker holds")

    def checkpoint(self) -> bool:
        """Make the worker's present state the one that a killed cell falls back to. Returns whether it did.

        A worker that does not copy itself, or something else than itself, ends its session, and delays no other.
        """
        return self._try_checkpoint(None)

    def _try_checkpoint(self, request: Clock | None) -> bool:
        """`checkpoint`, within the bounds of a `request` that waits for it. Raises Overdue where that is over."""
        with self._lock:
            if self._ended or self._forked is None or self._listener is None or not self._copies:
                return False
            try:
                return self._checkpoint(self._listener, request)
            except Overdue as overdue:
                if overdue.final:
                    self._end(str(overdue))
                elif request is not None and (self._worker.interrupted.is_set() or not request.left_of_bounds()):
                    raise
                self._end("its worker made no copy of itself in time when it was asked for a checkpoint")
            except (ProtocolViolation, OSError) as error:
                self._end(f"its checkpoint failed: {error}")
            except BaseException:  # Ctrl-C as well: there may be a process that we hold no handle of
                self._end("its host was interrupted while it took a checkpoint")
                raise
            return False

    def _checkpoint(self, listener: Listener, request: Clock | None) -> bool:
        if self._leaving is not None:
            self._drop(self._leaving)
            self._leaving = None
        channel = _channel()
        if channel is None:
            return False  # the worker was told nothing: it is as it was
        before = self._spare
        began = time.monotonic()
        try:
            fresh = self._copy(*channel, listener, request)
        except Died:  # the next request finds that out, and goes on from the spare
            fresh = None
        except Overdue:
            if self._unadopted:
                self._end_unadopted()
            raise
        if fresh is not None:
            self._spare, self._worker = self._worker, fresh
            # What waits uses up neither time nor memory, whatever it has become; nor while a retired init lets go.
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
        if before is self._root and not self._slim(request) and self._forked is not None and not self._forked.bounded:
            self._drop(self._spare)
            self._spare, self._log, self._copies = None, None, False
            return False
        self._begin_log()
        return True

    def _let_go(self, spare: Worker | None) -> None:
        """End the spare that was replaced; init, which ends with its session alone, lets go of what it holds."""
        if spare is self._root:
            self._cpu.allow(self._root, min(_RETIRE_SECONDS, self._cpu.left()))
            with contextlib.suppress(Died, Overdue):  # then all of it is gone, and the next request says so
                self._root.send({"op": "retire"})
        elif spare is not None:
            spare.kill(wait=False)
            self._leaving = spare

    def while_idle(self) -> None:
        """Take a checkpoint, unless a cell runs: a busy session is looked at again after its cell."""
        with self._lock.in_background() as free:
            if free:
                self.checkpoint()

    def _copy(
        self, ours: socket.socket, theirs: socket.socket, listener: Listener, request: Clock | None
    ) -> Worker | None:
        """The copy that goes on in the worker's place, at the other end of `ours`; None where it could not make one.

        Raises Died, Overdue, ProtocolViolation and OSError.
        """
        limits = self._policy.limits
        seconds = _CHECKPOINT_SECONDS + self._copy_seconds
        clock = Clock(seconds) if request is None else request.step(seconds)
        try:
            # The kernel names the process at the other end: what it writes carries its pid.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._worker.send({"op": "checkpoint"}, [theirs.fileno()], clock)
            theirs.close()
            consented = False
            while not consented:
                if self._wait(ours, clock, request, listener) is ours:
                    ours.close()
                    return None  # it made none, and did not ask for one
                pid = self._worker.host_pid
                if pid is None:
                    raise Died
                began = time.monotonic()
                consented = listener.consent(pid)
            handle = self._adopt(ours, clock, request, began)
            if handle is None:
                ours.close()
                return None  # the machine was out of processes, as it says: that nobody is there is seen from outside
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        except BaseException:  # Ctrl-C as well: nothing of it may stay
            ours.close()
            raise
        finally:
            theirs.close()
        fresh = Worker(ours, handle, limits, since=began)  # it may have ended before anybody looks
        fresh.listener, fresh.weighed, fresh.nonce = listener, self._worker.weighed, self._worker.nonce
        fresh.descriptors_at_rest = self._worker.descriptors_at_rest
        if request is not None:  # whoever interrupts the cell may hold the one or the other
            fresh.interrupted = self._worker.interrupted
        self._cpu.add(fresh)
        fresh.parent = self._worker
        try:
            fresh.result(clock)
        except BaseException:  # Ctrl-C as well
            self._drop(fresh)
            raise
        fresh.parent = None
        return fresh

    def _wait(
        self, ours: socket.socket, clock: Clock, request: Clock | None, listener: Listener | None = None
    ) -> socket.socket | None:
        """Wait for something on `ours`, which is returned, or for a call at the listener. Raises Died and Overdue."""
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        poll.register(self._worker.pidfd, select.POLLIN)
        if listener is not None:
            poll.register(listener.fileno(), select.POLLIN)
        while not (ready := {fd for fd, _ in poll.poll(clock.slice() * 1000)}):
            if request is not None and self._worker.interrupted.is_set():
                clock.interrupt()
            cause = clock.over()
            if cause is not None and clock.overdue() > self._policy.limits.grace_seconds:
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
        """Weigh the processes that the listener let through and that have not reported, as any worker."""
        pid = self._worker.host_pid
        for copy in pidfd.descendants(pid) if self._worker.weighed and pid is not None else ():
            weigh(copy, self._policy.limits)

    def _adopt(self, ours: socket.socket, clock: Clock, request: Clock | None, began: float) -> int | None:
        """A pidfd of the copy that was consented to when it was `began`; None where the worker says that it made none.

        It may lie: what it made ran since then, and ended before anybody looked. So that time is used, and there is
        no second one: nothing else of a session runs where its CPU seconds are not read.
        """
        handle = None
        try:
            self._wait(ours, clock, request)
            handle = self._child(ours)
        finally:
            if handle is None:
                self._copies, self._unadopted = False, True
                self._cpu.lost(time.monotonic() - began)
                self._cpu.allow(self._worker, self._cpu.left())
        return handle

    def _child(self, ours: socket.socket) -> int | None:
        """A pidfd of who wrote to the other end of `ours`: the worker's child; None where nobody is there.

        One call was let through, so there is one child that was not there before, and no other can come.
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
        """End the worker, and the copy that was consented to and has not come forward: a session that is resumed goes
        on without both. Raises ProtocolViolation and OSError where that cannot be said of the copy.
        """
        began = time.monotonic()
        self._worker.kill()  # in the middle of its call or behind it: no copy comes from now on
        try:
            for pid in self._strangers():
                handle = os.pidfd_open(pid)
                try:
                    if pid in self._strangers():  # so the pid and the handle mean the same process
                        pidfd.send_signal(handle, signal.SIGKILL)
                        pidfd.ended(handle, 5.0)
                finally:
                    os.close(handle)
        finally:
            self._cpu.lost(time.monotonic() - began)
        if self._strangers():
            raise ProtocolViolation("a copy that was never adopted could not be ended")

    def _strangers(self) -> set[int]:
        """Who lives in the session beside init, the spare and the worker, as seen from outside; 0 where nobody can say.

        The listener lets nobody else in, so this is a second look. Nobody comes while it is taken; it is taken again
        where one of them ended meanwhile, whose children have moved.
        """
        known = (self._root, self._spare, self._worker, self._leaving)
        ours = [worker for worker in known if worker is not None]
        while True:
            pids = [worker.host_pid for worker in ours]
            if pids[0] is None:
                return set()  # init has ended, and all with it
            try:
                found = pidfd.descendants(pids[0]) - set(pids)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    raise
                found = {0}  # the machine does not say who lives there
            if pids == [worker.host_pid for worker in ours]:
                return found

    def _drop(self, worker: Worker) -> None:
        """End a copy, wait until it is gone, and count what it used."""
        worker.kill()
        self._cpu.settle(worker)
        worker.drop()

    def _slim(self, request: Clock | None) -> bool:
        """Whether the retired init has freed its memory. It is stopped in any case, and takes none again.

        It has a moment for that, and no more than a `request` that waits for it, or until that is interrupted.
        Where no cgroup bounds all of a session, two of its processes may hold what the policy grants, not three: with
        an init that keeps it there is no spare, and so no more copies.
        """
        seconds = min(_RETIRE_SECONDS, self._cpu.left())
        deadline = time.monotonic() + (seconds if request is None else min(seconds, request.left_of_bounds()))
        while (held := self._root.held_bytes()) is not None and held > _RETIRED_BYTES and time.monotonic() < deadline:
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
            if not self._copies:  # it makes none of itself: nothing leads back to it another time
                self._log = None
                return True
            return self.checkpoint()
        self._release()
        self._start()
        return True

    def _release(self) -> None:
        listener, self._listener = self._listener, None
        forked, self._forked = self._forked, None
        alive = os.getpid() == self._owner
        known = (self._worker, self._root, self._spare, self._leaving)
        workers = {worker for worker in known if worker is not None}
        self._spare = self._leaving = None
        with contextlib.ExitStack() as last:  # run from the last to the first, even if one of them is interrupted
            if forked is not None:
                last.callback(forked.end, alive=alive)
            if listener is not None:
                last.callback(listener.close)
            for worker in workers:
                last.callback(worker.drop)
            if alive and forked is not None:
                last.callback(self._cpu.close)
                for worker in workers:
                    worker.cpu_seconds()
                    last.callback(self._cpu.settle, worker)
                    last.callback(worker.kill)
                last.callback(forked.kill)

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        if self._forked is not None:
            self._release()
            self._log = None

    def __del__(self) -> None:
        if getattr(self, "_forked", None) is None:
            return
        if sys.is_finalizing():  # exit handlers have ended all; threads that stand still now may hold any lock
            return
        self._end("it was dropped")


def _channel() -> tuple[socket.socket, socket.socket] | None:
    """A channel for a copy; None where the host has not the descriptors that a checkpoint takes."""
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
    """A started session. See LocalSession for `screen` and `required` (the policy's walls, by default)."""
    walls = policy.isolation.required("local") if required is None else required
    walls = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
    return LocalSession(policy, plan or Plan(), begin(policy, tools, screen=screen), walls, screen=screen)
