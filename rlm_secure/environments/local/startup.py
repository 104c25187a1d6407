"""What starting a zygote needs of this machine, and the error messages when it does not start.

A host process may lack a standard stream, a directory or a path to its interpreter; its zygote needs none of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys

from rlm_secure.errors import EnvironmentUnavailable

#: Of the interpreter: no environment variable, no site, no bytecode written, and texts are UTF-8.
FLAGS = ("-I", "-S", "-B", "-X", "utf8")
_STANDARD_STREAMS = 3
_END_SECONDS = 1.0
_KEPT_BYTES = 64 * 1024  # the capacity of a pipe
_SHOWN_CHARACTERS = 300


def standard_streams() -> None:
    """Open /dev/null for every standard stream of this process that is closed.

    Otherwise a descriptor opened later would get that number: print() would write into a session's socket, and a child
    process with standard streams of its own would lose the descriptor.
    """
    with contextlib.suppress(OSError):
        while (fd := os.open(os.devnull, os.O_RDWR)) < _STANDARD_STREAMS:
            os.set_inheritable(fd, True)  # as standard streams are
        os.close(fd)


def interpreter() -> str:
    """The absolute path of the Python that runs this process. Raises EnvironmentUnavailable."""
    named = sys.executable or ""
    if not os.path.isabs(named):  # noqa: PTH117 - pathlib would be imported before the process is started
        # An embedded interpreter does not know its path, nor does one started from a directory that was removed.
        with contextlib.suppress(OSError):
            running = os.readlink("/proc/self/exe")  # noqa: PTH115 - as above
            if running.rpartition("/")[2].startswith("python"):
                return running
        raise EnvironmentUnavailable(
            f"sys.executable is {named!r}, and a sandbox is started by the path of a Python; set sys.executable to one"
        )
    return named


def environment() -> dict[str, str]:
    """The whole environment of a zygote."""
    # From the host's environment only the path of a shared libpython. With no path for time zones, zoneinfo does not
    # read half a megabyte of build settings: the host sends its own later. Huge pages for large mallocs, where a
    # session may have them, make large strings, and checkpoints of them, several times cheaper.
    made = {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "LC_ALL": "C.UTF-8",
        "LD_BIND_NOW": "1",  # symbols are resolved once, not in every session
        "PYTHONTZPATH": "",
    }
    if library_path := os.environ.get("LD_LIBRARY_PATH"):
        made["LD_LIBRARY_PATH"] = library_path
    return made


def advice(error: OSError, executable: str) -> str:
    """What to do about an error that prevented the start of a process, as the end of a sentence."""
    if error.filename == executable:
        return "; set sys.executable to the path of a Python"
    return {
        errno.EMFILE: "; raise the number of open files (ulimit -n)",
        errno.EAGAIN: "; raise the number of processes of this user (ulimit -u)",
        errno.EFBIG: "; raise the size of files (ulimit -f)",
        errno.ENOMEM: "; raise the memory of this process (ulimit -v)",
    }.get(error.errno or 0, "; see what this process may open and start")


def last_line(errors: int) -> str:
    """The last line in the pipe `errors`, as printable text; "" if there is none. Does not block."""
    os.set_blocking(errors, False)
    said = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(errors, _KEPT_BYTES):
            said = (said + chunk)[-_KEPT_BYTES:]
    lines = said.decode("utf-8", "replace").strip().splitlines()
    text = lines[-1].strip() if lines else ""
    return "".join(each if each.isprintable() else "?" for each in text)[-_SHOWN_CHARACTERS:]


def ending(process: subprocess.Popen[bytes], errors: int) -> str:
    """How a zygote that does not answer ended, and the last line that it wrote to `errors`. Kills it after 1 s."""
    try:
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        how = "it did not answer in time and was killed"
    else:
        code = process.returncode
        how = f"it was killed by {_signal(-code)}" if code < 0 else f"it ended with exit status {code}"
    said = last_line(errors)
    return f"{how}; its last line was: {said}" if said else f"{how}, and wrote nothing"


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{name}, as the kernel does when memory runs out" if number == signal.SIGKILL else name
