"""The processes of a session and of its copies: one PID namespace with one first process, one listener.

Copies of a session are workers of the same tree, each with its session on the host. The tree ends with the last user,
a session or a snapshot; one that ends earlier takes only its own processes with it. A stopped worker may be held by
several users, who all resume from it.

Guards: that the end of one copy of a session is not another's, and that the last leaves no process
"""

from __future__ import annotations

import contextlib
import errno
import signal
import threading
from collections.abc import Iterator

from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local.cgroup import Group
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.worker import Worker
from rlm_secure.errors import SessionEnded
from rlm_secure.policy.gate import Gate


class ProcessTree:
    """A session's processes, with one user at first. `root` is the first process of the PID namespace. Thread-safe."""

    def __init__(self, process: SessionProcess, root: Worker) -> None:
        self.process = process
        self.root = root
        self.listener: Listener | None = root.listener
        self._cloning = threading.Lock()
        self._guard = threading.RLock()  # held for moments only, and reentrant: the garbage collector ends sessions
        self._users = 1
        self._killed = False
        self._workers = {root}
        self._ending: set[Worker] = set()  # of users that have left: killed, and about to be dropped
        self._holders: dict[Worker, int] = {}
        self._branched: set[Group] = set()
        self._vacated: list[Group] = []  # groups whose session has ended, with a worker that others hold

    # -- users --------------------------------------------------------------------------------------

    @property
    def shared(self) -> bool:
        """Whether it has more users than one."""
        return self._users > 1

    def join(self, gate: Gate | None) -> None:
        """Add a user. Raises Refused if `gate`, when there is one, refuses another copy, and SessionEnded."""
        with self._guard:
            if self._killed or not self._users:
                raise SessionEnded("the session was closed while it was copied")
            if gate is not None:
                gate.forks(self._users).require()
            self._users += 1

    def kill_for(self, worker: Worker) -> None:
        """Kill everything for the only user; for one of several, only `worker`. To be called without a session's turn.
        """
        with self._guard:
            if not self.shared:
                self._killed = True
                self.process.kill()
            elif worker in self._workers and worker is not self.root:
                # Not through Worker.kill, which belongs to the thread that has the turn.
                pidfd.send_signal(worker.pidfd, signal.SIGKILL)

    def leave(
        self, own: set[Worker], held: Worker | None, cpu: CpuAccount, group: Group | None, *, alive: bool
    ) -> None:
        """Remove a user: end the workers of `own` that no other holds, wait until they are gone, and count in `cpu`
        what they used. `held` is the one that the user holds. `group` is its own cgroup, if it has one.

        `alive=False`, in a fork of the host: only close descriptors.
        """
        with self._guard if alive else contextlib.nullcontext():
            self._users -= 1
            if held is not None:
                self.unhold(held)
            over = self._users == 0
            ended = set(self._workers)
            if not over:  # init must live as long as its tree
                ended &= own - {self.root, *self._holders}
            self._workers -= ended
            self._ending |= ended
        with contextlib.ExitStack() as last:  # runs from the last to the first, even if one of them is interrupted
            if over:
                last.callback(self.process.end, alive=alive)
                if self.listener is not None:
                    last.callback(self.listener.close)
            if group is not None and alive:
                last.callback(self._vacate, group)
            for worker in ended:
                last.callback(self.drop, worker) if alive else last.callback(worker.drop)
            if alive:
                last.callback(cpu.close)
                for worker in own - ended:
                    last.callback(cpu.leave, worker)
                for worker in ended:
                    worker.cpu_seconds()
                    last.callback(cpu.settle, worker)
                    last.callback(worker.kill)
                if over:
                    last.callback(self.process.kill)

    def _vacate(self, group: Group) -> None:
        """Give back the cgroup of a user that has left, once nobody holds a worker in it."""
        with self._guard:
            self._vacated.append(group)
        self._sweep()

    def _sweep(self) -> None:
        with self._guard:
            used = {worker.group for worker in self._workers | self._ending}
            free = [group for group in self._vacated if group not in used]
            self._vacated = [group for group in self._vacated if group in used]
        for group in free:
            if group in self._branched:
                group.remove()  # the kernel may still charge it with pages of a copy in another group
            else:
                group.give_back()

    # -- workers ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def cloning(self, seconds: float) -> Iterator[bool]:
        """Make one copy in the block, or check that nobody made another. Yields whether the turn came in `seconds`."""
        got = self._cloning.acquire(timeout=max(seconds, 0.0))
        try:
            yield got
        finally:
            if got:
                self._cloning.release()

    def add(self, worker: Worker) -> None:
        """Make a copy known."""
        with self._guard:
            self._workers.add(worker)

    def move(self, worker: Worker, group: Group | None) -> None:
        """Put a copy into a cgroup; None is that of the first process, which has one. Raises OSError."""
        target = self.process.group if group is None else group
        pid = worker.host_pid
        if target is None or pid is None:
            raise ProcessLookupError(errno.ESRCH, "the copy, or the cgroup for it, is gone")
        target.add(pid)
        self.moved(worker, group)

    def moved(self, worker: Worker, group: Group | None) -> None:
        """Note that a copy is in `group`, and its pages in that of its origin."""
        with self._guard:
            if worker.group is not None:
                self._branched.add(worker.group)
            worker.group = group

    def drop(self, worker: Worker) -> None:
        """Close the host's end of a worker that is gone. Idempotent."""
        with self._guard:
            self._workers.discard(worker)
            self._ending.discard(worker)
            worker.drop()
        if self._vacated:
            self._sweep()

    def hold(self, worker: Worker) -> None:
        """Keep a stopped worker for one more user."""
        with self._guard:
            self._holders[worker] = self._holders.get(worker, 0) + 1

    def unhold(self, worker: Worker) -> bool:
        """Keep it for one user less. Returns whether nobody holds it any more."""
        with self._guard:
            count = self._holders.pop(worker, 0)
            if count > 1:
                self._holders[worker] = count - 1
            return count <= 1

    def holders(self, worker: Worker) -> int:
        """How many users hold it."""
        return self._holders.get(worker, 0)

    def kept_in(self, group: Group | None, besides: set[Worker | None]) -> int:
        """How many workers of this cgroup (None: that of the first process) are only held by others."""
        with self._guard:
            return sum(each.group is group for each in self._holders if each not in besides)

    def strangers(self) -> set[int]:
        """Pids of processes in the tree that are no known worker, seen from outside; {0} if unknown.

        The listener allows no others, so this is a second check. No process can start during it. It is repeated if a
        known process ended meanwhile, because that one's children have another parent then.
        """
        while True:
            with self._guard:
                ours = [self.root, *(self._workers | self._ending)]
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

    def newcomer_of(self, source: Worker, fresh: Worker | None) -> bool:
        """Whether there is an unknown process after `source` made a copy: a child of it, of the copy, or of init, which
        has the children of the ended. As `strangers`, but it takes no longer the more copies there are. Raises OSError.
        """
        with self._guard:
            workers = [self.root, *(self._workers | self._ending)]
        known = {worker.host_pid for worker in workers}
        for parent in (source, fresh, self.root):  # init comes last: who ends meanwhile leaves its children to it
            pid = None if parent is None else parent.host_pid
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if pid is not None and any(pidfd.lives(child) for child in pidfd.children(pid) - known):
                    return bool(self.strangers())
        return False

    def others(self, own: set[Worker | None]) -> set[int]:
        """Pids of the workers that are not in `own`."""
        with self._guard:
            workers = (self._workers | self._ending) - own
        return {pid for worker in workers if (pid := worker.host_pid) is not None}
