"""The supervisor's link to the zygote that forks sealed workers: one request, one answer, and its last words.

Guards: what a supervisor takes from its zygote: one answer of limited size for each request
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
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
#: Errors that mean the connection has ended; others, such as a lack of memory, may pass.
CONNECTION_ENDS = (BrokenPipeError, ConnectionError)
#: The length before each frame.
HEADER = struct.Struct(">I")


class LinkError(Exception):
    """The zygote or a worker failed: it is gone, broke the protocol, or could not do what was requested."""


class ZygoteGone(LinkError):
    """The zygote is gone, and its workers with it."""


class UnfitPackages(LinkError):
    """The zygote could not import the third-party packages that it was told to."""


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
        """Wait until the zygote has raised its walls. Raises LinkError, UnfitPackages among them."""
        if not self.walls:
            try:
                booted, _ = self._receive(_BOOT_SECONDS)
            except LinkError as failed:
                said = self._last_line()
                raise LinkError(f"{failed}; its last line was: {said}" if said else str(failed)) from None
            if booted.get("op") == "unfit":
                raise UnfitPackages(_printable(str(booted.get("error"))))
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
        return _printable((lines or [""])[-1])

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
            connection.sendall(HEADER.pack(len(setup)) + setup)  # small enough for an empty socket to take at once
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
        said = ""
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
        except CONNECTION_ENDS as error:
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
            except CONNECTION_ENDS as error:
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


def _printable(text: str) -> str:
    """The end of one line, without what is not printable."""
    return "".join(each if each.isprintable() else "?" for each in text)[-300:]


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
