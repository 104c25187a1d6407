"""Not an attack: what attacks on the kernel layer start with. `call(name, ...)` makes one raw system call.

It returns what the kernel returned, or raises OSError with its errno. The numbers come from the host, so that
nothing has to be looked up, imported or opened behind the walls. `another(pid)` is for those that name a process.
"""

import ctypes
import errno
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    if isinstance(number, str):
        number = TARGET["numbers"][number]
    if number < 0:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    values = []
    for argument in arguments:
        if isinstance(argument, str):
            argument = argument.encode()
        if isinstance(argument, bytes):
            argument = ctypes.c_char_p(argument)
        elif isinstance(argument, int):
            argument = ctypes.c_long(argument)
        values.append(argument)
    result = libc.syscall(ctypes.c_long(number), *values)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def another(pid):
    # Where a PID namespace counts anew, a number from outside may be this process's own, or that of a thread of it.
    threads = sys.modules["threading"].enumerate() if "threading" in sys.modules else ()
    own = {os.getpid(), os.getppid(), *(thread.native_id for thread in threads)} - {TARGET["host"]}
    if pid in own or os.path.exists(f"/proc/self/task/{pid}"):
        raise ProcessLookupError(errno.ESRCH, "that is no other process")
    if pid == TARGET["bystander"] and not _waits(pid):
        raise ProcessLookupError(errno.ESRCH, "that is not the process that is meant")
    return pid


def _waits(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"command-line-" in file.read()
    except OSError:  # it cannot be seen here, which says nothing
        return True
