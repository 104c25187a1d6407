"""The host's end of one worker process: frames under a deadline, signals by pidfd, and its cause of death.

Guards: a worker's frames, deadlines and cause of death
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rlm_secure.broker.protocol import Call, CellResult, Printed, check_nonce, decode, event, fresh_nonce, ready
from rlm_secure.environments.deadline import SLICE_SECONDS, Deadline, Overdue
from rlm_secure.environments.exit_reason import exit_reason
from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local.cgroup import Group
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.spin import Spin
from rlm_secure.environments.local.weight import PAGE, UNCOUNTED_BYTES, held_bytes, judge
from rlm_secure.errors import (
    CellError,
    CellMemoryLimit,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    WallViolation,
)

if TYPE_CHECKING:
    from rlm_secure.policy.model import Limits

_HEADER = struct.Struct(">I")
_encode = json.JSONEncoder().encode
#: Bytes of one send(2): the kernel restarts its timeout with each piece that the worker reads.
_SEND_BYTES = 256 << 10


_READY_BYTES = 1 << 20
#: How often a worker is looked at that has only to close a descriptor.
_MOMENT_SECONDS = 0.0005
#: Enough for /proc/PID/status: its line of groups, which precedes those of memory, has up to 65,536 numbers.
_STATUS_BYTES = 1 << 20


def _timeval(seconds: float) -> bytes:
    """A struct timeval; never zero, which would mean no timeout."""
    return struct.pack("ll", int(seconds), max(int(seconds % 1 * 1e6), 1))


@lru_cache(maxsize=16)
def _walls(frame: bytes) -> dict[str, tuple[str, str]]:
    """The walls of a `ready` frame. Cached, as nearly all sessions send the same. Raises ProtocolViolation."""
    return ready(decode(frame, limit=_READY_BYTES))


class Died(Exception):
    """The worker's end of the channel is closed; `unsent` if it was closed before the request was sent.

    `cpu_seconds` are those of the cell that it ran.
    """

    unsent = False
    cpu_seconds = 0.0


class Worker:
    """One worker. `process` is set for the session's first process; `since` is the earliest time at which it may have
    begun to run, by time.monotonic(), by default now."""

    def __init__(
        self,
        connection: socket.socket,
        pidfd: int,
        limits: Limits,
        process: SessionProcess | None = None,
        *,
        since: float | None = None,
    ) -> None:
        self._socket = connection
        self._pidfd = pidfd
        self._limits = limits
        self._process = process
        self._buffer = bytearray()
        self._stopped = False
        self._stopped_since = 0.0
        self.nonce: str | None = None
        """The worker's answer to the last frame must carry it: a worker that has not read the frame cannot know it."""
        # Timeouts of the kernel, not of Python, which would add a poll(2) to each call.
        connection.setblocking(True)
        self._timeout = SLICE_SECONDS
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, _timeval(SLICE_SECONDS))
        self._cpu_clock: int | None = None
        self._readable = select.poll()
        self._readable.register(connection, select.POLLIN)
        self._readable.register(pidfd, select.POLLIN)
        self._spin = Spin()
        self._cpu_looked = time.monotonic() if since is None else since
        self.cpu_seen = 0.0
        """CPU seconds at the last reading."""
        self.cpu_ceiling = 0.0
        """The most CPU seconds that it can have used; set when it is killed."""
        self.listener: Listener | None = None
        """Shows each clone(2) of its session that the host did not ask for."""
        self.weighed = False
        """Whether the host checks its memory, because no cgroup limits it."""
        self.group: Group | None = None
        """Its cgroup, unless it is that of the first process of its PID namespace."""
        self.parent: Worker | None = None
        """The worker that it was forked from, as long as both run: its memory is checked as well."""
        self.descriptors_at_rest = 0
        """Its file descriptors before its first cell: the socket alone. 0 on kernels before Linux 6.2."""
        self._given = False  # a descriptor was sent to it since its last frame
        self._files: dict[str, int] = {}  # open files of its directory in /proc
        self.interrupted = threading.Event()

    # -- frames -----------------------------------------------------------------------------------

    def reply(self, message: Mapping[str, Any], deadline: Deadline) -> None:
        """Answer a call, under its cell's deadline: a worker that does not read answers must not block the host."""
        self.send(message, None, deadline)

    def send(self, message: Mapping[str, Any], fds: list[int] | None = None, deadline: Deadline | None = None) -> None:
        """Send a frame to a worker that waits, and let it run; `deadline`, if there is one, limits the write.

        Raises Died, Overdue when the worker does not read it, ProtocolViolation when it sent something unasked.
        """
        self._check_silence()
        self._given = self._given or bool(fds)
        self.nonce = fresh_nonce()
        body = _encode({**message, "nonce": self.nonce}).encode("ascii")
        frame = memoryview(_HEADER.pack(len(body)) + body)
        if self._stopped:
            # Only after encoding, which takes a while for a batch: the worker must not run unchecked. It finds what is
            # sent ahead when it wakes, and need not wake twice.
            if not fds:
                frame = self._sent_ahead(frame)
            self.stop(False)
        if frame:
            self._write(frame, fds, deadline)

    def _sent_ahead(self, frame: memoryview) -> memoryview:
        """What is left of a frame after as much of it as the channel takes at once."""
        try:
            return frame[self._socket.send(frame[:_SEND_BYTES], socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            return frame
        except OSError:
            raise Died from None

    def _check_silence(self) -> None:
        """Raise ProtocolViolation for unread data: it would be taken for the answer to the next frame.

        Raises Died if it has ended: a copy of it may keep its channel open, and nobody would read what is sent.
        """
        data: bytes | bytearray = self._buffer
        if not data:
            ready = self._readable.poll(0)
            if not ready:
                return
            if any(fd == self._pidfd for fd, _ in ready):
                raise Died
            try:
                data = self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except OSError:
                raise Died from None
            if not data:
                raise Died
        raise ProtocolViolation("the sandbox broke the protocol: the worker spoke when it was not asked")

    def _check_descriptors(self) -> None:
        """Raise ProtocolViolation if the worker keeps a descriptor that it was given: no limit counts the memory behind
        that of a context, which may be gigabytes, and that of a copy's channel is the copy's alone."""
        self._given = False
        if self.descriptors() > self.descriptors_at_rest > 0:
            raise ProtocolViolation("the sandbox broke the protocol: the worker keeps descriptors that it was given")

    def give_back(self, deadline: Deadline) -> None:
        """Wait until it has closed what it was given. Raises ProtocolViolation if it keeps that beyond the deadline."""
        while self.descriptors() > self.descriptors_at_rest > 0 and deadline.over() is None:
            self.weigh()
            time.sleep(_MOMENT_SECONDS)
        self._check_descriptors()

    def descriptors(self) -> int:
        """How many file descriptors it has; 0 if the kernel does not report that, or the worker is gone."""
        try:
            return os.stat(f"/proc/{self.host_pid}/fd").st_size  # noqa: PTH116 - several times faster
        except OSError:
            return 0

    def _write(self, frame: memoryview, fds: list[int] | None, deadline: Deadline | None) -> None:
        latest = time.monotonic() + self._limits.start_seconds
        try:
            if fds:
                frame = frame[socket.send_fds(self._socket, [frame[:1]], fds) :]
            while frame:
                # A worker that reads nothing, or slowly, must not block the host: limits are checked here as well.
                try:
                    frame = frame[self._socket.send(frame[:_SEND_BYTES]) :]
                    if frame and deadline is not None:
                        self._look(deadline)
                except BlockingIOError:
                    if deadline is not None:
                        self._tick(deadline)
                if frame and time.monotonic() > latest:
                    said = f"the worker did not read its request within {self._limits.start_seconds:g} s"
                    raise Overdue(CellTimeout(said, limit="limits.start_seconds", wall="wall-clock")) from None
        except OSError:
            raise Died from None

    def receive(self, deadline: Deadline, *, limit: int | None = None) -> dict[str, Any]:
        """One decoded frame. Raises Died, Overdue or ProtocolViolation."""
        limit = limit or self._limits.result_bytes
        return decode(self._frame(deadline, limit), limit=limit)

    def ready(self, deadline: Deadline) -> dict[str, tuple[str, str]]:
        """The walls of its first frame, which it sends before its first cell. Raises as `receive`."""
        return dict(_walls(bytes(self._frame(deadline, _READY_BYTES))))

    def _frame(self, deadline: Deadline, limit: int) -> bytearray:
        """One frame, still encoded. Raises as `receive`."""
        # A cell that sends frames all the time is checked as well, not only one that is silent.
        self._look(deadline)
        buffer = self._buffer
        if len(buffer) < _HEADER.size:
            self._fill(_HEADER.size, deadline)
        (length,) = _HEADER.unpack_from(buffer)
        if length > limit:
            raise ProtocolViolation(f"the sandbox broke the protocol: a frame of {length} bytes, limit {limit}")
        end = _HEADER.size + length
        if len(buffer) < end:
            self._fill(end, deadline)
        frame = buffer[_HEADER.size : end]
        del buffer[:end]
        return frame

    def event(self, deadline: Deadline) -> Call | Printed | CellResult:
        """The next call or result. Raises as `receive`.

        The worker is stopped until the host sends the next frame: a hostile one would otherwise run on, and its time
        would count as the host's, while the frame is decoded or the call is answered.
        """
        began = self._spin.wait(self._socket)
        data = self._frame(deadline, self._limits.result_bytes)
        self.stop()
        self._spin.learn(self._stopped_since - began)
        if self._buffer:
            self._check_silence()
        self.weigh()
        limits = self._limits
        frame = decode(data, limit=limits.result_bytes)
        said = event(
            frame,
            value_bytes=limits.value_bytes,
            stdout_bytes=limits.stdout_bytes,
            result_bytes=limits.result_bytes,
        )
        check_nonce(frame, self.nonce)
        if self._given:
            self._check_descriptors()
        return said

    def result(self, deadline: Deadline) -> CellResult:
        """The result of a request that makes no calls. Raises as `event`, and ProtocolViolation for a call."""
        said = self.event(deadline)
        if not isinstance(said, CellResult):
            raise ProtocolViolation("the sandbox broke the protocol: a call came where only a result may come")
        return said

    def _fill(self, size: int, deadline: Deadline) -> None:
        """Read until there are `size` bytes."""
        buffer = self._buffer
        waited = False
        while len(buffer) < size:
            self._wait_at_most(deadline.slice())
            ended = waited and pidfd.ended(self._pidfd)
            waited = False
            try:
                chunk = self._socket.recv(max(65536, size - len(buffer)), socket.MSG_DONTWAIT if ended else 0)
            except BlockingIOError:
                if ended:  # but a copy of it keeps its end of the channel open
                    raise Died from None
                self._tick(deadline)
                waited = True
                continue
            except OSError:
                raise Died from None
            if not chunk:
                raise Died
            buffer += chunk
            if len(buffer) < size:
                self._look(deadline)  # a worker may send a frame byte by byte

    def _look(self, deadline: Deadline) -> None:
        if self.interrupted.is_set() or deadline.due():
            self._tick(deadline)

    def _wait_at_most(self, seconds: float) -> None:
        seconds = min(seconds, SLICE_SECONDS)
        if seconds != self._timeout:
            self._timeout = seconds
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))

    def _tick(self, deadline: Deadline) -> None:
        """Check the limits: interrupt the worker when its time is over, raise Overdue when the grace is over too."""
        running = (self, self.parent) if self.parent is not None else (self,)
        if self.listener is not None and self.listener.asked_by(each.host_pid for each in running):
            said = "the session made a copy of a process that nobody asked for: the call never returns"
            raise Overdue(WallViolation(said, wall="seccomp"))
        self.weigh()
        if self.interrupted.is_set():
            deadline.interrupt()
        cause = deadline.over()
        if cause is None:
            return
        if deadline.overdue() > self._limits.grace_seconds:
            raise Overdue(cause)
        pidfd.send_signal(self._pidfd, signal.SIGUSR1)

    def take_listener(self, deadline: Deadline) -> Listener | None:
        """Receive what a worker with checkpoints sends first: the listener for its clone(2), or None if it has none.

        Raises Died, Overdue when nothing comes in time, ProtocolViolation for anything else, and
        EnvironmentUnavailable when the host has no file descriptor left.
        """
        fds: list[int] = []
        while True:
            self._wait_at_most(deadline.slice())
            try:
                data, fds, flags, _ = socket.recv_fds(self._socket, 1, 1)
                break
            except BlockingIOError:
                self._tick(deadline)
            except OSError:
                raise Died from None
        if not data:
            raise Died
        if flags & socket.MSG_CTRUNC and not fds:
            raise EnvironmentUnavailable("the host has no descriptor left for a session; let it open more")
        if len(fds) != data[0]:
            for fd in fds:
                os.close(fd)
            raise ProtocolViolation("a session did not say whether it has a listener")
        self.listener = Listener(fds[0]) if fds else None
        return self.listener

    # -- the process ------------------------------------------------------------------------------

    def cpu_seconds(self) -> float | None:
        """CPU seconds used so far, read from outside; None if it is gone, or hidden from the host."""
        if self._cpu_clock is None:
            if (pid := pidfd.pid_of(self._pidfd)) is None:
                return None
            self._cpu_clock = (~pid << 3) | 2  # clock_getcpuclockid(3): the scheduler's clock of the whole process
        try:
            seconds = time.clock_gettime(self._cpu_clock)
        except OSError:
            return None
        if pidfd.ended(self._pidfd):  # checked after reading: the pid of an ended process may be reused
            return None
        self.cpu_seen, self._cpu_looked = seconds, time.monotonic()
        return seconds

    def cpu_at_most(self) -> float:
        """CPU seconds so far; where they cannot be read, all the time since the last reading counts as used."""
        seconds = self.cpu_seconds()
        return self.cpu_seen + time.monotonic() - self._cpu_looked if seconds is None else seconds

    def cpu_at_rest(self) -> float:
        """As `cpu_at_most`; the last reading, if it was stopped by then and still is."""
        rests = self._stopped and self._cpu_looked > self._stopped_since
        return self.cpu_seen if rests else self.cpu_at_most()

    def cpu_seconds_at_rest(self) -> float | None:
        """As `cpu_seconds`; the last reading, if it was stopped by then and still is."""
        rests = self._stopped and self._cpu_looked > self._stopped_since
        return self.cpu_seen if rests else self.cpu_seconds()

    @property
    def pidfd(self) -> int:
        """Its pidfd; -1 once it is dropped."""
        return self._pidfd

    @property
    def host_pid(self) -> int | None:
        """Its pid as the host sees it; None when it is gone."""
        return pidfd.pid_of(self._pidfd)

    def held_bytes(self, enough: int = 0) -> int | None:
        """Bytes that it holds: what RLIMIT_DATA counts, or written pages if more, and excess page tables.

        None if it is gone, or hidden. Swap and page tables may be left out if the sum cannot exceed `enough`.
        """
        return held_bytes(self._read, enough)

    def faults(self) -> int | None:
        """Page faults that it had since it was forked: pages that it wrote to first, or that were copied for it.

        None if it is gone, or hidden. Source: proc_pid_stat(5), minflt.
        """
        try:
            fields = self._read("stat").rpartition(b")")[2].split()
            return int(fields[7])
        except (OSError, IndexError, ValueError):
            return None

    def _read(self, name: str) -> bytes:
        """A file of its directory in /proc. Raises OSError."""
        if name not in self._files:
            fd = os.open(f"/proc/{self.host_pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            if pidfd.ended(self._pidfd):  # the pid may be reused by now
                os.close(fd)
                raise ProcessLookupError
            # An open file stays bound to this process. Threads of several copies may weigh the same parent.
            if self._files.setdefault(name, fd) != fd:
                os.close(fd)
        return os.pread(self._files[name], _STATUS_BYTES if name == "status" else PAGE, 0)

    def weigh(self) -> None:
        """Raise Overdue if it holds more memory than an honest worker can.

        RLIMIT_DATA counts mappings by what they are now. This check also counts pages that were written, whatever
        their mapping is now, and the page tables of pages that lie far apart.
        """
        if self.parent is not None:
            self.parent.weigh()
        if not self.weighed:
            return
        held = self.held_bytes(self._limits.memory_bytes + UNCOUNTED_BYTES)
        if held is not None or not pidfd.ended(self._pidfd):
            judge(held, self._limits)

    def kill(self, *, wait: bool = True) -> None:
        """Send SIGKILL, and wait until it is gone (at most 5 s)."""
        self.cpu_seconds()
        pidfd.send_signal(self._pidfd, signal.SIGKILL)
        self._ended()  # it does not run any more
        if wait:
            pidfd.ended(self._pidfd, 5.0)

    def _ended(self) -> None:
        if not self.cpu_ceiling:
            self.cpu_ceiling = self.cpu_seen + time.monotonic() - self._cpu_looked

    def stop(self, stopped: bool = True) -> None:
        """Stop it, or let it continue: an idle worker or a spare uses no CPU."""
        self._stopped = stopped
        if stopped:
            self._stopped_since = time.monotonic()
        pidfd.send_signal(self._pidfd, signal.SIGSTOP if stopped else signal.SIGCONT)

    def verdict(self) -> CellError:
        """Why the worker died or closed its channel. Kills it and waits until it is gone (at most 5 s)."""
        lives = self._has_memory()
        self.kill()  # now, as it is no longer checked; one that is already ending keeps its exit status
        if lives:
            said = "the worker closed its channel and lived on: something took it over"
            return WallViolation(said, wall="separate-process")
        return exit_reason(self._status(), self._limit_behind)

    def _limit_behind(self, number: int) -> CellError | None:
        if number == signal.SIGKILL and self._process is not None and self._process.out_of_memory():
            said = f"the session used more than limits.memory_bytes = {self._limits.memory_bytes:,} and was killed"
            return CellMemoryLimit(said, limit="limits.memory_bytes", wall="cgroup")
        return None

    def _has_memory(self) -> bool:
        """Whether it lives on with a closed channel: an ending process frees its memory before it closes its files.
        Source: kernel/exit.c, do_exit(). If its memory cannot be read, it has half a second to end."""
        try:
            held = self.held_bytes()
        except Overdue:  # the host has no file descriptor left
            held = None
        return bool(held) if held is not None else not pidfd.ended(self._pidfd, 0.5)

    def _status(self) -> int | None:
        # A zombie has no exit code until its parent reaps it: init does so immediately, the zygote when asked.
        if self._process is not None and (status := self._process.zygote.status(self._process.pid)) is not None:
            return status
        for _ in range(50):
            try:
                status = pidfd.wait_status(self._pidfd)
            except OSError:
                return None
            if status is not None:
                return status
            time.sleep(0.002)
        return None

    def drop(self) -> None:
        """Close this end. The pidfd of a session's first process belongs to the session."""
        self._socket.close()
        while self._files:
            os.close(self._files.popitem()[1])
        if self._process is None and self._pidfd >= 0:
            os.close(self._pidfd)
        self._pidfd = -1
