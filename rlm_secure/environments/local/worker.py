"""The host's end of one worker process: frames under a deadline, signals by pidfd, and its cause of death.

Guards: a worker's frames, deadlines and cause of death
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from rlm_secure.broker.protocol import Call, CellResult, decode, event
from rlm_secure.environments.clock import SLICE_SECONDS, Clock
from rlm_secure.environments.local import pidfd as process
from rlm_secure.environments.local.forked import Forked
from rlm_secure.environments.local.nearby import MOMENT_SECONDS, Nearby
from rlm_secure.errors import CellCrashed, CellError, CellMemoryLimit, CellTimeout, ProtocolViolation, WallViolation
from rlm_secure.policy.model import Limits

_HEADER = struct.Struct(">I")


def _timeval(seconds: float) -> bytes:
    """A struct timeval, not zero, which would mean for ever."""
    return struct.pack("ll", int(seconds), max(int(seconds % 1 * 1e6), 1))


class Died(Exception):
    """The worker's end of the channel is closed; `unsent` when that was so before the request went out."""

    unsent = False


class Overdue(Exception):
    """The worker did not end its cell in time, grace included. `error` says which limit it broke."""

    def __init__(self, error: CellError) -> None:
        super().__init__(str(error))
        self.error = error


class Worker:
    """One worker. `pid` is the zygote's view of it; `forked` is set where it is the session's first process."""

    def __init__(
        self, connection: socket.socket, pidfd: int, pid: int, limits: Limits, forked: Forked | None = None
    ) -> None:
        self.pid = pid
        self._socket = connection
        self._pidfd = pidfd
        self._limits = limits
        self._forked = forked
        self._buffer = bytearray()
        self._nearby = Nearby(pidfd, placed=forked is None)
        # The kernel's own timeouts, not Python's: those ask with a poll(2) before each call.
        connection.setblocking(True)
        self._timeout = SLICE_SECONDS
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _timeval(SLICE_SECONDS))
        self._cpu_clock: int | None = None
        self._cpu_seen = 0.0
        self.interrupted = threading.Event()

    # -- frames -----------------------------------------------------------------------------------

    def reply(self, message: Mapping[str, Any], clock: Clock) -> None:
        """Answer a call, under the clock of its cell: one that does not read its answers must not hold the host."""
        self.send(message, clock=clock)

    def send(self, message: Mapping[str, Any], fds: list[int] | None = None, clock: Clock | None = None) -> None:
        """Write one frame. Raises Died, or Overdue when the worker does not read it."""
        body = json.dumps(message).encode("ascii")
        frame = memoryview(_HEADER.pack(len(body)) + body)
        deadline = time.monotonic() + self._limits.start_seconds
        self._nearby.fetch()
        try:
            if fds:
                frame = frame[socket.send_fds(self._socket, [frame[:1]], fds) :]
            while frame:
                # A worker that does not read must not hold the host: the write waits under a deadline as well.
                try:
                    frame = frame[self._socket.send(frame) :]
                except BlockingIOError:
                    if clock is not None:
                        self._tick(clock)
                    if time.monotonic() > deadline:
                        said = f"the worker did not read its request within {self._limits.start_seconds:g} s"
                        raise Overdue(CellTimeout(said, limit="limits.start_seconds", wall="wall-clock")) from None
        except OSError:
            raise Died from None

    def receive(self, clock: Clock, *, limit: int | None = None) -> dict[str, Any]:
        """One decoded frame. Raises Died, Overdue or ProtocolViolation."""
        limit = limit or self._limits.result_bytes
        # A cell that talks all the time is looked at as well: silence alone must not be what starts the clock.
        self._look(clock)
        buffer = self._buffer
        self._nearby.hold()
        try:
            self._fill(_HEADER.size, clock)
            (length,) = _HEADER.unpack_from(buffer)
            if length > limit:
                raise ProtocolViolation(f"the sandbox broke the protocol: a frame of {length} bytes, limit {limit}")
            end = _HEADER.size + length
            self._fill(end, clock)
        finally:
            self._nearby.release()
        frame = buffer[_HEADER.size : end]
        del buffer[:end]
        return decode(frame, limit=limit)

    def event(self, clock: Clock) -> Call | CellResult:
        """The next call or result. Raises as `receive`."""
        return event(self.receive(clock), value_bytes=self._limits.value_bytes)

    def _fill(self, size: int, clock: Clock) -> None:
        """Read until there are `size` bytes."""
        buffer = self._buffer
        while len(buffer) < size:
            held = self._nearby.held
            self._wait_at_most(min(clock.slice(), MOMENT_SECONDS) if held else clock.slice())
            try:
                chunk = self._socket.recv(max(65536, size - len(buffer)))
            except BlockingIOError:
                if held:
                    self._nearby.part()
                self._tick(clock)
                continue
            except OSError:
                raise Died from None
            if not chunk:
                raise Died
            buffer += chunk
            if len(buffer) < size:
                self._look(clock)  # one that sends a frame byte by byte, too

    def _look(self, clock: Clock) -> None:
        if self.interrupted.is_set() or not clock.remaining():
            self._tick(clock)

    def _wait_at_most(self, seconds: float) -> None:
        seconds = min(seconds, SLICE_SECONDS)
        if seconds != self._timeout:
            self._timeout = seconds
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))

    def _tick(self, clock: Clock) -> None:
        """Nothing came for a while: interrupt the worker when its time is over, give up when the grace is."""
        if self.interrupted.is_set():
            clock.expire(CellTimeout("the cell was interrupted by the host", limit="interrupt", wall="wall-clock"))
        cause = clock.over()
        if cause is None:
            return
        if clock.overdue() > self._limits.grace_seconds:
            raise Overdue(cause)
        process.send_signal(self._pidfd, signal.SIGUSR1)

    # -- the process ------------------------------------------------------------------------------

    def cpu_seconds(self) -> float | None:
        """CPU seconds used so far, read from outside; None where it is gone, or hidden from the host."""
        if self._cpu_clock is None:
            if (pid := process.pid_of(self._pidfd)) is None:
                return None
            self._cpu_clock = (~pid << 3) | 2  # clock_getcpuclockid(3): the scheduler's clock of the whole process
        try:
            self._cpu_seen = time.clock_gettime(self._cpu_clock)
        except OSError:
            return None
        return self._cpu_seen

    @property
    def host_pid(self) -> int | None:
        """Its pid as the host sees it; None when it is gone."""
        return process.pid_of(self._pidfd)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone (at most 5 s)."""
        process.send_signal(self._pidfd, signal.SIGKILL)
        process.ended(self._pidfd, 5.0)

    def verdict(self) -> CellError:
        """Why a worker that died by itself did so."""
        if not process.ended(self._pidfd, 0.5):
            self.kill()
            said = "the worker closed its channel and lived on: something took it over"
            return WallViolation(said, wall="separate-process")
        status = self._status()
        if status is None:
            # Without the kernel's word this may have been a forbidden call: it is treated as one.
            said = "the worker died and the kernel does not say why; taken for a violation"
            return WallViolation(said, wall="seccomp")
        if not os.WIFSIGNALED(status):
            said = f"the worker ended by itself (exit status {os.waitstatus_to_exitcode(status)})"
            return CellCrashed(said, wall="separate-process")
        number = os.WTERMSIG(status)
        if number == signal.SIGSYS:
            said = "the kernel killed the worker for a forbidden system call (seccomp)"
            return WallViolation(said, wall="seccomp")
        budget = self._limits.session_cpu_seconds
        if number in (signal.SIGXCPU, signal.SIGKILL) and self._cpu_seen >= budget - 1:
            said = f"the session used up limits.session_cpu_seconds = {budget:g} s and was killed"
            return CellTimeout(said, limit="limits.session_cpu_seconds", wall="rlimits")
        if number == signal.SIGKILL and self._forked is not None and self._forked.out_of_memory():
            said = f"the session used more than limits.memory_bytes = {self._limits.memory_bytes:,} and was killed"
            return CellMemoryLimit(said, limit="limits.memory_bytes", wall="cgroup")
        return CellCrashed(
            f"the worker was killed by {process.name_of(number)} in the middle of the cell", wall="separate-process"
        )

    def _status(self) -> int | None:
        # A zombie has no exit code here until its parent reaps it: init does so at once, the zygote when asked.
        if self._forked is not None and (status := self._forked.zygote.status(self._forked.pid)) is not None:
            return status
        for _ in range(50):
            try:
                status = process.wait_status(self._pidfd)
            except OSError:
                return None
            if status is not None:
                return status
            time.sleep(0.002)
        return None

    def drop(self) -> None:
        """Close this end. The pidfd of a session's first process belongs to the session."""
        self._socket.close()
        if self._forked is None and self._pidfd >= 0:
            os.close(self._pidfd)
        self._pidfd = -1
