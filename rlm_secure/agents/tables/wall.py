"""What the process that parses a table may still ask of the kernel, once its parser is loaded: memory and its pipes.

It opens no file and no socket, starts no program, process or thread, signals nobody and makes no memory executable:
every call that is not named here fails with EPERM. So a parser that a file takes over sees that file alone, and can
tell nobody but its host. On a system without seccomp (any but Linux on x86_64 and aarch64) there is no such wall.

Guards: what a parser of tables may ask of the kernel
"""

from __future__ import annotations

import functools
import platform
from typing import Final

from rlm_secure.environments.seccomp import MACHINES, Comparison, Profile, SyscallRule, assemble

_ALLOW: Final = "SCMP_ACT_ALLOW"
_EPERM: Final = 1
_PROT_EXEC: Final = 4
_AT_EMPTY_PATH: Final = 0x1000
_NAMES: Final = (
    "read", "readv", "pread64", "lseek", "fstat", "write", "close", "poll", "ppoll",
    "brk", "munmap", "mremap", "madvise", "futex", "sched_yield", "sched_getaffinity", "clock_gettime",
    "clock_nanosleep", "getrandom", "getpid", "gettid", "getrusage", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "sigaltstack", "restart_syscall", "set_robust_list", "rseq", "exit", "exit_group",
)  # fmt: skip
_NOT_EXECUTABLE: Final = (Comparison(2, "MASKED_EQ", _PROT_EXEC, 0),)
_OF_A_DESCRIPTOR: Final = (Comparison(3, "MASKED_EQ", _AT_EMPTY_PATH, _AT_EMPTY_PATH),)
PROFILE: Final = Profile(
    name="table",
    default="SCMP_ACT_ERRNO",
    default_errno=_EPERM,
    archs=tuple(MACHINES.values()),
    rules=(
        SyscallRule(_NAMES, _ALLOW, _EPERM, (), "parsing, and saying what was found"),
        SyscallRule(("newfstatat",), _ALLOW, _EPERM, _OF_A_DESCRIPTOR, "fstat, as the C library has it"),
        SyscallRule(("mmap", "mprotect"), _ALLOW, _EPERM, _NOT_EXECUTABLE, "memory that holds no code"),
    ),
)


@functools.cache
def program() -> bytes:
    """The filter as BPF; empty on a system that has none. Raises EnvironmentUnavailable where libseccomp is missing."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        return b""
    return assemble(PROFILE)
