"""The program that holds foreign sessions: `python -m rlm_secure.testing.host MODULE:NAME DESCRIPTOR`.

It imports the module once. For each attempt it forks a host, which opens sessions and runs cells for the judge at the
other end of a socket (foreign.py). The judge and the next host are separate processes, which an attack on its host
does not change.

The judge's first message is the secret to keep in memory. Each later message carries a socket for a new host; the
answers are the host's pid and, after it has ended, its exit status.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rlm_secure.testing import nested
from rlm_secure.testing.adapter import Adapter, Limits, Said

LENGTH = struct.Struct(">I")
STATUS = struct.Struct(">qq")
_SECRET_BYTES = 200
#: Characters of a cell's output that are passed on; far above every output limit that attacks test.
_TEXT = 2 << 20
_CONTEXT = "the quick brown fox\n" * 10
_REASON = 2_000


def main() -> None:
    """Serve the judge until it closes its end."""
    nested.adopt_orphans()  # orphans of a host become descendants of this process, where the judge finds and kills them
    name, control = sys.argv[1], socket.socket(fileno=int(sys.argv[2]))
    secret = control.recv(_SECRET_BYTES)
    sys.path.append(str(Path.cwd()))  # last: a file beside the adapter must not shadow an installed module
    factory, trouble = _load(name)
    # Where CPython keeps the bytes of a bytes object: after its header, whose last byte is the NUL's.
    control.sendall(json.dumps({"trouble": trouble, "address": id(secret) + bytes.__basicsize__ - 1}).encode())
    own = _children()
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not descriptors:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            # Far from 3: that is the channel of our own worker, which some attacks target.
            judge = socket.socket(fileno=fcntl.fcntl(descriptors[0], fcntl.F_DUPFD_CLOEXEC, 200))
            os.close(descriptors[0])
            _serve(judge, factory)
        os.close(descriptors[0])
        control.sendall(STATUS.pack(pid, 0))
        _, status = os.waitpid(pid, 0)
        _reap(own)
        control.sendall(STATUS.pack(pid, os.waitstatus_to_exitcode(status)))


def _children() -> set[int]:
    """The processes that the adapter's module started on import; empty if the kernel does not list children."""
    try:
        return set(map(int, Path("/proc/thread-self/children").read_text(encoding="ascii").split()))
    except OSError:
        return set()


def _reap(own: set[int]) -> None:
    """Reap the orphans that have ended, but not the module's own children: the module waits for them itself."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid not in own:
            os.waitpid(found.si_pid, 0)


def _load(name: str) -> tuple[Callable[[], Adapter], str]:
    """The adapter factory that `name` refers to, and why it cannot be imported ("" if it can)."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, even SystemExit
        return Adapter, f"{type(error).__name__}: {error}"[:_REASON]
    return found, ""


def _serve(judge: socket.socket, factory: Callable[[], Adapter]) -> NoReturn:
    """Run as one host: open sessions and run cells, one request at a time, until the judge closes its end."""
    os.setpgid(0, 0)
    with contextlib.suppress(OSError):  # if refused, the attack has no right to mount either
        nested.own_mounts()  # what this attempt mounts disappears with this process
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sessions: dict[int, Adapter] = {}
    try:
        while (request := _read(judge)) is not None:
            try:
                answer = _answer(request, sessions, factory)
            except Exception as error:  # noqa: BLE001 - the adapter failed, which the judge reports as such
                reason = f"{type(error).__name__}: {error}"[:_REASON]
                answer = {"raised": reason, "trace": traceback.format_exc()[-_TEXT:]}
            data = json.dumps(answer).encode("ascii")
            judge.sendall(LENGTH.pack(len(data)) + data)
        for session in sessions.values():
            session.close()
    finally:
        os._exit(0)


def _answer(request: dict[str, Any], sessions: dict[int, Adapter], factory: Callable[[], Adapter]) -> dict[str, Any]:
    number = request["session"]
    match request["op"]:
        case "open":
            session = sessions[number] = factory()
            if not isinstance(session, Adapter):
                raise TypeError(f"{type(session).__name__} is no rlm_secure.testing.Adapter")
            session.limit(Limits(*request["limits"]))
            session.load_context(_CONTEXT)
            return {"keeps_state": bool(session.keeps_state)}
        case "run":
            said = Said(*sessions[number].run(request["code"], request["timeout"]))
            error = None if said.error is None else str(said.error)[:_TEXT]
            return {"stdout": str(said.stdout)[:_TEXT], "stderr": str(said.stderr)[:_TEXT], "error": error}
        case _:
            sessions.pop(number).close()
            return {}


def _read(judge: socket.socket) -> dict[str, Any] | None:
    header = _exactly(judge, LENGTH.size)
    if not header:
        return None
    request: dict[str, Any] = json.loads(_exactly(judge, LENGTH.unpack(header)[0]))
    return request


def _exactly(judge: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = judge.recv(min(count - len(data), 1 << 16))
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


if __name__ == "__main__":
    main()
