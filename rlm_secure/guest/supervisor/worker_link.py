"""The supervisor's link to one worker: frames as bytes, signals, and what the kernel says of the process.

A worker's frames are counted, limited in size, and never parsed. One is read only when the host has spoken. A worker
is stopped until then, and one that says more than it was asked for is ended.

Guards: a worker's frames in a supervisor: counted, limited in size, never parsed
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import termios
import time
from collections.abc import Iterator

from ..kernel.leash import Leash
from .zygote_link import CONNECTION_ENDS, HEADER, LinkError, ZygoteLink

_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: Bytes that are read from a worker at once, and reads before other work has its turn: far more than a socket buffers.
_PIECE = 256 * 1024
_READS = 32
_PAGE = os.sysconf("SC_PAGESIZE")
#: Largest /proc/PID/status: its line of groups, which comes before those of memory, has up to 65,536 numbers. A smaller
#: read is tried first: the kernel takes longer to allocate the large buffer than to write the usual contents.
_STATUS_BYTES = 1 << 20
_USUAL_BYTES = 4096
_LEASHED = (signal.SIGSTOP, signal.SIGCONT)
#: How often /proc is read to see whether a signal has arrived: a process may stop while its status is being written.
_LOOKS = 3


class WorkerLink:
    """One worker: non-blocking frames in both directions, signals, CPU clock, memory, end."""

    def __init__(
        self,
        connection: socket.socket,
        pidfd: int | None,
        pid: int,
        frame_bytes: int,
        zygote: ZygoteLink,
        leash: Leash | None = None,
    ) -> None:
        self.socket = connection
        self.pidfd = pidfd
        self.pid = pid
        self._zygote = zygote
        self._leash = leash
        self._leash_arrived: set[int] = set()  # the signals that the leash was seen to deliver
        self.closed = False  # whether the worker closed its end
        self._frame_bytes = frame_bytes
        self._inbound = bytearray()
        self._outbound = bytearray()
        self._fds: list[int] = []
        self._born = time.monotonic()
        self._last_cpu_seconds = 0.0
        self._clock: int | None = None
        self._files: dict[str, int] = {}  # its open files in /proc: they stay this process's, even if its pid is reused
        self.visible = False
        """Whether its memory can be measured. Otherwise only the sandbox around it limits its memory."""
        try:
            self._open_proc()
        except BaseException:  # Ctrl-C as well: no descriptor stays open
            self.close()
            raise

    def _open_proc(self) -> None:
        """Open the worker's files in /proc, where they can be seen. Raises LinkError if descriptors or memory run out.

        A shortage raises because a worker must not become unmeasured for that reason.
        """
        self.socket.setblocking(False)
        here = self._pid_here()
        self._clock = (~here << 3) | 2 if here > 0 else None  # clock_getcpuclockid(3): of the whole process
        with _shortage_raised():
            for name in ("statm", "status"):
                self._files[name] = os.open(f"/proc/{here}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        self.visible = len(self._files) == 2 and bool(self.held_bytes())

    def send(self, body: bytes | bytearray, fd: int | None = None) -> None:
        """Queue one frame, with a file descriptor that is closed once it is sent. Raises what `flush` raises."""
        if fd is not None:
            self._fds.append(fd)
        self._outbound += HEADER.pack(len(body))
        self._outbound += body
        self.flush()

    @property
    def sending(self) -> bool:
        """Whether part of a frame is not written yet, because the worker's socket is full."""
        return bool(self._outbound)

    def flush(self) -> None:
        """Write as much as the worker's socket takes. A dead worker is noticed by its pidfd or socket, not here.

        Raises OSError where the kernel has no memory for it.
        """
        try:
            while self._outbound:
                if self._fds:
                    # The descriptor is sent with the first byte of its frame; the rest follows as plain data.
                    sent = socket.send_fds(self.socket, [self._outbound[:1]], self._fds)
                    self._close_fds()
                else:
                    with memoryview(self._outbound) as view:
                        sent = self.socket.send(view[: 1 << 20])
                del self._outbound[:sent]
        except BlockingIOError:
            pass
        except CONNECTION_ENDS:
            self._outbound.clear()

    def frame(self) -> str | None:
        """The body of the next complete frame, or None if it is incomplete or needs more than one turn to read.

        Raises LinkError for a frame that is over the limit or not printable ASCII.
        """
        for _ in range(_READS):
            if len(self._inbound) >= 4:
                (length,) = HEADER.unpack_from(self._inbound)
                if length > self._frame_bytes:
                    raise LinkError(f"the worker announced a frame of {length} bytes, limit {self._frame_bytes}")
                if len(self._inbound) >= 4 + length:
                    body = bytes(self._inbound[4 : 4 + length])
                    del self._inbound[: 4 + length]
                    text = body.decode("latin-1")
                    # Our encoder only writes printable ASCII. Anything else would grow when it is quoted as JSON.
                    if not (text.isascii() and text.isprintable()):
                        raise LinkError("the worker sent bytes that are not printable ASCII")
                    return text
            try:
                chunk = self.socket.recv(_PIECE)
            except BlockingIOError:
                return None
            except CONNECTION_ENDS:
                chunk = b""
            if not chunk:
                self.closed = True
                return None
            self._inbound += chunk
        return None

    def held_bytes(self) -> int | None:
        """The memory of the worker: pages it wrote or may write, swap, and more page tables than dense mappings need.

        0 if it has ended; None if /proc does not say.
        """
        try:
            statm, status = self._read("statm"), self._read("status")
            mapped, resident, shared, _, _, data, _ = (int(pages) * _PAGE for pages in statm.split())
            swapped, tables = (int([*_words(status, name), b"0"][0]) << 10 for name in (b"VmSwap", b"VmPTE"))
        except ProcessLookupError:
            return 0
        except (KeyError, OSError, ValueError):
            return None
        return max(data, resident - shared + swapped) + max(tables - mapped // 512, 0)

    def has_unread_output(self) -> bool:
        """Whether the worker wrote data that was not read. The end of its stream does not count."""
        if self._inbound:
            return True
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except OSError:  # there is no data
            return False

    def has_unread_requests(self) -> bool:
        """Whether the worker has not read everything that was sent, as far as the kernel reports it (TIOCOUTQ)."""
        try:
            return fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)) != bytes(4)
        except OSError:
            return False

    def signal(self, number: int) -> None:
        """Signal the process; do nothing if it is gone."""
        if number in _LEASHED and self._signal_by_leash(number):
            return
        if self.pidfd is not None:
            try:
                signal.pidfd_send_signal(self.pidfd, number)
                return
            except PermissionError:  # it has another uid, which the zygote shares
                pass
            except OSError:
                return
        self._zygote.signal(self.pid, number)

    def _signal_by_leash(self, number: int) -> bool:
        """Send the signal by the leash; return whether that works.

        The kernel does not confirm it, so the first signal of each kind is verified in /proc; later ones are then
        assumed to arrive. If the verification fails, the leash is closed and never used again.
        """
        if self._leash is None:
            return False
        with contextlib.suppress(OSError):
            self._leash.send(number)
            if number in self._leash_arrived:
                return True
            if self._is_stopped() is (number == signal.SIGSTOP):
                self._leash_arrived.add(number)
                return True
        self._unleash()
        return False

    def _unleash(self) -> None:
        if self._leash is not None:
            self._leash.close()
            self._leash = None

    def _is_stopped(self) -> bool | None:
        """Whether the worker is stopped, or has a pending SIGSTOP; None if /proc does not say."""
        for _ in range(_LOOKS):
            try:
                status = self._read("status")
                stopped = _words(status, b"State")[0] == b"T"
                waits = int(_words(status, b"ShdPnd")[0], 16) >> (signal.SIGSTOP - 1) & 1
            except (LookupError, OSError, ValueError):
                return None
            if stopped or waits:
                return True
        return False

    def _read(self, name: str) -> bytes:
        """The whole contents of the worker's file `name` in /proc. Raises KeyError if it is not open, and OSError."""
        said = os.pread(self._files[name], _USUAL_BYTES, 0)
        return said if len(said) < _USUAL_BYTES else os.pread(self._files[name], _STATUS_BYTES, 0)

    def users(self) -> list[int]:
        """Its user ids, as the kernel reports them: real, effective, saved, file system. Empty where it does not."""
        with contextlib.suppress(KeyError, OSError, ValueError):
            return [int(each) for each in _words(self._read("status"), b"Uid")]
        return []

    @property
    def measured(self) -> bool:
        """Whether the kernel reports its CPU seconds: a process that has run has used some."""
        return self._last_cpu_seconds > 0

    def cpu_seconds(self) -> float:
        """CPU seconds used so far, measured from outside; for a worker that is gone, the last measurement.

        Where the kernel has no such clock, all the time since the worker's start is counted as CPU time.
        """
        if self._clock is None:
            return time.monotonic() - self._born
        with contextlib.suppress(OSError):
            self._last_cpu_seconds = time.clock_gettime(self._clock)
        return self._last_cpu_seconds

    def close(self) -> None:
        """Kill the worker and close all descriptors."""
        try:
            self.signal(signal.SIGKILL)
        finally:
            self._unleash()
            self.socket.close()
            self._close_fds()
            while self._files:
                os.close(self._files.popitem()[1])
            if self.pidfd is not None:
                os.close(self.pidfd)

    def _close_fds(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def _pid_here(self) -> int:
        """The worker's pid in our PID namespace; a zygote in its own knows it by another one. 0 if unknown."""
        if self.pidfd is None:
            return self.pid
        with (
            _shortage_raised(),
            contextlib.suppress(StopIteration, ValueError),
            open(f"/proc/self/fdinfo/{self.pidfd}") as lines,
        ):
            return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))
        return 0


def _words(status: bytes, name: bytes) -> list[bytes]:
    """The words after `name` in a /proc/PID/status; empty if there is no such line."""
    _, _, rest = status.partition(b"\n" + name + b":")
    return rest.partition(b"\n")[0].split()


@contextlib.contextmanager
def _shortage_raised() -> Iterator[None]:
    """Ignore an OSError of the block. Raises LinkError for one that says that descriptors or memory ran out."""
    try:
        yield
    except OSError as error:
        if error.errno in _SHORT:
            raise LinkError(f"a worker cannot be looked at: {error}") from None
