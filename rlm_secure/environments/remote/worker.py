"""The host's end of a worker that is reached through a broker: frames under a clock, and its cause of death."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from rlm_secure.broker.client import Client, Declined, Lost
from rlm_secure.broker.protocol import Call, CellResult, check_nonce, decode, event, fresh_nonce
from rlm_secure.broker.signed import Asked, Ended, Events, Stopped
from rlm_secure.environments.clock import SESSION_CPU, Clock
from rlm_secure.environments.local import pidfd as process
from rlm_secure.errors import CellCrashed, CellError, CellMemoryLimit, CellTimeout, WallViolation
from rlm_secure.policy.model import Limits

#: How much longer than the grace the supervisor may take to kill a worker, before the sandbox itself is ended.
KILL_SECONDS: Final = 5.0
#: Longest single wait at the broker.
_POLL_SECONDS = 20.0


class Died(Exception):
    """The worker is gone; `ended` is the supervisor's report, None where it made none."""

    def __init__(self, ended: Ended | None) -> None:
        super().__init__("the worker is gone")
        self.ended = ended


class Overdue(Exception):
    """The worker did not end its cell in time, grace included, or held what no worker can honestly hold (`final`)."""

    def __init__(self, error: CellError, *, final: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.final = final


class RemoteWorker:
    """The host's end of one worker: what is sent goes with the next wait, in one round trip."""

    def __init__(self, client: Client, limits: Limits) -> None:
        self._client = client
        self._limits = limits
        self._outgoing: tuple[Mapping[str, Any], int | None] | None = None
        self._asking: str | Asked | None = None
        self._told = False
        self._nonce: str | None = None  # of what the worker was told last
        self._ran = 0.0  # seconds of the request in which it may have run
        self._used: float | None = None  # CPU seconds of it
        self._before = 0.0  # CPU seconds of the requests that went well before it
        self.interrupted = threading.Event()

    def send(self, message: Mapping[str, Any], upload: int | None = None) -> None:
        """The next frame for the worker: a request, or the reply to its last call."""
        self._outgoing = (message, upload)

    def reply(self, message: Mapping[str, Any], _clock: Clock) -> None:
        """Answer a call. It goes out with the next request, under that one's deadline."""
        self.send(message)

    def event(self, clock: Clock) -> Call | CellResult:
        """Send what waits, and return the next call or result. Raises Died, Overdue, Lost or ProtocolViolation."""
        limits = self._limits
        began = time.monotonic()
        try:
            said = event(
                self.receive(clock),
                value_bytes=limits.value_bytes,
                stdout_bytes=limits.stdout_bytes,
                result_bytes=limits.result_bytes,
            )
        finally:
            self._ran += time.monotonic() - began
        if isinstance(said, CellResult):
            said.cpu_seconds = self.cpu_seconds
            self._before += said.cpu_seconds
        return said

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of its last request, by the supervisor's clock.

        Where that has said none, all the time counts: what the worker says bounds nothing.
        """
        return self._ran if self._used is None else self._used

    def receive(self, clock: Clock) -> dict[str, Any]:
        """As `event`, but only decoded. A call over HTTP (`/enqueue`) comes as the frame that a cell would send."""
        self._used = None
        events = self._turn(clock)
        while True:
            if events.frame is not None:
                self._judge(clock, events.frame.stopped)
                self._asking = events.frame.id
                self._used = events.frame.cpu_seconds
                frame = decode(events.frame.data, limit=self._limits.result_bytes)
                check_nonce(frame, self._nonce)
                if frame.get("op") == "call":
                    self._tick(clock)  # a cell that always has something to say is looked at as well
                return frame
            if events.ended is not None:
                self._used = max(events.ended.cpu_seconds - self._before, 0.0)
                self._judge(clock, events.ended.stopped)
                if clock.cause is not None:
                    raise Overdue(clock.cause)
                raise Died(events.ended)
            if events.asked:
                self._tick(clock)
                self._asking = events.asked[0]
                return _frame(events.asked[0].call)
            if events.worker != "busy":
                raise Died(None)
            self._tick(clock)
            events = self._client.pending(wait=self._patience(clock))

    def _turn(self, clock: Clock) -> Events:
        outgoing, self._outgoing = self._outgoing, None
        wait = self._patience(clock)
        if outgoing is None:
            return self._client.pending(wait=wait)
        message, upload = outgoing
        if message["op"] != "reply":
            self._told = False
            cpu = self._limits.cell_cpu_seconds if message["op"] in ("exec", "read") else None
            self._ran = 0.0
            self._nonce = fresh_nonce()
            message = {**message, "nonce": self._nonce}
            return self._client.execute(message, wait=wait, cpu=cpu, upload=upload)
        asking, self._asking = self._asking, None
        response = {name: value for name, value in message.items() if name != "op"}
        if isinstance(asking, Asked):
            return self._client.respond(asking.id, _seed_response(asking.call, response), wait=wait)
        assert asking is not None
        self._nonce = fresh_nonce()
        return self._client.respond(asking, {**response, "nonce": self._nonce}, wait=wait)

    def _patience(self, clock: Clock) -> float:
        left = clock.remaining()
        if left <= 0:
            left = max(self._limits.grace_seconds + KILL_SECONDS - clock.overdue(), 0.05)
        return min(left, _POLL_SECONDS)

    def _tick(self, clock: Clock) -> None:
        """Have the worker interrupted when its time is over, once, and give up when the grace is."""
        if self.interrupted.is_set():
            clock.expire(CellTimeout("the cell was interrupted by the host", limit="interrupt", wall="wall-clock"))
        cause = clock.over()
        if cause is None:
            return
        if clock.overdue() > self._limits.grace_seconds + KILL_SECONDS:
            raise Overdue(cause)
        if not self._told:
            self._told = True
            self.interrupt()

    def interrupt(self) -> None:
        """Have the worker interrupted now, and killed when the grace is over. From any thread."""
        with contextlib.suppress(Lost, Declined):
            self._client.interrupt(self._limits.grace_seconds, seconds=KILL_SECONDS)

    def _judge(self, clock: Clock, stopped: Stopped | None) -> None:
        if stopped == "cpu":
            said = f"the cell used up limits.cell_cpu_seconds = {self._limits.cell_cpu_seconds:g} s and was stopped"
            clock.expire(CellTimeout(said, limit="limits.cell_cpu_seconds", wall="wall-clock"))
        elif stopped == "session-cpu":
            said = f"the session used up limits.session_cpu_seconds = {self._limits.session_cpu_seconds:g} s"
            clock.expire(CellTimeout(said, limit=SESSION_CPU, wall="rlimits"))
        elif stopped == "memory":
            said = f"the worker held more than limits.memory_bytes = {self._limits.memory_bytes:,} and was killed"
            raise Overdue(CellMemoryLimit(said, limit="limits.memory_bytes", wall="rlimits"), final=True)
        elif stopped is not None:
            clock.expire(CellTimeout("the cell was interrupted by the host", limit="interrupt", wall="wall-clock"))


def _frame(call: Call) -> dict[str, Any]:
    return {"op": "call", "call": call.kind, "prompts": list(call.prompts), "model": call.model}


def _seed_response(call: Call, response: Mapping[str, Any]) -> dict[str, Any]:
    """A reply in the shape that the seeds' clients of /enqueue read."""
    if "error" in response:
        return {"error": response["error"]}
    return {"responses" if call.kind.endswith("_batched") else "response": response["value"]}


def verdict(ended: Ended | None, limits: Limits) -> CellError:
    """Why a worker that died by itself did so, as far as the supervisor saw it."""
    if ended is not None and ended.said:
        return WallViolation(f"the supervisor ended the worker: {ended.said}", wall="separate-process")
    if ended is None or ended.status is None:
        # Without the kernel's word this may have been a forbidden call: it is treated as one.
        return WallViolation("the worker died and the kernel does not say why; taken for a violation", wall="seccomp")
    if not os.WIFSIGNALED(ended.status):
        said = f"the worker ended by itself (exit status {os.waitstatus_to_exitcode(ended.status)})"
        return CellCrashed(said, wall="separate-process")
    number = os.WTERMSIG(ended.status)
    if number == signal.SIGSYS:
        return WallViolation("the kernel killed the worker for a forbidden system call (seccomp)", wall="seccomp")
    budget = limits.session_cpu_seconds
    if number in (signal.SIGXCPU, signal.SIGKILL) and ended.cpu_seconds >= budget - 1:
        said = f"the session used up limits.session_cpu_seconds = {budget:g} s and was killed"
        return CellTimeout(said, limit="limits.session_cpu_seconds", wall="rlimits")
    if number == signal.SIGKILL and ended.oom_kills:
        said = "the sandbox ran out of memory and the worker was killed"
        return CellMemoryLimit(said, limit="limits.memory_bytes", wall="cgroup")
    said = f"the worker was killed by {process.name_of(number)} in the middle of the cell"
    return CellCrashed(said, wall="separate-process")
