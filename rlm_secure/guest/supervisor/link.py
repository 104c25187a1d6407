"""The supervisor's two links: to the zygote that forks sealed workers, and to one worker.

A worker's frames pass as bytes: counted, capped, never parsed. One is read only when the host has spoken. A worker
is stopped until then, and one that says more than it was asked is ended.

Guards: a worker's frames in a supervisor: counted, capped, never parsed
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
#: How often a signal is tried that could not be sent, and how long is waited in between.
_SIGNAL_TRIES = 40
_SHORT_SECONDS = 0.05
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: What ends a connection; anything else passes, as when there is no memory.
_ENDS = (BrokenPipeError, ConnectionError)
#: How much is read of a worker at once, and how often before others have their turn: far more than a socket holds.
_PIECE = 256 * 1024
_READS = 32
_PAGE = os.sysconf("SC_PAGESIZE")
#: All of /proc/PID/status: its line of groups, before those of memory, has up to 65,536 numbers. So much memory takes
#: the kernel longer to give than to say all that stands there as a rule.
_STATUS_BYTES = 1 << 20
_USUAL_BYTES = 4096
_HEADER = struct.Struct(">I")
_LEASHED = (signal.SIGSTOP, signal.SIGCONT)
#: How often it is looked whether a signal has arrived: a process may stop between two lines of what is read of it.
_LOOKS = 3


class LinkError(Exception):
    """The zygote is gone, or could not do what it was asked."""


class ZygoteGone(LinkError):
    """The zygote is gone, and its workers with it."""


class ZygoteTimeout(LinkError):
    """The zygote did not answer in time."""


class ZygoteLink:
    """The zygote process, started by exec: it shares neither memory nor layout with the holder of the key.

    It is started here, or comes by itself, under another uid, through a door at the path `zygote_path` (apart.py).
    """

    def __init__(self, bundle: str, zygote_path: str | None = None) -> None:
        self._uid: int | None = None  # of the zygote and its workers, as far as it was told
        self._answers_due = 0  # answers that are still to come: those that nobody waits for any more as well
        self.walls: dict[str, list[str]] = {}
        self.details: dict[str, Any] = {}
        self._errors, self._their_errors = os.pipe()  # ours is above the standard streams, which a supervisor has
        for fd in (self._errors, self._their_errors):
            os.set_blocking(fd, False)  # nobody waits for what it says, or to say it
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
        """Let it boot, while we do other things. Where none comes through the door, the supervisor ends."""
        if self._listener is not None:
            try:
                self._control, self.pid = self._listener.accept(config["uid"], self._their_errors)
            except OSError as error:
                sys.exit(f"supervise: no zygote came: {error}")
        os.close(self._their_errors)
        self._uid = config.get("uid")
        self._send({**config, "host_pid": os.getpid(), "apart": self._listener is not None})

    def boot(self) -> None:
        """Wait until its walls stand."""
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
        """The last line that it wrote to its standard error, as printable text."""
        time.sleep(_LAST_WORDS_SECONDS)  # it may have closed its socket before it wrote them
        try:
            lines = os.read(self._errors, 65536).decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return "".join(each if each.isprintable() else "?" for each in (lines or [""])[-1])[-300:]

    def fork(self, limits: dict[str, Any], profile: str) -> tuple[socket.socket, int | None, int, Leash | None]:
        """A new sealed worker, as `(connection, pidfd, pid, leash)`; the pidfd is None where the kernel has none, the
        leash where it has none or the worker is of our own user, whom we signal without."""
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
            for thing in (connection, *fds):  # a worker that nobody can speak to ends without them
                _close(thing)
            if isinstance(error, OSError):
                raise LinkError(f"the worker died before it began: {error}") from None
            raise
        return connection, fds[0] if len(fds) % 2 else None, pid, leash

    def signal(self, pid: int, number: int) -> None:
        """Signal a worker by its number: where the kernel has no pidfd, or the worker is another user's.

        Nobody else may end such a worker: a zygote that does not answer is the end of the supervisor, and so of the
        sandbox. One that is gone has taken its workers along.
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
                time.sleep(_SHORT_SECONDS)  # there is no memory for a message, say
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
        self._answers_due += 1  # of what it was asked; what could not be sent is not answered

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
            for fd in received:  # a worker that nobody waits for any more ends without them
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
    """What the zygote says. Raises LinkError."""
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
    """Who is started here, and its children, die before us when the container runs out of memory."""
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
    """One worker: frames in both directions without ever waiting, its signals, its CPU clock, its end."""

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
        self._leash_arrived: set[int] = set()  # the signals of the leash that were seen to arrive
        self.closed = False  # it will say nothing more
        self._frame_bytes = frame_bytes
        self._inbound = bytearray()
        self._outbound = bytearray()
        self._fds: list[int] = []
        self._born = time.monotonic()
        self._last_cpu_seconds = 0.0
        self._clock: int | None = None
        self._files: dict[str, int] = {}  # what is read of it in /proc: of this process, whoever has its number later
        self.visible = False
        """Whether what it holds can be seen. Where not, what bounds it is the sandbox around it."""
        try:
            self._open_proc()
        except BaseException:  # Ctrl-C as well: no descriptor stays open
            self.close()
            raise

    def _open_proc(self) -> None:
        """Find it in /proc. Raises LinkError where there is no room to look: not to see it must have another reason."""
        self.socket.setblocking(False)
        here = self._pid_here()
        self._clock = (~here << 3) | 2 if here > 0 else None  # clock_getcpuclockid(3): of the whole process
        with _shortage_raised():
            for name in ("statm", "status"):
                self._files[name] = os.open(f"/proc/{here}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        self.visible = len(self._files) == 2 and bool(self.held_bytes())

    def send(self, body: bytes | bytearray, fd: int | None = None) -> None:
        """Queue one frame, with a file descriptor that is closed once it is sent. Raises as `flush`."""
        if fd is not None:
            self._fds.append(fd)
        self._outbound += _HEADER.pack(len(body))
        self._outbound += body
        self.flush()

    @property
    def sending(self) -> bool:
        """Whether a part of a frame still waits for the worker to read."""
        return bool(self._outbound)

    def flush(self) -> None:
        """Write as much as the worker's socket takes. A dead worker shows in `ended`, not here.

        Raises OSError where the kernel has no room for it.
        """
        try:
            while self._outbound:
                if self._fds:
                    # The descriptor goes with the first byte of its frame; the rest follows as plain data.
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
        """The next whole frame's body, or None: where it has not come, and where more of it has come than is read at
        once. Raises LinkError for a frame over the limit, or not of plain ASCII."""
        for _ in range(_READS):
            if len(self._inbound) >= 4:
                (length,) = _HEADER.unpack_from(self._inbound)
                if length > self._frame_bytes:
                    raise LinkError(f"the worker announced a frame of {length} bytes, limit {self._frame_bytes}")
                if len(self._inbound) >= 4 + length:
                    body = bytes(self._inbound[4 : 4 + length])
                    del self._inbound[: 4 + length]
                    text = body.decode("latin-1")
                    # Our encoder writes printable ASCII only. What else comes would grow when it is quoted.
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
        """What it has written or may write, its swap, and the page tables that pages side by side do not need.

        0 of one that has ended, None where /proc does not say.
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
        """Whether it has said something that nobody read; its end is nothing that it says."""
        if self._inbound:
            return True
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except OSError:  # nothing is there
            return False

    def has_unread_requests(self) -> bool:
        """Whether it has not read all that it was told, as far as the kernel counts that."""
        try:
            return fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)) != bytes(4)
        except OSError:
            return False

    def signal(self, number: int) -> None:
        """Signal the process; nothing happens when it is gone."""
        if number in _LEASHED and self._signal_by_leash(number):
            return
        if self.pidfd is not None:
            try:
                signal.pidfd_send_signal(self.pidfd, number)
                return
            except PermissionError:  # it is another user's: who forked it is the same
                pass
            except OSError:
                return
        self._zygote.signal(self.pid, number)

    def _signal_by_leash(self, number: int) -> bool:
        """Whether the leash has sent this signal. The kernel does not say: the first of each is looked for in /proc,
        and what has let one arrive lets all. Without that there is no leash any more."""
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
        """Whether it is stopped, or is before its next instruction; None where /proc does not say."""
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
        """All of what its file in /proc says. Raises KeyError where there is none, and OSError."""
        said = os.pread(self._files[name], _USUAL_BYTES, 0)
        return said if len(said) < _USUAL_BYTES else os.pread(self._files[name], _STATUS_BYTES, 0)

    def users(self) -> list[int]:
        """Its four user ids, as the kernel says: real, effective, saved, of files. Empty where it does not say."""
        with contextlib.suppress(KeyError, OSError, ValueError):
            return [int(each) for each in _words(self._read("status"), b"Uid")]
        return []

    @property
    def measured(self) -> bool:
        """Whether the kernel has said what it uses: who runs has used some."""
        return self._last_cpu_seconds > 0

    def cpu_seconds(self) -> float:
        """CPU seconds used so far, read from outside; what was read last of one that is gone.

        Where the kernel has no such clock, they are taken for all the time that it lived.
        """
        if self._clock is None:
            return time.monotonic() - self._born
        with contextlib.suppress(OSError):
            self._last_cpu_seconds = time.clock_gettime(self._clock)
        return self._last_cpu_seconds

    def close(self) -> None:
        """Kill it and let go of everything."""
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
        """The number that it has here: in a PID namespace of its own the zygote knows it by another. 0 if unknown."""
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
    """What stands behind `name` in a status of /proc; nothing where there is no such line."""
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
