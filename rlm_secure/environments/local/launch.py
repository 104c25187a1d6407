"""Starts the process of a zygote; the first one of a program ahead of the imports of everything that talks to it.

It is started by exec, never by fork alone, so that it inherits no memory, thread or lock of the host; its environment
is minimal (startup.environment), and it inherits two descriptors: its program and the control socket. It imports all
that a session may need and waits: what it is for is the first message on that socket. It ends when that socket closes
or the host dies.

Guards: how the zygote is started
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import threading
from typing import NamedTuple

from rlm_secure.environments.local import image, machine, startup
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.forks import at_fork


class Launched(NamedTuple):
    """A process that has not been told anything, our end of its control socket, and a pipe with what it writes."""

    control: socket.socket
    process: subprocess.Popen[bytes]
    errors: int

    def end(self) -> None:
        """Kill it, and release what came with it."""
        self.control.close()
        os.close(self.errors)
        self.process.kill()
        self.process.wait()


_ahead: Launched | None = None
_any = False
#: Held for a moment, by whoever reads or sets these two.
_lock = threading.RLock()
#: Held while a process is started ahead, and while the host forks: a copy of a socket that nobody knows of in the child
#: would keep the process after the host's death. It does not stop the same thread, as in a signal handler that forks.
_starting = threading.RLock()
#: Seconds to wait for that. Whoever has it may itself wait for what the waiting thread has, such as logging's lock.
_PATIENCE_SECONDS = 2.0
_forking = threading.local()


def ahead() -> None:
    """Start the process that the first `take` returns, unless this program has started one already.

    Whoever calls this calls `discard` if no session comes of it. What prevents a start is not raised here, but by
    `take`, which tries again.
    """
    global _ahead, _any
    if _any or not _starting.acquire(timeout=_PATIENCE_SECONDS):
        return  # without it the session waits for its process a little longer
    try:
        if not _any:
            _any = True
            with contextlib.suppress(EnvironmentUnavailable):
                _ahead = _start()
    finally:
        _starting.release()


def take() -> Launched:
    """A process for the caller alone. Raises EnvironmentUnavailable."""
    global _ahead, _any
    with _lock:
        _any = True
        launched, _ahead = _ahead, None
    return launched or _start()  # which learns at once whose death to watch for


def discard() -> None:
    """End the process that nobody has taken, if there is one. Idempotent."""
    global _ahead, _any
    with _lock:
        launched, _ahead = _ahead, None
        if launched is not None:
            _any = False
            launched.end()


def _start() -> Launched:
    machine.require()
    executable = startup.interpreter()
    with contextlib.ExitStack() as passed, contextlib.ExitStack() as kept:
        try:
            startup.standard_streams()
            control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            kept.enter_context(control)
            passed.enter_context(theirs)
            reader, errors = os.pipe()
            kept.callback(os.close, reader)
            passed.callback(os.close, errors)
            os.set_blocking(errors, False)  # read only if the start fails: a full pipe must not block the zygote
            program = image.opened()
            passed.callback(os.close, program)
            process = subprocess.Popen(
                [
                    *(executable, *startup.FLAGS),
                    *(f"/proc/self/fd/{program}", "zygote", str(theirs.fileno())),
                ],
                pass_fds=(program, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors if not os.environ.get("RLM_SECURE_DEBUG_ZYGOTE") else None,
                cwd="/",  # the host's directory may be gone
                env=startup.environment(),
                start_new_session=True,  # a Ctrl-C in the terminal is the host's to handle
            )
        except OSError as error:
            raise EnvironmentUnavailable(
                f"could not start {executable} for the sandbox: {error}{startup.advice(error, executable)}"
            ) from error
        kept.pop_all()
    return Launched(control, process, reader)


def _before_fork() -> None:
    _forking.alone = _starting.acquire(timeout=_PATIENCE_SECONDS)


def _after_fork() -> None:
    if _forking.alone:
        _starting.release()


def _forget() -> None:
    # In a forked child of the host: it is our parent's.
    global _ahead, _any, _lock, _starting
    _lock, _starting = threading.RLock(), threading.RLock()
    launched, _ahead, _any = _ahead, None, False
    if launched is not None:
        launched.control.close()
        os.close(launched.errors)
        launched.process.returncode = 0  # not our child: keeps Popen from waiting for it


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forget)
atexit.register(discard)
