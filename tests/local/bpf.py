"""Two ways to ask a seccomp program for its verdict: an interpreter, for any architecture and any arguments, and
the kernel, in a forked child that installs the program and makes the call."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003}
KILL_PROCESS = 0x80000000
ALLOW = 0x7FFF0000
ERRNO = 0x00050000
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def instructions(program: bytes) -> list[tuple[int, int, int, int]]:
    """(code, jump if true, jump if false, constant) of each instruction."""
    return [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]


def verdict(program: bytes, number: int, args: Sequence[int] = (), machine: str = platform.machine()) -> int:
    """What the kernel's classic BPF machine returns for one system call: the part of it that seccomp programs use."""
    padded = [each & (2**64 - 1) for each in (*args, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("IIQ6Q", number, AUDIT_ARCH[machine], 0, *padded)
    code = instructions(program)
    accumulator = index = at = 0
    scratch = [0] * 16
    while True:
        operation, if_true, if_false, constant = code[at]
        at += 1
        kind = operation & 0x07
        source = index if operation & 0x08 else constant
        match kind:
            case 0x00:  # load: absolute from the data, or from scratch memory
                accumulator = struct.unpack_from("I", data, constant)[0] if operation == 0x20 else scratch[constant]
            case 0x02:
                scratch[constant] = accumulator
            case 0x04:
                assert operation & 0xF0 == 0x50, "only AND is used"
                accumulator &= source
            case 0x05:
                match operation & 0xF0:
                    case 0x00:
                        at += constant
                        continue
                    case 0x10:
                        taken = accumulator == source
                    case 0x20:
                        taken = accumulator > source
                    case 0x30:
                        taken = accumulator >= source
                    case 0x40:
                        taken = bool(accumulator & source)
                at += if_true if taken else if_false
            case 0x06:
                return constant
            case 0x07:
                index = accumulator
            case _:
                raise AssertionError(f"unknown instruction {operation:#x}")


@dataclass(frozen=True)
class Outcome:
    """How a call in a filtered child ended: by `signal`, or with a result and an errno."""

    signal: int | None = None
    exit_code: int | None = None
    result: int | None = None
    errno: int | None = None

    @property
    def killed(self) -> bool:
        return self.signal == signal.SIGSYS


def install(program: bytes) -> None:
    """Put the calling thread under `program`."""
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    block = Program(len(program) // 8, ctypes.addressof(buffer))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(_SYS_SECCOMP, 1, 0, ctypes.byref(block)) == 0, os.strerror(ctypes.get_errno())


def call(number: int, *args: int) -> tuple[int, int]:
    """One raw system call: its result, and errno where the result is -1."""
    ctypes.set_errno(0)
    values = [ctypes.c_ulong(each & (2**64 - 1)) for each in (*args, 0, 0, 0, 0, 0, 0)[:6]]
    result = libc.syscall(ctypes.c_long(number), *values)
    return result, ctypes.get_errno() if result == -1 else 0


def under(program: bytes | None, body: Callable[[], tuple[int, int] | None], data: int | None = None) -> Outcome:
    """Run `body` in a child that holds descriptor 3, a socket, and is filtered by `program` (not, for None).

    `data` is an RLIMIT_DATA in bytes.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            ours.close()
            os.dup2(theirs.fileno(), 3)
            if data is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (data, data))
            if program is not None:
                install(program)
            outcome = body()
            if outcome is not None:
                os.write(3, struct.pack("qi", *outcome))
            os._exit(0)
        os._exit(99)
    theirs.close()
    ours.settimeout(20)
    try:
        answer = ours.recv(64)
    except ConnectionResetError:
        answer = b""
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        ours.close()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Outcome(signal=os.WTERMSIG(status))
    result, errno = struct.unpack("qi", answer[:12]) if len(answer) == 12 else (None, None)
    return Outcome(exit_code=os.WEXITSTATUS(status), result=result, errno=errno)
