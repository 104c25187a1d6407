"""The host's side of a worker behind a broker: exchanges frames with a deadline, and finds out why it died."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.protocol import Call, CellResult, Printed, check_nonce, decode, event, fresh_nonce
from rlm_secure.broker.signed import Asked, Ended, Events, Stopped
from rlm_secure.environments.deadline import SESSION_CPU, Deadline
from rlm_secure.environments.exit_reason import SIGKILL, SIGXCPU, exit_reason
from rlm_secure.environments.request_log import READS
from rlm_secure.errors import CellError, CellMemoryLimit, CellTimeout, ProtocolViolation, WallViolation
from rlm_secure.policy.model import Limits

#: Seconds beyond the grace that the supervisor has to kill a worker, before the sandbox itself is ended.
KILL_SECONDS: Final = 5.0
#: Longest single wait at the broker.
_POLL_SECONDS = 20.0
#: After an empty answer that came before half of the wait was over, the host pauses; the pause doubles from the first
#: to the longest. More such answers than this in one request break the protocol.
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0
_EARLY_ANSWERS = 32
#: Longest pause before the reply to a call that is not served.
_VAIN_PAUSE = 0.2


class RemoteDied(Exception):
    """The worker is gone; `ended` is the supervisor's report, None if there is none."""

    def __init__(self, ended: Ended | None) -> None:
        super().__init__("the worker is gone")
        self.ended = ended


class RemoteOverdue(Exception):
    """The worker did not end its cell in time. `final`: its sandbox is unusable, because the supervisor did not stop
    the worker either (`why` says more), or because the worker held more memory than its limit allows."""

    def __init__(self, error: CellError, *, final: bool = False, why: str = "") -> None:
        super().__init__(f"{error}; {why}" if why else str(error))
        self.error = error
        self.final = final


class RemoteWorker:
    """The host's side of one worker: a frame is sent with the next wait, in one round trip."""

    def __init__(self, client: BrokerClient, limits: Limits) -> None:
        self._client = client
        self._limits = limits
        self._outgoing: tuple[Mapping[str, Any], int | None] | None = None
        self._asking: str | Asked | None = None
        self._told = False
        self._early = 0
        self._served = False  # whether calls of the current request are served
        self._vain = 0  # its calls that were not served
        self._nonce: str | None = None  # of the last frame to the worker
        self._ran = 0.0  # seconds of the request during which the worker may have run
        self._used: float | None = None  # CPU seconds of the request
        self._before = 0.0  # CPU seconds of earlier, successful requests
        self.interrupted = threading.Event()

    def send(self, message: Mapping[str, Any], upload: int | None = None) -> None:
        """The next frame for the worker: a request, or the reply to its last call."""
        self._outgoing = (message, upload)

    def reply(self, message: Mapping[str, Any], deadline: Deadline) -> None:  # noqa: ARG002
        """Reply to a call. The reply is sent with the next wait, under its deadline."""
        self.send(message)

    def event(self, deadline: Deadline) -> Call | Printed | CellResult:
        """Send the queued frame, and return the next call or result.

        Raises RemoteDied, RemoteOverdue, Lost or ProtocolViolation.
        """
        limits = self._limits
        began = time.monotonic()
        try:
            said = event(
                self.receive(deadline),
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
        """CPU seconds of its last request, as the supervisor measured them.

        Without a measurement, all elapsed time counts: a figure from the worker would limit nothing.
        """
        return self._ran if self._used is None else self._used

    def receive(self, deadline: Deadline) -> dict[str, Any]:
        """As `event`, but only decoded. A call over HTTP (`/enqueue`) becomes the frame that a cell would send."""
        self._used = None
        events = self._turn(deadline)
        while True:
            if events.frame is not None:
                self._judge(deadline, events.frame.stopped)
                self._asking = events.frame.id
                self._used = events.frame.cpu_seconds
                frame = decode(events.frame.data, limit=self._limits.result_bytes)
                check_nonce(frame, self._nonce)
                if frame.get("op") == "call":
                    self._called(deadline)
                return frame
            if events.ended is not None:
                self._used = max(events.ended.cpu_seconds - self._before, 0.0)
                self._judge(deadline, events.ended.stopped)
                if deadline.cause is not None:
                    raise RemoteOverdue(deadline.cause)
                raise RemoteDied(events.ended)
            if events.asked:
                self._called(deadline)
                self._asking = events.asked[0]
                return _frame(events.asked[0].call)
            if events.worker != "busy":
                raise RemoteDied(None)
            self._tick(deadline)
            events = self._wait(deadline, self._client.pending)

    def _turn(self, deadline: Deadline) -> Events:
        outgoing, self._outgoing = self._outgoing, None
        if outgoing is None:
            return self._wait(deadline, self._client.pending)
        message, upload = outgoing
        if message["op"] != "reply":
            self._told = False
            self._early = self._vain = 0
            self._served = message["op"] == "exec"
            cpu = self._limits.cell_cpu_seconds if message["op"] in ("exec", *READS) else None
            self._ran = 0.0
            self._nonce = fresh_nonce()
            message = {**message, "nonce": self._nonce}
            return self._wait(deadline, partial(self._client.execute, message, cpu=cpu, upload=upload))
        asking, self._asking = self._asking, None
        response = {name: value for name, value in message.items() if name != "op"}
        if isinstance(asking, Asked):
            response = _seed_response(asking.call, response)
            return self._wait(deadline, partial(self._client.respond, asking.id, response))
        assert asking is not None
        self._nonce = fresh_nonce()
        return self._wait(deadline, partial(self._client.respond, asking, {**response, "nonce": self._nonce}))

    def _wait(self, deadline: Deadline, ask: Callable[..., Events]) -> Events:
        """Ask, and wait for an answer until the request's deadline, plus the supervisor's time to stop the worker."""
        limit = max(deadline.remaining() - deadline.overdue() + self._limits.grace_seconds + KILL_SECONDS, 0.05)
        wait = min(deadline.remaining() or limit, _POLL_SECONDS)
        began = time.monotonic()
        try:
            events = ask(wait=wait, seconds=limit)
        except Lost as lost:
            if (cause := deadline.over()) is None:
                raise
            raise RemoteOverdue(cause, final=True, why=f"its supervisor did not say that it did ({lost})") from None
        if events.empty and events.worker == "busy" and time.monotonic() - began < wait / 2:
            self._pause(wait)
        return events

    def _pause(self, most: float) -> None:
        """Pause after an early, empty answer. Raises ProtocolViolation after too many of them."""
        self._early += 1
        if self._early > _EARLY_ANSWERS:
            said = f"asked to wait for the worker, it answered at once and with nothing {self._early} times"
            raise ProtocolViolation(f"the broker broke the protocol: {said}")
        time.sleep(min(_FIRST_PAUSE * 2**self._early, _LONGEST_PAUSE, most))

    def _called(self, deadline: Deadline) -> None:
        """Check the time, also of a worker that never stops calling, and pause if the call will not be served."""
        self._tick(deadline)
        if deadline.cause is not None or not self._served:
            time.sleep(min(_FIRST_PAUSE * 2**self._vain, _VAIN_PAUSE))
            self._vain += 1

    def _tick(self, deadline: Deadline) -> None:
        """Have the worker interrupted, once, when its time is over. Raises RemoteOverdue when it was not stopped."""
        if self.interrupted.is_set():
            deadline.interrupt()
        cause = deadline.over()
        if cause is None:
            return
        if deadline.overdue() > self._limits.grace_seconds + KILL_SECONDS:
            raise RemoteOverdue(cause, final=True, why="its supervisor did not stop it")
        if not self._told:
            self._told = True
            self.interrupt()

    def interrupt(self) -> None:
        """Have the worker interrupted now, and killed after the grace. Thread-safe."""
        with contextlib.suppress(Lost, Declined):
            self._client.interrupt(self._limits.grace_seconds, seconds=KILL_SECONDS)

    def _judge(self, deadline: Deadline, stopped: Stopped | None) -> None:
        if stopped == "cpu":
            said = f"the cell used up limits.cell_cpu_seconds = {self._limits.cell_cpu_seconds:g} s and was stopped"
            deadline.expire(CellTimeout(said, limit="limits.cell_cpu_seconds", wall="wall-clock"))
        elif stopped == "session-cpu":
            said = f"the session used up limits.session_cpu_seconds = {self._limits.session_cpu_seconds:g} s"
            deadline.expire(CellTimeout(said, limit=SESSION_CPU, wall="rlimits"))
        elif stopped == "memory":
            said = f"the worker held more than limits.memory_bytes = {self._limits.memory_bytes:,} and was killed"
            raise RemoteOverdue(CellMemoryLimit(said, limit="limits.memory_bytes", wall="rlimits"), final=True)
        elif stopped is not None:
            deadline.interrupt()


def _frame(call: Call) -> dict[str, Any]:
    return {"op": "call", "call": call.kind, "prompts": list(call.prompts), "model": call.model}


def _seed_response(call: Call, response: Mapping[str, Any]) -> dict[str, Any]:
    """A reply in the format of earlier brokers, which clients of /enqueue read."""
    if "error" in response:
        return {"error": response["error"]}
    return {"responses" if call.kind.endswith("_batched") else "response": response["value"]}


def verdict(ended: Ended | None, limits: Limits, before: float = 0.0) -> CellError:
    """Why a worker died without being stopped, as far as the supervisor knows.

    `before` are the CPU seconds that its session used in other sandboxes.
    """
    if ended is not None and ended.said:
        return WallViolation(f"the supervisor ended the worker: {ended.said}", wall="separate-process")

    def limit(number: int) -> CellError | None:
        assert ended is not None
        budget = limits.session_cpu_seconds
        if number in (SIGXCPU, SIGKILL) and ended.cpu_seconds >= budget - before - 1:
            said = f"the session used up limits.session_cpu_seconds = {budget:g} s and was killed"
            return CellTimeout(said, limit="limits.session_cpu_seconds", wall="rlimits")
        if number == SIGKILL and ended.oom_kills:
            said = "the sandbox ran out of memory and the worker was killed"
            return CellMemoryLimit(said, limit="limits.memory_bytes", wall="cgroup")
        return None

    return exit_reason(None if ended is None else ended.status, limit)
