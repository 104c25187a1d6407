"""The host's end of a worker that is reached through a broker: frames under a clock, and its cause of death."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.protocol import Call, CellResult, check_nonce, decode, event, fresh_nonce
from rlm_secure.broker.signed import Asked, Ended, Events, Stopped
from rlm_secure.environments.deadline import SESSION_CPU, Clock
from rlm_secure.environments.exit_reason import exit_reason
from rlm_secure.errors import CellError, CellMemoryLimit, CellTimeout, ProtocolViolation, WallViolation
from rlm_secure.policy.model import Limits

#: How much longer than the grace the supervisor may take to kill a worker, before the sandbox itself is ended.
KILL_SECONDS: Final = 5.0
#: Longest single wait at the broker.
_POLL_SECONDS = 20.0
#: A supervisor that answers a wait before half of it is over, with nothing, is asked again after a pause, which doubles
#: from the first to the longest; after so many times in one request it is asked no more.
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0
_EARLY_ANSWERS = 32
#: Longest pause before the answer to a call that nobody is asked for.
_VAIN_PAUSE = 0.2


class RemoteDied(Exception):
    """The worker is gone; `ended` is the supervisor's report, None where it made none."""

    def __init__(self, ended: Ended | None) -> None:
        super().__init__("the worker is gone")
        self.ended = ended


class RemoteOverdue(Exception):
    """The worker did not end its cell in time. `final`: nor did its supervisor end it, whose sandbox is of no use any
    more, for the reason that `why` adds; or it held what no worker can honestly hold."""

    def __init__(self, error: CellError, *, final: bool = False, why: str = "") -> None:
        super().__init__(f"{error}; {why}" if why else str(error))
        self.error = error
        self.final = final


class RemoteWorker:
    """The host's end of one worker: what is sent goes with the next wait, in one round trip."""

    def __init__(self, client: BrokerClient, limits: Limits) -> None:
        self._client = client
        self._limits = limits
        self._outgoing: tuple[Mapping[str, Any], int | None] | None = None
        self._asking: str | Asked | None = None
        self._told = False
        self._early = 0
        self._served = False  # whether the calls of the request are
        self._vain = 0  # calls of it that nobody was asked for
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
        """Send what waits, and return the next call or result.

        Raises RemoteDied, RemoteOverdue, Lost or ProtocolViolation.
        """
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
                    self._called(clock)
                return frame
            if events.ended is not None:
                self._used = max(events.ended.cpu_seconds - self._before, 0.0)
                self._judge(clock, events.ended.stopped)
                if clock.cause is not None:
                    raise RemoteOverdue(clock.cause)
                raise RemoteDied(events.ended)
            if events.asked:
                self._called(clock)
                self._asking = events.asked[0]
                return _frame(events.asked[0].call)
            if events.worker != "busy":
                raise RemoteDied(None)
            self._tick(clock)
            events = self._wait(clock, self._client.pending)

    def _turn(self, clock: Clock) -> Events:
        outgoing, self._outgoing = self._outgoing, None
        if outgoing is None:
            return self._wait(clock, self._client.pending)
        message, upload = outgoing
        if message["op"] != "reply":
            self._told = False
            self._early = self._vain = 0
            self._served = message["op"] == "exec"
            cpu = self._limits.cell_cpu_seconds if message["op"] in ("exec", "read") else None
            self._ran = 0.0
            self._nonce = fresh_nonce()
            message = {**message, "nonce": self._nonce}
            return self._wait(clock, partial(self._client.execute, message, cpu=cpu, upload=upload))
        asking, self._asking = self._asking, None
        response = {name: value for name, value in message.items() if name != "op"}
        if isinstance(asking, Asked):
            response = _seed_response(asking.call, response)
            return self._wait(clock, partial(self._client.respond, asking.id, response))
        assert asking is not None
        self._nonce = fresh_nonce()
        return self._wait(clock, partial(self._client.respond, asking, {**response, "nonce": self._nonce}))

    def _wait(self, clock: Clock, ask: Callable[..., Events]) -> Events:
        """Ask, and wait for an answer for as long as the request has time, and a supervisor to end it after that."""
        limit = max(clock.remaining() - clock.overdue() + self._limits.grace_seconds + KILL_SECONDS, 0.05)
        wait = min(clock.remaining() or limit, _POLL_SECONDS)
        began = time.monotonic()
        try:
            events = ask(wait=wait, seconds=limit)
        except Lost as lost:
            if (cause := clock.over()) is None:
                raise
            raise RemoteOverdue(cause, final=True, why=f"its supervisor did not say that it did ({lost})") from None
        if events.empty and events.worker == "busy" and time.monotonic() - began < wait / 2:
            self._pause(wait)
        return events

    def _pause(self, most: float) -> None:
        """After an answer that came at once and said nothing. Raises ProtocolViolation after too many of them."""
        self._early += 1
        if self._early > _EARLY_ANSWERS:
            said = f"asked to wait for the worker, it answered at once and with nothing {self._early} times"
            raise ProtocolViolation(f"the broker broke the protocol: {said}")
        time.sleep(min(_FIRST_PAUSE * 2**self._early, _LONGEST_PAUSE, most))

    def _called(self, clock: Clock) -> None:
        """A call came: look at who always has one, and pause where nobody is asked, as when its time is over."""
        self._tick(clock)
        if clock.cause is not None or not self._served:
            time.sleep(min(_FIRST_PAUSE * 2**self._vain, _VAIN_PAUSE))
            self._vain += 1

    def _tick(self, clock: Clock) -> None:
        """Have the worker interrupted when its time is over, once, and give up when the grace is."""
        if self.interrupted.is_set():
            clock.interrupt()
        cause = clock.over()
        if cause is None:
            return
        if clock.overdue() > self._limits.grace_seconds + KILL_SECONDS:
            raise RemoteOverdue(cause, final=True, why="its supervisor did not stop it")
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
            raise RemoteOverdue(CellMemoryLimit(said, limit="limits.memory_bytes", wall="rlimits"), final=True)
        elif stopped is not None:
            clock.interrupt()


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

    def limit(number: int) -> CellError | None:
        assert ended is not None
        budget = limits.session_cpu_seconds
        if number in (signal.SIGXCPU, signal.SIGKILL) and ended.cpu_seconds >= budget - 1:
            said = f"the session used up limits.session_cpu_seconds = {budget:g} s and was killed"
            return CellTimeout(said, limit="limits.session_cpu_seconds", wall="rlimits")
        if number == signal.SIGKILL and ended.oom_kills:
            said = "the sandbox ran out of memory and the worker was killed"
            return CellMemoryLimit(said, limit="limits.memory_bytes", wall="cgroup")
        return None

    return exit_reason(None if ended is None else ended.status, limit)
