"""Hostile cells for `rlm-secure demo`: what an attacker writes first, one per wall.

`LANGUAGE` goes through the whole sandbox and is stopped by its innermost wall, with a message that a model
can use. `KERNEL` is plain Python with ctypes, in a session without that wall: what stops it is the kernel.
`LIMITS` are greedy, and are stopped by a limit. An attempt that gets through prints WON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WON: Final = "WON"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One hostile cell: the wall that should stop it, what it is after, and its code."""

    wall: str
    aim: str
    code: str


LANGUAGE: Final = (
    Attempt("language", "open a file", "print('WON', open('/etc/passwd').read())"),
    Attempt("language", "import os", "import os\nprint('WON', os.listdir('/'))"),
    Attempt("language", "call __import__", "print('WON', __import__('os').getpid())"),
    Attempt("language", "list every class", "print('WON', ().__class__.__base__.__subclasses__())"),
    Attempt("language", "walk a format string", "print('WON', '{0.__class__.__mro__}'.format(1))"),
    Attempt(
        "language",
        "climb a generator's frames",
        "def g():\n    yield\nprint('WON', g().gi_frame.f_back.f_globals)",
    ),
    Attempt("language", "reach builtins via json", "import json\nprint('WON', json.codecs.builtins.open)"),
    Attempt("language", "evaluate text", "print('WON', eval('1+1'))"),
)

_LIBC = """\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *arguments):
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
"""


def _raw(wall: str, aim: str, code: str) -> Attempt:
    return Attempt(wall, aim, _LIBC + code)


KERNEL: Final = (
    _raw("empty-root", "read /etc/passwd", "call(libc.open, b'/etc/passwd', 0)\nprint('WON')"),
    _raw(
        "empty-root", "list /", "print('WON' if os.listdir('/') else '', end='')\nraise OSError('/ is empty')"
    ),
    _raw("empty-root", "write to /tmp", "call(libc.open, b'/tmp/stolen', 0o101, 0o600)\nprint('WON')"),
    _raw(
        "empty-environment",
        "read the host's variables",
        "libc.getenv.restype = ctypes.c_char_p\n"
        "names = [name for name in (b'HOME', b'PATH', b'OPENAI_API_KEY') if libc.getenv(name)]\n"
        "print('WON' if names or os.environ else '', end='')\nraise KeyError('no variable is set')",
    ),
    _raw("seccomp", "open a TCP socket", "call(libc.socket, 2, 1, 0)\nprint('WON')"),
    _raw("seccomp", "open a Unix socket", "call(libc.socket, 1, 1, 0)\nprint('WON')"),
    _raw("seccomp", "start a process", "call(libc.fork)\nprint('WON')"),
    _raw(
        "seccomp",
        "become another program",
        "call(libc.execve, b'/bin/sh', (ctypes.c_char_p * 2)(b'sh', None), None)\nprint('WON')",
    ),
    _raw("pid-namespace", "signal its parent", "call(libc.kill, os.getppid(), 0)\nprint('WON')"),
    _raw(
        "no-capabilities",
        "mount a file system",
        "call(libc.mount, b't', b'/', b'tmpfs', 0, None)\nprint('WON')",
    ),
    _raw(
        "no-inherited-fds",
        "use a descriptor of the host",
        "for fd in range(4, 64):\n"
        "    try:\n"
        "        os.fstat(fd)\n"
        "    except OSError:\n"
        "        continue\n"
        "    print('WON', fd)\n"
        "raise OSError('no descriptor but the channel is open')",
    ),
    _raw(
        "seccomp",
        "run its own machine code",
        "libc.mmap.restype = ctypes.c_long\ncall(libc.mmap, None, 4096, 7, 0x22, -1, 0)\nprint('WON')",
    ),
)

LIMITS: Final = (
    Attempt("wall-clock", "never end", "while True:\n    pass"),
    Attempt("wall-clock", "never end inside C", "print('WON', sum(range(10**11)))"),
    Attempt("rlimits", "take 10 GB", "text = 'a' * 10**10\nprint('WON', len(text))"),
    Attempt("output-cap", "print 100 MB", "for _ in range(1000):\n    print('x' * 100_000)"),
)
