"""A local session: one worker, a copy-on-write spare of it, and the log of requests since the spare was made.

A checkpoint is a fork of the worker, taken between cells: the child goes on, the parent becomes the spare and
waits. When a cell is killed, the spare takes over and the log since the checkpoint, with the host's recorded
replies, is replayed. If there is no spare yet, a fresh worker replays the log from its start. A checkpoint is taken
when the session is idle, or when the log took 50 ms of CPU, but only where that is worth the copies of pages that it
causes (copycost.py): these take a twentieth of a session's time at most.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlm_secure.broker.protocol import CellResult
from rlm_secure.environments.context import SharedContext, share
from rlm_secure.environments.deadline import SESSION_CPU, Deadline, Overdue
from rlm_secure.environments.interface import Snapshot
from rlm_secure.environments.local import cgroup, idle, pidfd, pool, report
from rlm_secure.environments.local.cgroup import Group
from rlm_secure.environments.local.copycost import CopyCost
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.process_tree import ProcessTree
from rlm_secure.environments.local.weight import weigh
from rlm_secure.environments.local.worker import Died, Worker
from rlm_secure.environments.local.zygote import Plan
from rlm_secure.environments.replay import REPLAY_SECONDS, ReplayedSession, begin
from rlm_secure.environments.replies import Answers
from rlm_secure.environments.request_log import LogEntry
from rlm_secure.environments.waiting import NoTurn, Wait
from rlm_secure.errors import CellCrashed, CellError, EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import cost
from rlm_secure.policy.gate import Gate

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

#: If the log took more CPU seconds, or has more entries, a checkpoint precedes the next cell where that is worth its
#: copies (copycost.py).
_LOG_SECONDS = 0.05
_LOG_ENTRIES = 256
#: A log of more entries is cut whatever a copy costs.
_MOST_ENTRIES = 4096
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
#: Checkpoints until the spare is not init: the first makes it the spare, the second retires it. One may be missed.
_FREEZES = 3
#: While a copy is awaited in a process tree with several sessions, the longest time between two looks at the listener.
_LOOK_SECONDS = 0.002
#: File descriptors that a checkpoint needs in the host: a channel, a pidfd, and open files of /proc.
_DESCRIPTORS = 8
#: How long a retired init may run to free its memory. Then it is stopped.
_RETIRE_SECONDS = 1.0
#: What it may still hold: the interpreter, its modules, and what the allocator does not return to the kernel.
_RETIRED_BYTES = 64 << 20


class LocalSession(ReplayedSession[Worker]):
    """A sealed worker on this machine. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` is not in force, EnvironmentUnavailable when no zygote can be
    started.
    """

    _root: Worker

    def __init__(
        self,
        policy: Policy,
        spec: pool.WorkerSpec,
        required: tuple[Wall, ...],
        origin: LocalSnapshot | None = None,
        cpu: CpuAccount | None = None,
    ) -> None:
        super().__init__(policy)
        self._spec = spec
        self._required = required
        self._spare: Worker | None = None
        self._leaving: Worker | None = None  # the spare that was replaced: killed, but not waited for yet
        self._tree: ProcessTree | None = None
        self._process: SessionProcess | None = None
        self._group: Group | None = None  # None: that of the tree's first process
        self._first = True  # its workers belong into that one
        self._cpu = cpu or CpuAccount(spec.cpu_seconds, 0.0 if origin is None else origin.cpu_seconds)
        self._copies_missed = 0  # in a row
        self._copy_cost = CopyCost()
        self._copy_seconds = policy.limits.memory_bytes / _COPIED_BYTES_A_SECOND
        self._retired_bytes = _RETIRED_BYTES
        self._unadopted = False  # a fork was allowed, and its copy never reported
        if origin is None:
            self._start()
        else:
            self._branch(origin, Gate(policy) if cpu is None else None)

    def load_context(self, name: str, payload: Any, also: Mapping[str, Any] | None = None) -> None:
        """Bind `name` to a str, list, dict or an already shared context. See ReplayedSession.load_context."""
        limits = self._policy.limits
        shared = payload if isinstance(payload, SharedContext) else share(payload, Gate(self._policy))
        request = {"op": "context", "name": name, "kind": shared.kind, "length": shared.length, **(also or {})}
        self._command(LogEntry(request, shared), limits.start_seconds + shared.size / 20e6)

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._interrupted()

    def close(self) -> None:
        """Kill the worker and all its copies, and wait until they are gone. Idempotent."""
        self._closing = True
        tree = self._tree
        try:
            if tree is not None and os.getpid() == self._owner:
                tree.kill_for(self._worker)  # a cell that runs in another thread fails, and releases the lock
        finally:
            self._lock.acquire(give_up=self._kill_again)
            try:
                self._end("it was closed")
            finally:
                self._lock.release()

    def _kill_again(self, _in_background: bool) -> bool:
        """Kill the worker while `close` waits for its turn: a copy may have taken its place. Returns False."""
        if (tree := self._tree) is not None:
            tree.kill_for(self._worker)
        return False

    # -- copies -----------------------------------------------------------------------------------

    def fork(self) -> LocalSession:
        """A copy of this session as it is now. See Session.fork."""
        with self._exclusive():
            frozen = self._frozen(None)
            try:
                made = LocalSession(self._policy, self._spec, self._required, frozen)
            except NotCopied as failed:
                self._end(f"its worker made no copy of itself: {failed}")
                raise
            finally:
                frozen.close()
            made.with_values = self.with_values
            return made

    def snapshot(self) -> LocalSnapshot:
        """This session as it is now, stopped. See Session.snapshot."""
        with self._exclusive():
            return self._frozen(self._gate)

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot. See Session.restore."""
        with self._exclusive():
            if not isinstance(snapshot, LocalSnapshot) or snapshot.spec != self._spec:
                raise ValueError("a snapshot is for sandboxes with the policy and the tools of the one that it is of")
            self._drop_leaving()
            try:
                made = LocalSession(self._policy, self._spec, self._required, snapshot, self._cpu)
                for name in ("_tree", "_process", "_root", "_group", "_first", "_worker", "_spare", "_leaving"):
                    mine, other = getattr(self, name), getattr(made, name)
                    setattr(self, name, other)
                    setattr(made, name, mine)
                self._begin_log()
                self.report, self._copies, self._copies_missed = made.report, not self._unadopted, 0
                self._seed, self._seeded = made._seed, made._seeded
                made._end("another took its place")
            finally:  # whichever goes on: the end of the other has closed the account
                process = self._process
                self._cpu.open(self._worker, process.group if self._first and process is not None else self._group)

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the turn during the block. Raises the error of a wait that is too long, and SessionEnded."""
        try:
            with self._turn(Wait(lambda: self._interrupts, None, self._policy.limits.run_seconds)):
                self._require()
                yield
        except NoTurn as none:
            raise none.error from None

    def _frozen(self, gate: Gate | None) -> LocalSnapshot:
        """A snapshot of the present state, held by the spare. Init is none, because it ends with all copies.

        Raises Refused if the `gate` refuses another copy. Without one, it is no user of the tree, and for this turn.
        """
        for _ in range(_FREEZES):
            ready = self._copies and self._log == [] and self._spare not in (None, self._root)
            if ready and self._tree is not None:
                return LocalSnapshot(self, self._tree, gate)
            self.checkpoint()
            self._require()
        raise EnvironmentUnavailable(
            "the session cannot be copied: that takes isolation.checkpoints in its policy, a PID namespace, seccomp "
            "with a listener, and file descriptors that the host has left"
        )

    def _branch(self, origin: LocalSnapshot, gate: Gate | None) -> None:
        """Begin as a copy of `origin`. Raises Refused, NotCopied, and EnvironmentUnavailable if it has no place."""
        self._cells, self._resumes, self._tool_calls = origin.counts
        self._seed, self._seeded, self.report = origin.seed, origin.seeded, origin.report
        self._tree = tree = origin.joined(gate)
        self._process, self._root = tree.process, tree.root
        self._copies, self._first = True, False
        self._worker = self._spare = origin.worker
        try:
            if not self._renew():
                raise EnvironmentUnavailable("the session could not be copied: its host is short of something")
            if gate is not None:
                self._cpu.open(self._worker, self._group)
        except BaseException as error:  # Ctrl-C as well: no process may remain
            self._end("it could not be copied")
            if isinstance(error, Overdue | ProtocolViolation):
                raise NotCopied(str(error)) from None
            if isinstance(error, OSError):
                raise EnvironmentUnavailable(f"the session could not be copied: {error.strerror}") from None
            raise

    def _renew(self) -> bool:
        """Replace the worker by a copy of the spare, which remains. Returns whether it could.

        Raises Overdue, ProtocolViolation, OSError, and EnvironmentUnavailable if the copy can have no cgroup.
        """
        tree, spare, old = self._tree, self._spare, self._worker
        assert tree is not None and spare is not None
        if old is not spare:
            old.kill()
        self._drop_leaving()
        with tree.cloning(_CHECKPOINT_SECONDS + self._copy_seconds) as turn:
            if not turn or (channel := _channel()) is None:
                return False
            fresh = self._copy_of_spare(tree, spare, channel)
        if fresh is None:
            return False
        if old is not spare:
            self._drop(old)
        self._worker = fresh
        return True

    def _copy_of_spare(
        self, tree: ProcessTree, spare: Worker, channel: tuple[socket.socket, socket.socket]
    ) -> Worker | None:
        self._cpu.allow(spare, self._cpu.left())
        before = spare.cpu_at_most()
        try:
            fresh = self._copy(*channel, spare, None)
        except Died:
            fresh = None
        except BaseException as error:  # Ctrl-C as well
            self._contain(tree, spare, error)
            raise
        finally:
            spare.stop()
            if not self._cpu.counts(spare):
                self._cpu.lost(spare.cpu_at_most() - before)
        try:
            if fresh is not None:
                self._place(tree, fresh)
                spare.weigh()
            if tree.newcomer_of(spare, fresh):
                self._refuse_strangers(tree, spare)
        except BaseException:  # Ctrl-C as well
            if fresh is not None:
                self._drop(fresh)
            raise
        return fresh

    def _place(self, tree: ProcessTree, fresh: Worker) -> None:
        """Put a copy into this session's cgroup, which it gets if others have one. Raises OSError."""
        if tree.process.group is None or (self._first and fresh.group is None):
            return
        if self._first or self._group is not None:
            tree.move(fresh, self._group)
            return
        group = cgroup.join(fresh.pidfd)
        if isinstance(group, str):
            raise EnvironmentUnavailable(f"the session could not be copied: its copy has no cgroup ({group})")
        self._group = group
        tree.moved(fresh, group)
        group.limit(pool.bounds_of(self._spec))

    # -- one request ------------------------------------------------------------------------------

    def _deadline(self, wall: float) -> Deadline:
        before = self._worker.cpu_seconds_at_rest()
        return Deadline(wall, self._policy.limits.cell_cpu_seconds, self._worker_cpu, self._cpu.left, before)

    def _worker_cpu(self) -> float | None:
        return self._worker.cpu_seconds()

    def _cut_log(self, deadline: Deadline) -> None:
        """Take a checkpoint before a cell, within the cell's bounds. Its time does not count as the cell's own.

        Raises Overdue when the cell's bounds end first, SessionEnded when the session ends.
        """
        if self._log is None or (
            (self._log_seconds > _LOG_SECONDS or len(self._log) > _LOG_ENTRIES) and self._worth_a_copy(idle=False)
        ):
            retires = self._spare is not None and self._spare is self._root
            if retires and deadline.left_of_bounds() < _RETIRE_SECONDS and self._log_seconds <= REPLAY_SECONDS:
                return  # init may need longer to free its memory: left for when the session is idle
            began = time.monotonic()
            self._try_checkpoint(deadline)
            self._require()
            deadline.extend(time.monotonic() - began)

    def _worth_a_copy(self, *, idle: bool) -> bool:
        if self._log is None or len(self._log) > _MOST_ENTRIES:
            return True
        return self._copy_cost.outweighed(self._log_seconds, self._worker, idle=idle)

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
        worker, before = self._worker, self._worker.cpu_at_rest()
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
        elif self._log is None or (
            (self._log_seconds > _WORTH_SECONDS or self._log[-1].replies or len(self._log) > _WORTH_ENTRIES)
            and (self._log_seconds >= self._copy_cost.needed or len(self._log) > _MOST_ENTRIES)
        ):
            idle.watch(self)

    # -- start, checkpoint, recovery, end ---------------------------------------------------------

    def _start(self) -> None:
        spec, size = self._spec, self._policy.isolation.pool
        if self._cpu.used() > 0:  # a ready worker has the CPU limit of a whole session
            spec, size = replace(spec, cpu_seconds=self._cpu.left()), 0
        warm = pool.take(spec, size)
        self._tree, self._process = ProcessTree(warm.process, warm.worker), warm.process
        self._worker = self._root = warm.worker
        self._group, self._first = None, True
        self.report = replace(warm.report, spend=cost.bounded(self._policy))
        self._weigh()
        if self._spec.plan.packages:  # their memory is part of every process of the session, from its zygote
            self._retired_bytes = _RETIRED_BYTES + (self._worker.held_bytes() or 0)
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

    @property
    def _listener(self) -> Listener | None:
        return None if self._tree is None else self._tree.listener

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
            if self._ended or self._tree is None or not self._copies:
                return False
            seconds = _CHECKPOINT_SECONDS if request is None else min(_CHECKPOINT_SECONDS, request.left_of_bounds())
            try:
                with self._tree.cloning(seconds) as turn:
                    return turn and self._checkpoint(self._tree, request)
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

    def _checkpoint(self, tree: ProcessTree, request: Deadline | None) -> bool:
        self._drop_leaving()
        self._adjust(tree)
        channel = _channel()
        if channel is None:
            return False  # nothing was sent to the worker: it is unchanged
        before, source = self._spare, self._worker
        began = time.monotonic()
        try:
            fresh = self._copy(*channel, source, request)
        except Died:  # the next request notices, and resumes from the spare
            fresh = None
        except BaseException as error:  # Ctrl-C as well
            self._contain(tree, source, error)
            raise
        if fresh is not None:
            self._spare, self._worker = self._worker, fresh
            tree.hold(self._spare)
            # Stopped first, so that a hostile spare uses no CPU or memory while a retired init frees its own.
            self._spare.stop()
            self._let_go(tree, before)
            self._spare.weigh()
        if self._strangers():
            self._refuse_strangers(tree, source)
        self._copy_cost.taken(time.monotonic() - began)
        missed = fresh is None or time.monotonic() - began > _SLOW_SECONDS + self._copy_seconds
        self._copies_missed = self._copies_missed + 1 if missed else 0
        self._copies = self._copies and self._copies_missed < _COPIES_MISSED
        if fresh is None or self._spare is None:
            self._worker.stop()
            return False
        if before is self._root and not self._slim(request) and not tree.process.bounded:
            tree.unhold(self._spare)
            self._drop(self._spare)
            self._spare, self._log, self._copies = None, None, False
            return False
        self._begin_log()
        return True

    def _drop_leaving(self) -> None:
        if self._leaving is not None:
            self._drop(self._leaving)
            self._leaving = None

    def _adjust(self, tree: ProcessTree) -> None:
        """Give the cgroup room for the workers in it that only snapshots and copies of this session hold."""
        group = tree.process.group if self._group is None else self._group
        if group is not None and group.bounded:
            kept = tree.kept_in(self._group, {self._spare, self._worker, self._leaving})
            group.adjust(pool.bounds_of(self._spec, kept))

    def _let_go(self, tree: ProcessTree, spare: Worker | None) -> None:
        """Kill the spare that was replaced, unless others hold it. Init must live as long as its session: it only frees
        its memory."""
        if spare is not None and not tree.unhold(spare):
            self._cpu.leave(spare)
            self._adjust(tree)
        elif spare is self._root:
            self._cpu.allow(self._root, min(_RETIRE_SECONDS, self._cpu.left()))
            with contextlib.suppress(Died, Overdue):  # then the session is gone, and the next request reports it
                self._root.send({"op": "retire"})
        elif spare is not None:
            spare.kill(wait=False)
            self._leaving = spare

    def while_idle(self) -> None:
        """Take a checkpoint, unless a cell runs: a busy session is scheduled again after its cell."""
        with self._lock.in_background() as free:
            copied = self._log == [] and self._tree and self._spare and self._tree.holders(self._spare) > 1
            if free and not copied and self._worth_a_copy(idle=True):
                self.checkpoint()

    def _copy(
        self, ours: socket.socket, theirs: socket.socket, source: Worker, request: Deadline | None
    ) -> Worker | None:
        """A copy of `source`, the worker or the spare, at the other end of `ours`; None if that could not make one.

        Raises Died, Overdue, ProtocolViolation and OSError.
        """
        tree, listener = self._tree, self._listener
        assert tree is not None and listener is not None
        limits = self._policy.limits
        seconds = _CHECKPOINT_SECONDS + self._copy_seconds
        deadline = Deadline(seconds) if request is None else request.step(seconds)
        try:
            # The kernel identifies the process at the other end: it attaches the writer's pid to the data.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            source.send({"op": "checkpoint"}, [theirs.fileno()], deadline)
            theirs.close()
            while True:
                if self._wait(ours, source, deadline, request, listener) is ours:
                    ours.close()
                    return None  # it made no copy, and did not call clone(2)
                pid = source.host_pid
                if pid is None:
                    raise Died
                began = time.monotonic()
                if listener.consent(pid, self._others(tree)):
                    break
            handle = self._adopt(ours, source, deadline, request, began)
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
        fresh.listener, fresh.weighed, fresh.nonce = listener, source.weighed, source.nonce
        fresh.descriptors_at_rest, fresh.group = source.descriptors_at_rest, source.group
        if request is not None:  # a thread that interrupts the cell may hold either worker
            fresh.interrupted = self._worker.interrupted
        tree.add(fresh)
        self._cpu.add(fresh)
        fresh.parent = source
        try:
            fresh.result(deadline)
            source.give_back(deadline)  # else its next copy would have the channel of this one
        except BaseException:  # Ctrl-C as well
            self._drop(fresh)
            raise
        fresh.parent = None
        return fresh

    def _others(self, tree: ProcessTree) -> set[int]:
        """Pids of the workers of other sessions of the tree, whose calls wait for those."""
        return tree.others({self._root, self._worker, self._spare, self._leaving}) if tree.shared else set()

    def _wait(
        self,
        ours: socket.socket,
        source: Worker,
        deadline: Deadline,
        request: Deadline | None,
        listener: Listener | None = None,
    ) -> socket.socket | None:
        """Wait for data on `ours`, then return it, or for a call at the listener: None. Raises Died and Overdue."""
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        poll.register(source.pidfd, select.POLLIN)
        if listener is not None:
            poll.register(listener.fileno(), select.POLLIN)
        shared = self._tree is not None and self._tree.shared
        while not (ready := {fd for fd, _ in poll.poll((_LOOK_SECONDS if shared else deadline.slice()) * 1000)}):
            # Another session of the tree may have received the call, while it looked for its own.
            if shared and listener is not None and listener.asked_by([source.host_pid]):
                return None
            if request is not None and self._worker.interrupted.is_set():
                deadline.interrupt()
            cause = deadline.over()
            if cause is not None and deadline.overdue() > self._policy.limits.grace_seconds:
                raise Overdue(cause)
            source.weigh()
            if listener is None:
                self._weigh_copy(source)
        if ours.fileno() in ready:
            return ours
        if source.pidfd in ready:
            raise Died
        return None

    def _weigh_copy(self, source: Worker) -> None:
        """Check the memory of processes that the listener allowed and that have not reported yet."""
        pid = source.host_pid
        for copy in pidfd.descendants(pid) if source.weighed and pid is not None else ():
            weigh(copy, self._policy.limits)

    def _adopt(
        self, ours: socket.socket, source: Worker, deadline: Deadline, request: Deadline | None, began: float
    ) -> int | None:
        """A pidfd of the copy that was allowed at the time `began`; None if the worker reports that it made none.

        That may be a lie: a copy may have run since then, and ended unseen. So that time counts as used, and there are
        no more copies: no other process of a session runs without its CPU seconds being read.
        """
        handle = None
        try:
            self._wait(ours, source, deadline, request)
            handle = self._child(ours, source)
        finally:
            if handle is None:
                self._copies, self._unadopted = False, True
                self._cpu.lost(time.monotonic() - began)
                self._cpu.allow(source, self._cpu.left())
        return handle

    def _child(self, ours: socket.socket, source: Worker) -> int | None:
        """A pidfd of the child of `source` that wrote to the other end of `ours`; None if that end is closed.

        One clone(2) was allowed, so there is exactly one new child, and there can be no other.
        """
        data, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(12), socket.MSG_PEEK | socket.MSG_DONTWAIT)
        if not data:
            return None
        pid = struct.unpack("iii", ancillary[0][2])[0] if ancillary else 0
        handle = os.pidfd_open(pid)
        if pidfd.parent_of(handle) != source.host_pid:
            os.close(handle)
            raise ProtocolViolation("a worker passed another process off as its copy")
        return handle

    def _end_unadopted(self, source: Worker) -> None:
        """Kill `source`, and the copy that was allowed and never reported, so that a resumed session has neither.
        Raises ProtocolViolation and OSError if the copy may still live.
        """
        began = time.monotonic()
        source.kill()  # during its call or after it: no copy can start from now on
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
            if self._tree is not None:
                self._tree.process.kill()
            raise ProtocolViolation("a copy that was never adopted could not be ended")

    def _strangers(self) -> set[int]:
        """See ProcessTree.strangers."""
        return set() if self._tree is None else self._tree.strangers()

    def _refuse_strangers(self, tree: ProcessTree, source: Worker) -> None:
        """End an unknown process that there is after `source` was asked for a copy. Raises ProtocolViolation, OSError.
        """
        if tree.shared:  # else the session's end is its end
            self._end_unadopted(source)
        raise ProtocolViolation("a process that nobody asked for was left in it")

    def _contain(self, tree: ProcessTree, source: Worker, error: BaseException) -> None:
        """After a copy that failed with `error`, end it, unless the session's end does. Raises as `_end_unadopted`."""
        told = isinstance(error, Overdue | ProtocolViolation | OSError)
        if (self._unadopted or not told) if tree.shared else (self._unadopted and isinstance(error, Overdue)):
            self._end_unadopted(source)

    def _drop(self, worker: Worker) -> None:
        """Kill a copy, wait until it is gone, and count what it used."""
        worker.kill()
        self._cpu.settle(worker)
        if self._tree is not None:
            self._tree.drop(worker)

    def _slim(self, request: Deadline | None) -> bool:
        """Wait until the retired init has freed its memory, and stop it. Returns whether it has.

        It has 1 s, or what is left of the bounds of a `request` that waits, until that is interrupted. Without a cgroup
        for the whole session, only two processes may hold the memory that the policy grants: if init keeps it, there is
        no spare, and there are no more copies.
        """
        seconds = min(_RETIRE_SECONDS, self._cpu.left())
        latest = time.monotonic() + (seconds if request is None else min(seconds, request.left_of_bounds()))
        most = self._retired_bytes
        while (held := self._root.held_bytes()) is not None and held > most and time.monotonic() < latest:
            self._root.weigh()
            if request is not None and self._worker.interrupted.is_set():
                break
            time.sleep(0.005)
        self._root.stop()
        self._root.weigh()  # it may have taken more instead
        return held is not None and held <= most

    def _bring_back(self) -> bool:
        if self._spare is not None:
            assert self._tree is not None
            if self._tree.holders(self._spare) > 1:
                return self._renew()
            self._tree.unhold(self._spare)
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
        tree, self._tree, self._process = self._tree, None, None
        spare, leaving, group = self._spare, self._leaving, self._group
        self._spare = self._leaving = self._group = None
        if tree is not None:
            own = {worker for worker in (self._worker, spare, leaving) if worker is not None}
            tree.leave(own, spare, self._cpu, group, alive=os.getpid() == self._owner)

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        if self._tree is not None:
            self._release()
            self._log = None

    def __del__(self) -> None:
        if getattr(self, "_tree", None) is None:
            return
        if sys.is_finalizing():  # exit handlers have ended all sessions; threads frozen by now may hold any lock
            return
        self._end("it was dropped")


class NotCopied(EnvironmentUnavailable):
    """A worker, asked for a copy of itself, did something else."""


class LocalSnapshot(Snapshot):
    """A stopped worker of a session, for others to begin with; closed when it is dropped."""

    def __init__(self, session: LocalSession, tree: ProcessTree, gate: Gate | None) -> None:
        self._trees: list[ProcessTree] = []  # emptied by the one caller that closes it
        assert session._spare is not None
        self.worker = session._spare
        if gate is not None:
            tree.join(gate)
        tree.hold(self.worker)
        self._trees, self._brief = [tree], gate is None
        self.spec, self.report = session._spec, session.report
        self.seed, self.seeded = session._seed, session._seeded
        self.counts = (session._cells, session._resumes, session._tool_calls)
        self.cpu_seconds: float = session._cpu.used()

    def joined(self, gate: Gate | None) -> ProcessTree:
        """Its tree, with one user more, who holds the worker. Raises Refused, and ValueError when it is closed."""
        for tree in self._trees:
            tree.join(gate)
            tree.hold(self.worker)
            return tree
        raise ValueError("the snapshot was closed")

    def close(self) -> None:
        """End it. See Snapshot.close."""
        self._close()

    def _close(self) -> None:
        try:
            tree = self._trees.pop()
        except IndexError:
            return
        if self._brief:
            tree.unhold(self.worker)
        else:
            tree.leave({self.worker}, self.worker, CpuAccount(0.0), None, alive=os.getpid() == self._owner)

    def __del__(self) -> None:
        if getattr(self, "_trees", None) and not sys.is_finalizing():
            self._close()


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
    plan = plan or Plan(packages=policy.language.packages)
    first = json.dumps(begin(policy, tools, screen=screen))
    limits, checkpoints = policy.limits, policy.isolation.checkpoints
    spec = pool.WorkerSpec(plan, limits, checkpoints, screen, first, limits.session_cpu_seconds)
    return LocalSession(policy, spec, walls)
