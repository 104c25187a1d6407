"""Other kernels, for real: in a child, a filter of seccomp's has calls fail, or do nothing, as they would there."""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pyseccomp

#: What a call answers that does nothing and says that it did.
LIES = 0
_PER_LINUX32 = 8


def refuse(*calls: tuple[Any, ...]) -> None:
    """From now on, in this process and in all that it starts: `(name, errno)`, or `(name, errno, *arguments)`.

    An argument is `(index, value)`, for calls in which it has this value, or `(index, comparison, value)`.
    """
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name, number, *arguments in calls:
        compared = [pyseccomp.Arg(each[0], getattr(pyseccomp, each[1]) if each[2:] else pyseccomp.EQ, each[-1]) for each in arguments]
        rules.add_rule(pyseccomp.ERRNO(number), name, *compared)
    rules.load()


def in_child(body: Callable[[], Any], *refused: tuple[Any, ...]) -> str:
    """What `body` returns or raises, as text, from a forked child under a kernel that refuses these calls."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if refused:
                refuse(*refused)
            text = str(body())
        except OSError as error:
            text = errno.errorcode.get(error.errno or 0, "?")
        except BaseException as error:
            text = repr(error)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return text or f"signal {os.WTERMSIG(status)}"


def anew(module: ModuleType, *, machine: bool = True) -> ModuleType:
    """A copy of `module`, run anew; without `machine` on one that nobody knows. In a child only."""
    if not machine:
        assert ctypes.CDLL(None).personality(_PER_LINUX32) >= 0
    assert module.__spec__ is not None
    copy = importlib.util.module_from_spec(module.__spec__)
    assert module.__spec__.loader is not None
    module.__spec__.loader.exec_module(copy)
    return copy
