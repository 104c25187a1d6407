"""The exchange with one worker at a time: whose turn it is, what it said last, and when it has to stop.

Guards: whose turn it is, and that a worker that has used up its time is stopped
"""

from __future__ import annotations

import contextlib
import math
import selectors
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import surroundings
from .link import LinkError, WorkerLink, ZygoteLink

_SIGNAL_SECONDS = 0.05
_CPU_SECONDS = 0.1
#: Written pages that RLIMIT_DATA does not count: the stack (8 MiB), and what the loader wrote of libraries.
_UNCOUNTED_BYTES = 32 << 20


class Exchange:
    """Frames and events, strictly in turn: the worker is heard only after it was spoken to, and once.

    `on_event` is called when there is an event. An event stays until the worker is spoken to again.
    """

    def __init__(self, zygote: ZygoteLink, selector: selectors.BaseSelector, on_event: Callable[[], None]) -> None:
        self._zygote = zygote
        self._selector = selector
        self._on_event = on_event
        self._worker: WorkerLink | None = None
        self.expecting = False
        """The worker was spoken to, and has not answered."""
        self.event: dict[str, Any] | None = None
        """What it said last: its number, and a frame or its end."""
        self._events = 0
        self._unreported_exit: dict[str, Any] | None = None
        self._cpu_limit: float | None = None
        self._next_cpu_check = 0.0
        self._cpu_asked: float | None = None  # what it had used when it was asked, where that is measured
        self._cpu_budget: float | None = None  # of this worker: what the ones before it have left of its session's
        self._cpu_spent = 0.0
        self._memory_limit: int | None = None  # of memory, of any kind
        self._stop: tuple[str, float] | None = None  # why, and when to kill
        self._signal_at = 0.0

    @property
    def state(self) -> str:
        """What a host is told of the worker: "none", "busy" or "idle"."""
        return "none" if self._worker is None else "busy" if self.expecting else "idle"

    @property
    def free(self) -> bool:
        """Whether the worker can be spoken to: it has answered, and has read all that it was told."""
        return self._worker is not None and not self.expecting and not self._worker.sending

    @property
    def sees_memory(self) -> bool:
        """Whether what the worker holds can be seen, and so bounded."""
        return self._worker is not None and self._worker.visible

    @property
    def users(self) -> list[int]:
        """The worker's user ids, as the kernel says; none where it does not say."""
        return [] if self._worker is None else self._worker.users()

    # -- from the host ----------------------------------------------------------------------------

    def spawn(self, limits: dict[str, Any], profile: str, frame_bytes: int) -> None:
        """Start a worker, whose `ready` frame is expected. Raises LinkError.

        RLIMIT_CPU among `limits` is for the session: a worker has what those before it have left.
        """
        self._cpu_budget = None
        if "CPU" in limits:
            soft = limits["CPU"][0] if isinstance(limits["CPU"], list) else limits["CPU"]
            self._cpu_budget = soft - self._cpu_spent
            if self._cpu_budget <= 0:
                raise LinkError("the session has used up its CPU seconds")
            # We look ten times a second, and are first.
            kernel = math.ceil(self._cpu_budget) + 1
            limits = {**limits, "CPU": [kernel, kernel + 1]}
        self._memory_limit = limits["DATA"] + _UNCOUNTED_BYTES if "DATA" in limits else None
        self._zygote.boot()
        connection, pidfd, pid, leash = self._zygote.fork(limits, profile)
        worker = WorkerLink(connection, pidfd, pid, frame_bytes, self._zygote, leash)
        try:
            if pidfd is not None:
                self._selector.register(pidfd, selectors.EVENT_READ, lambda _: self._on_exit(worker))
            self._selector.register(worker.socket, selectors.EVENT_READ, lambda events: self._on_ready(worker, events))
        except BaseException as error:
            self._forget(worker)
            worker.close()
            if isinstance(error, OSError):
                raise LinkError(f"a worker cannot be listened to: {error}") from None
            raise
        self._worker = worker
        self.event = self._unreported_exit = self._cpu_limit = self._cpu_asked = self._stop = None
        self.expecting = True

    def send_request(self, body: bytes | bytearray, fd: int | None, cpu: float | None) -> None:
        """A request, and a file descriptor that goes with it; `cpu` is how many seconds of it the answer may take."""
        assert self._worker is not None
        self._stop = None
        used = self._worker.cpu_seconds()
        self._cpu_limit = None if cpu is None else used + cpu
        self._cpu_asked = used if self._worker.measured else None
        self._next_cpu_check = time.monotonic() + _CPU_SECONDS
        self.send_frame(body, fd)

    def send_frame(self, body: bytes | bytearray, fd: int | None = None) -> None:
        """A frame. A reply starts no new time: who always has something to say is stopped as well."""
        assert self._worker is not None
        self.event = None
        self.expecting = True
        with self._reaped_on_error(self._worker):
            self._worker.signal(signal.SIGCONT)
            self._worker.send(body, fd)
            self._update_interest(self._worker)

    def report_exit(self) -> bool:
        """Whether the worker died, or said more than it was asked, between two frames; its end is the event now."""
        if self._worker is not None and not self.expecting and self._worker.has_unread_output():
            self._reap("the worker spoke when it was not asked")
        if self._unreported_exit is None:
            return False
        event, self._unreported_exit = self._unreported_exit, None
        self._emit(event)
        return True

    def interrupt(self, why: str, grace: float) -> None:
        """Have the worker stopped, and killed after `grace` seconds. One that waits for a reply is, when it has it."""
        if self._stop is None and (self.expecting or self.event is not None):
            self._stop = (why, time.monotonic() + grace)
            self._signal_at = 0.0

    def end(self, *, fresh: bool = False) -> None:
        """End the worker, and forget what it said; `fresh`: and what its session has used."""
        self._reap()
        self.event = self._unreported_exit = None
        if fresh:
            self._cpu_spent = 0.0

    def close(self) -> None:
        """End the worker: nobody is told any more."""
        if self._worker is not None:
            self._worker.close()

    # -- from time --------------------------------------------------------------------------------

    def watch(self, now: float, grace: float) -> float:
        """Stop what has used up its CPU seconds, and go on stopping; returns when to look again."""
        if self._worker is None or not self.expecting:
            return now + 1.0
        if now >= self._next_cpu_check:  # at its memory until it is dead, whatever it is being stopped for
            self._next_cpu_check = now + _CPU_SECONDS
            if self._over_memory_limit(self._worker):
                return now + 1.0
            used = self._worker.cpu_seconds()
            if self._cpu_budget is not None and used >= self._cpu_budget:
                self.interrupt("session-cpu", grace)
            elif self._cpu_limit is not None and used >= self._cpu_limit:
                self.interrupt("cpu", grace)
        if self._stop is None:
            return self._next_cpu_check
        if now >= self._signal_at:
            self._signal_at = now + _SIGNAL_SECONDS
            self._worker.signal(signal.SIGKILL if now >= self._stop[1] else signal.SIGUSR1)
        return min(self._signal_at, self._next_cpu_check)

    # -- from the worker --------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reaped_on_error(self, worker: WorkerLink) -> Iterator[None]:
        """What goes wrong in the block is the end of this worker: no memory for its frame, no room in the kernel.

        Nobody could say what it was told and what it answers, so that it is killed, as one that has done nothing wrong.
        """
        try:
            yield
        except Exception:
            if worker is self._worker:
                self._reap()

    def _update_interest(self, worker: WorkerLink) -> None:
        """Listen to the worker only while it is its turn; write while something waits to be written."""
        wanted = selectors.EVENT_READ if self.expecting and not worker.closed else 0
        wanted |= selectors.EVENT_WRITE if worker.sending else 0
        registered = worker.socket in self._selector.get_map()
        if wanted and registered:
            self._selector.modify(worker.socket, wanted, lambda events: self._on_ready(worker, events))
        elif wanted:
            self._selector.register(worker.socket, wanted, lambda events: self._on_ready(worker, events))
        elif registered:
            self._selector.unregister(worker.socket)

    def _on_ready(self, worker: WorkerLink, events: int) -> None:
        if worker is not self._worker:
            return
        with self._reaped_on_error(worker):
            if events & selectors.EVENT_WRITE:
                worker.flush()
            if self.expecting and events & selectors.EVENT_READ:
                self._read_frame(worker)
            if worker is self._worker:
                self._update_interest(worker)

    def _read_frame(self, worker: WorkerLink) -> None:
        try:
            frame = worker.frame()
        except LinkError as failed:
            self._reap(str(failed))
            return
        if frame is not None and (worker.sending or worker.has_unread_requests()):
            self._reap("the worker answered before it had read what it was told")
        elif frame is not None:
            worker.signal(signal.SIGSTOP)  # until it is spoken to it has nothing to do, whatever it has become
            if not self._over_memory_limit(worker):
                cpu = None if self._cpu_asked is None else worker.cpu_seconds() - self._cpu_asked
                self._emit({"frame": frame, "cpu": cpu})
        elif worker.closed:
            worker.signal(signal.SIGKILL)  # it said its last word; that it lives on does not matter
            if worker.pidfd is None:
                self._reap()

    def _over_memory_limit(self, worker: WorkerLink) -> bool:
        """Whether it held more than any kind of memory can honestly add up to, or hides what; it is over then."""
        if self._memory_limit is None or not worker.visible:
            return False
        held = worker.held_bytes()
        if held is None:
            self._reap("the worker was hidden from its supervisor, which looks at its memory")
        elif held > self._memory_limit:
            self._stop = ("memory", 0.0)
            self._reap("the worker held more memory than its limit")
        return self._worker is None

    def _on_exit(self, worker: WorkerLink) -> None:
        if worker is not self._worker:
            return
        with self._reaped_on_error(worker):
            if self.expecting:
                self._read_frame(worker)  # it may have died right after its last frame
            self._reap()

    def _reap(self, said: str | None = None) -> None:
        """The worker is over, by itself or by us: it leaves a last event."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        self._forget(worker)
        ended: dict[str, Any] = {"cpu": worker.cpu_seconds(), "said": said}
        self._cpu_spent += ended["cpu"]
        worker.close()
        ended["status"] = self._zygote.status(worker.pid)
        ended["oom_kills"] = surroundings.oom_kills()
        if self.expecting:
            self._emit({"end": ended})
        else:
            self._unreported_exit = {"end": ended}  # told when the host next speaks to the worker

    def _forget(self, worker: WorkerLink) -> None:
        for thing in (worker.socket, worker.pidfd):
            if thing is not None and thing in self._selector.get_map():
                self._selector.unregister(thing)

    def _emit(self, event: dict[str, Any]) -> None:
        self.expecting = False
        self._events += 1
        self.event = {"id": str(self._events), **event}
        if self._stop is not None:
            self.event["stopped"] = self._stop[0]
        self._stop = None
        self._on_event()
