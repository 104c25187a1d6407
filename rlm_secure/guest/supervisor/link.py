"""The supervisor's two links: to the zygote that forks sealed workers, and to one worker.

A worker's frames are passed on as bytes: counted, limited in size, never parsed. A frame is read only after the host
has sent one. Until then the worker is stopped by SIGSTOP, and one that writes without being asked is ended.

Guards: a worker's frames in a supervisor: counted, limited in size, never parsed
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .. import wire
from ..kernel.leash import Leash
from ..zygote import apart

_MESSAGE = 256 * 1024
_BOOT_SECONDS = 60.0
_ANSWER_SECONDS = 15.0
_LAST_WORDS_SECONDS = 0.2
#: How often a signal that could not be sent is tried, and the pause between two tries.
_SIGNAL_TRIES = 40
_SHORT_SECONDS = 0.05
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: Errors that mean the connection has ended; others, such as a lack of memory, may pass.
_ENDS = (BrokenPipeError, ConnectionError)
#: Bytes that are read from a worker at once, and reads before other work has its turn: far more than a socket buffers.
_PIECE = 256 * 1024
_READS = 32
_PAGE = os.sysconf("SC_PAGESIZE")
#: Largest /proc/PID/status: its line of groups, which comes before those of memory, has up to 65,536 numbers. A smaller
#: read is tried first: the kernel takes longer to allocate the large buffer than to write the usual contents.
_STATUS_BYTES = 1 << 20
_USUAL_BYTES = 4096
_HEADER = struct.Struct(">I")
_LEASHED = (signal.SIGSTOP, signal.SIGCONT)
#: How often /proc is read to see whether a signal has arrived: a process may stop while its status is being written.
_LOOKS = 3


class LinkError(Exception):
    """The zygote or a worker failed: it is gone, broke the protocol, or could not do what was requested."""


class ZygoteGone(LinkError):
    """The zygote is gone, and its workers with it."""


class ZygoteTimeout(LinkError):
    """The zygote did not answer in time."""


class ZygoteLink:
    """The zygote process. It runs after an exec, so it shares neither memory nor address layout with the supervisor,
    which holds the key.

    It is started here; or, under another uid, it connects to the socket at `zygote_path` by itself (apart.py).
    """

    def __init__(self, bundle: str, zygote_path: str | None = None) -> None:
        self._uid: int | None = None  # of the zygote and its workers, if the configuration says it
        self._answers_due = 0  # answers that are still to come, also those that nobody waits for any more
        self.walls: dict[str, list[str]] = {}
        self.details: dict[str, Any] = {}
        self._errors, self._their_errors = os.pipe()  # above descriptor 2: a supervisor has its standard streams open
        for fd in (self._errors, self._their_errors):
            os.set_blocking(fd, False)  # neither side may block on error output
        self._listener = None if zygote_path is None else apart.ZygoteListener(zygote_path)
        if self._listener is None:
            self._spawn(bundle)

    def _spawn(self, bundle: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.set_inheritable(theirs.fileno(), True)
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, self._their_errors, 2),
        ]
        arguments = apart.command(bundle, theirs.fileno())
        with theirs, _likelier_victim():
            self.pid = os.posix_spawn(sys.executable, arguments, apart.environment(), file_actions=streams)

    def configure(self, config: dict[str, Any]) -> None:
        """Send the configuration; the zygote then boots in parallel. Ends the supervisor if no zygote connects."""
        if self._listener is not None:
            try:
                self._control, self.pid = self._listener.accept(config["uid"], self._their_errors)
            except OSError as error:
                sys.exit(f"supervise: no zygote came: {error}")
        os.close(self._their_errors)
        self._uid = config.get("uid")
        self._send({**config, "host_pid": os.getpid(), "apart": self._listener is not None})

    def boot(self) -> None:
        """Wait until the zygote has raised its walls. Raises LinkError."""
        if not self.walls:
            try:
                booted, _ = self._receive(_BOOT_SECONDS)
            except LinkError as failed:
                said = self._last_line()
                raise LinkError(f"{failed}; its last line was: {said}" if said else str(failed)) from None
            if not isinstance(booted.get("walls"), dict) or not isinstance(booted.get("details"), dict):
                raise LinkError("the zygote does not say which walls stand")
            self.walls, self.details = booted["walls"], booted["details"]

    def _last_line(self) -> str:
        """The last line that the zygote wrote to standard error, as printable text."""
        time.sleep(_LAST_WORDS_SECONDS)  # it may have closed its socket before it wrote the line
        try:
            lines = os.read(self._errors, 65536).decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return "".join(each if each.isprintable() else "?" for each in (lines or [""])[-1])[-300:]

    def fork(self, limits: dict[str, Any], profile: str) -> tuple[socket.socket, int | None, int, Leash | None]:
        """Fork a sealed worker: `(connection, pidfd, pid, leash)`. Raises LinkError.

        The pidfd is None where the kernel has no pidfds. The leash is None where the kernel has none, or where the
        worker has our uid, so that we can signal it directly.
        """
        answer, fds = self._ask({"op": "fork", "leash": self._uid != os.getuid()})
        connection: socket.socket | None = None
        try:
            pid = answer.get("pid")
            if type(pid) is not int or not fds:
                raise LinkError(str(answer.get("error", "the zygote gave no process"))[:300])
            connection = socket.socket(fileno=fds.pop(0))
            setup = json.dumps({"op": "setup", "limits": limits, "profile": profile}).encode("ascii")
            connection.sendall(_HEADER.pack(len(setup)) + setup)  # small enough for an empty socket to take at once
            leash = Leash(*fds[-2:]) if len(fds) > 1 else None
        except BaseException as error:
            for thing in (connection, *fds):  # the worker ends when its socket is closed
                _close(thing)
            if isinstance(error, OSError):
                raise LinkError(f"the worker died before it began: {error}") from None
            raise
        return connection, fds[0] if len(fds) % 2 else None, pid, leash

    def signal(self, pid: int, number: int) -> None:
        """Have the zygote signal a worker by its pid: for kernels without pidfds, and for workers of another uid.

        Only the zygote can end such a worker. So if it does not answer, the supervisor exits, which ends the sandbox.
        If the zygote is gone, its workers are gone as well.
        """
        for _ in range(_SIGNAL_TRIES):
            try:
                self._ask({"op": "signal", "pid": pid, "number": number})
                return
            except ZygoteTimeout as silent:
                said = str(silent)
                break
            except ZygoteGone:
                return
            except LinkError as failed:
                said = str(failed)
                time.sleep(_SHORT_SECONDS)  # for example, there is no memory for a message
        sys.exit(f"supervise: {said}, and nobody else can stop its worker")

    def status(self, pid: int) -> int | None:
        """The wait status of a worker that ended, or None."""
        try:
            answer, _ = self._ask({"op": "status", "pid": pid})
        except LinkError:
            return None
        status = answer.get("status")
        return status if isinstance(status, int) else None

    def _ask(self, message: dict[str, Any], fds: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        self._send(message, fds)
        return self._receive(_ANSWER_SECONDS)

    def _send(self, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], fds)
        except _ENDS as error:
            raise ZygoteGone(f"the zygote is gone: {error}") from None
        except OSError as error:
            raise LinkError(f"the zygote could not be asked: {error}") from None
        self._answers_due += 1  # only for a message that was sent

    def _receive(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        until = time.monotonic() + seconds
        while True:
            try:
                if not poll.poll(max(until - time.monotonic(), 0.0) * 1000):
                    raise ZygoteTimeout(f"the zygote did not answer within {seconds:g} s")
                data, received, flags, _ = socket.recv_fds(self._control, _MESSAGE, 4)
            except _ENDS as error:
                raise ZygoteGone(f"the zygote is gone: {error}") from None
            except OSError as error:
                raise LinkError(f"the zygote cannot be heard: {error}") from None
            if not data:
                raise ZygoteGone("the zygote is gone")
            self._answers_due -= 1
            if not self._answers_due:
                break
            for fd in received:  # of a late answer: a worker that nobody waits for ends when its socket is closed
                os.close(fd)
        try:
            if flags & socket.MSG_CTRUNC:
                raise LinkError("no room for what the zygote sent: as many files are open here as may be")
            return _object(data), received
        except BaseException:  # Ctrl-C as well: no descriptor stays open
            for fd in received:
                os.close(fd)
            raise


def _object(data: bytes) -> dict[str, Any]:
    """The JSON object that the zygote sent. Raises LinkError."""
    try:
        said = wire.loads(data)
    except (wire.MalformedJson, RecursionError) as refused:
        raise LinkError(f"the zygote says what cannot be read: {refused}") from None
    if not isinstance(said, dict):
        raise LinkError("the zygote says what cannot be read: no object")
    return said


def _close(thing: socket.socket | int | None) -> None:
    if isinstance(thing, int):
        os.close(thing)
    elif thing is not None:
        thing.close()


@contextlib.contextmanager
def _likelier_victim() -> Iterator[None]:
    """Start processes in the block that the kernel kills before us, with their children, when memory runs out."""
    path = "/proc/self/oom_score_adj"
    try:
        with open(path, "r+") as file:
            before = file.read().strip()
            file.seek(0)
            file.write(str(min(int(before) + 500, 1000)))
    except OSError:
        before = None
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError), open(path, "w") as file:
                file.write(before)


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
        self._outbound += _HEADER.pack(len(body))
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
        except _ENDS:
            self._outbound.clear()

    def frame(self) -> str | None:
        """The body of the next complete frame, or None if it is incomplete or needs more than one turn to read.

        Raises LinkError for a frame that is over the limit or not printable ASCII.
        """
        for _ in range(_READS):
            if len(self._inbound) >= 4:
                (length,) = _HEADER.unpack_from(self._inbound)
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
            except _ENDS:
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
