"""What one process may try on another, as a program: `python reach.py PID` prints how each attempt ended, as JSON.

Without an argument it is somebody to try it on: it allows whatever a process can allow, says "here", and waits.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # of calls that the C library has no name for
    "x86_64": {"process_vm_readv": 310, "kcmp": 312, "pidfd_getfd": 438, "ioprio_set": 251, "ptrace": 101},
    "aarch64": {"process_vm_readv": 270, "kcmp": 272, "pidfd_getfd": 438, "ioprio_set": 30, "ptrace": 117},
}[platform.machine()]
SEIZE, DETACH, ANY_TRACER, RESUME = 0x4206, 17, 0x59616D61, -1


def call(name, *arguments):
    values = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def read(name):
    def attempt(pid):
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            if name != "mem":
                file.read(1)

    return attempt


def write(name, text):
    def attempt(pid):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)

    return attempt


def trace(pid):
    call("ptrace", SEIZE, pid, 0, 0)


def copy(pid):
    """Its memory by the call for that, at an address that need not be there: EFAULT is permission."""
    buffer = ctypes.create_string_buffer(16)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
    there = (ctypes.c_void_p * 2)(8, 8)
    try:
        call("process_vm_readv", pid, here, 1, there, 1, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def take_descriptor(pid):
    os.close(call("pidfd_getfd", os.pidfd_open(pid), 0, 0))


ATTEMPTS = {
    "signal": lambda pid: os.kill(pid, 0),
    "signal by descriptor": lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), 0),
    "trace": trace,
    "copy its memory": copy,
    "take a descriptor": take_descriptor,
    "compare": lambda pid: call("kcmp", os.getpid(), pid, 1, 0, 0),  # KCMP_VM
    "limit": lambda pid: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)),
    "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "processors": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
    "disk priority": lambda pid: call("ioprio_set", 1, pid, 3 << 13),
    "its descriptors": lambda pid: os.listdir(f"/proc/{pid}/fd"),
    "its descriptor 0": lambda pid: os.close(os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)),
    "its directory": lambda pid: os.readlink(f"/proc/{pid}/cwd"),
    "its root": lambda pid: os.listdir(f"/proc/{pid}/root/"),
    "its program": lambda pid: os.readlink(f"/proc/{pid}/exe"),
    **{name: read(name) for name in ("mem", "environ", "maps", "auxv", "syscall", "io")},
    "oom_score_adj": write("oom_score_adj", "1000"),
    "coredump_filter": write("coredump_filter", "0x7f"),
    "clear_refs": write("clear_refs", "1"),
}


def tried(attempt, pid):
    try:
        attempt(pid)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "won"


def main(arguments):
    if not arguments:
        LIBC.prctl(ANY_TRACER, ctypes.c_long(-1), 0, 0, 0)
        print("here", os.getpid(), flush=True)
        signal.pause()
    print(json.dumps({name: tried(attempt, int(arguments[0])) for name, attempt in ATTEMPTS.items()}))


main(sys.argv[1:])
