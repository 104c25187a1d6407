"""The exchange with one worker at a time: whose turn it is, its last frame or exit, and when it has to be stopped.

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
from .worker_link import WorkerLink
from .zygote_link import LinkError, ZygoteLink

_SIGNAL_SECONDS = 0.05
_CPU_SECONDS = 0.1
#: Written pages that RLIMIT_DATA does not count: the stack (8 MiB), and pages of libraries that the loader wrote to.
_UNCOUNTED_BYTES = 32 << 20


class Exchange:
    """Frames and events, strictly in turn: one frame of the worker is read for each frame that was sent to it.

    `on_event` is called when there is an event. An event is kept until the next frame is sent to the worker.
    """

    def __init__(self, zygote: ZygoteLink, selector: selectors.BaseSelector, on_event: Callable[[], None]) -> None:
        self._zygote = zygote
        self._selector = selector
        self._on_event = on_event
        self._worker: WorkerLink | None = None
        self.expecting = False
        """Whether a frame was sent to the worker that it has not answered."""
        self.event: dict[str, Any] | None = None
        """The last event: its number, and the worker's frame or its exit."""
        self._events = 0
        self._unreported_exit: dict[str, Any] | None = None
        self._cpu_limit: float | None = None
        self._next_cpu_check = 0.0
        self._cpu_asked: float | None = None  # CPU seconds used before the current request, where they are measured
        self._cpu_budget: float | None = None  # of this worker: what earlier ones have left of its session's
        self._cpu_spent = 0.0
        self._memory_limit: int | None = None  # of memory, of any kind
        self._stop: tuple[str, float] | None = None  # why, and when to kill
        self._signal_at = 0.0

    @property
    def state(self) -> str:
        """The worker's state, as the host is told: "none", "busy" or "idle"."""
        return "none" if self._worker is None else "busy" if self.expecting else "idle"

    @property
    def free(self) -> bool:
        """Whether a frame can be sent to the worker: it has answered, and has read everything that was sent."""
        return self._worker is not None and not self.expecting and not self._worker.sending

    @property
    def sees_memory(self) -> bool:
        """Whether the worker's memory can be measured, and so limited."""
        return self._worker is not None and self._worker.visible

    @property
    def users(self) -> list[int]:
        """The worker's user ids, as the kernel reports them; empty where it does not."""
        return [] if self._worker is None else self._worker.users()

    # -- from the host ----------------------------------------------------------------------------

    def spawn(self, limits: dict[str, Any], profile: str, frame_bytes: int) -> None:
        """Start a worker and expect its `ready` frame. Raises LinkError.

        RLIMIT_CPU in `limits` is for the whole session: a worker gets what earlier workers have not used.
        """
        self._cpu_budget = None
        if "CPU" in limits:
            soft = limits["CPU"][0] if isinstance(limits["CPU"], list) else limits["CPU"]
            left = self._cpu_budget = soft - self._cpu_spent
            if left <= 0:
                raise LinkError("the session has used up its CPU seconds")
            # The kernel's limit is one second later: we check ten times a second, and so act first.
            kernel = math.ceil(left) + 1
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
        """Send a request, with a file descriptor if it needs one. The answer may use `cpu` CPU seconds."""
        assert self._worker is not None
        self._stop = None
        used = self._worker.cpu_seconds()
        self._cpu_limit = None if cpu is None else used + cpu
        self._cpu_asked = used if self._worker.measured else None
        self._next_cpu_check = time.monotonic() + _CPU_SECONDS
        self.send_frame(body, fd)

    def send_frame(self, body: bytes | bytearray, fd: int | None = None) -> None:
        """Send a frame. A reply does not restart the CPU limit, so a worker cannot escape it by making calls."""
        assert self._worker is not None
        self.event = None
        self.expecting = True
        with self._reaped_on_error(self._worker):
            self._worker.signal(signal.SIGCONT)
            self._worker.send(body, fd)
            self._update_interest(self._worker)

    def report_exit(self) -> bool:
        """Make an exit between two frames the current event, and return whether there was one.

        A worker that wrote something without being asked is ended here, which also counts.
        """
        if self._worker is not None and not self.expecting and self._worker.has_unread_output():
            self._reap("the worker spoke when it was not asked")
        if self._unreported_exit is None:
            return False
        event, self._unreported_exit = self._unreported_exit, None
        self._emit(event)
        return True

    def interrupt(self, why: str, grace: float) -> None:
        """Interrupt the worker, and kill it after `grace` seconds. If it waits for a reply, it gets the reply first."""
        if self._stop is None and (self.expecting or self.event is not None):
            self._stop = (why, time.monotonic() + grace)
            self._signal_at = 0.0

    def end(self, *, fresh: bool = False) -> None:
        """End the worker and discard its last event; with `fresh`, also the CPU seconds that its session has used."""
        self._reap()
        self.event = self._unreported_exit = None
        if fresh:
            self._cpu_spent = 0.0

    def close(self) -> None:
        """End the worker without an event."""
        if self._worker is not None:
            self._worker.close()

    # -- from time --------------------------------------------------------------------------------

    def watch(self, now: float, grace: float) -> float:
        """Interrupt a worker that has used up its CPU seconds, and repeat the signal; return when to check again."""
        if self._worker is None or not self.expecting:
            return now + 1.0
        if now >= self._next_cpu_check:  # memory is checked until the worker is dead, even while it is being stopped
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
        """End the worker if the block raises, for example because there is no memory for its frame.

        After such an error, it is unknown what the worker received and what its answer belongs to. It is reported as
        ended, without any fault of its own.
        """
        try:
            yield
        except Exception:
            if worker is self._worker:
                self._reap()

    def _update_interest(self, worker: WorkerLink) -> None:
        """Watch the worker's socket for reading only while an answer is due, and for writing while data waits."""
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
            worker.signal(signal.SIGSTOP)  # it must not run until the next frame, even if it is compromised
            if not self._over_memory_limit(worker):
                cpu = None if self._cpu_asked is None else worker.cpu_seconds() - self._cpu_asked
                self._emit({"frame": frame, "cpu": cpu})
        elif worker.closed:
            worker.signal(signal.SIGKILL)  # it closed its socket, so it is of no more use even if it still runs
            if worker.pidfd is None:
                self._reap()

    def _over_memory_limit(self, worker: WorkerLink) -> bool:
        """End a worker that has more memory than its limits allow in sum, or hides it; return whether it ended."""
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
        """End the worker, if it has not ended by itself, and make its exit an event. `said` is our reason for it."""
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
            self._unreported_exit = {"end": ended}  # reported at the host's next frame for the worker

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
