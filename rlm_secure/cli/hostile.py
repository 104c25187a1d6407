"""Hostile cells for `rlm-secure demo`: what an attacker writes first.

`LANGUAGE` goes through the whole sandbox and is stopped by its innermost wall, with a message that a model
can use. `KERNEL` is plain Python with ctypes, in a session without that wall: what stops it is the kernel,
mostly seccomp. `SINGLE` runs with seccomp off as well, and shows the walls behind it. `LIMITS` is greed. An
attempt that gets through prints WON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WON: Final = "WON"

#: What a denial of each kind looks like, in the first line of the error. Anything else is a broken attempt.
BY_LANGUAGE: Final = r"[a-z]+(-[a-z]+)+: |AttributeError: json\.codecs"
BY_KERNEL: Final = r"\w+Error: \[Errno \d+\]|.*forbidden system call|.*the call never returns"
BY_LIMIT: Final = r".*\blimits\.\w+|the cell took longer than the 1 s that its caller gave it"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One hostile cell: the wall that should stop it, what it is after, and its code."""

    wall: str
    aim: str
    code: str

    def against(self, host: int) -> str:
        """The code, with the process id of the host that it attacks."""
        return self.code.replace("HOST", str(host))


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


_READ = _raw("landlock", "read /etc/passwd", "call(libc.open, b'/etc/passwd', 0)\nprint('WON')")
_FORK = _raw("rlimits", "start a process", "if call(libc.fork) == 0:\n    os._exit(0)\nprint('WON')")
_MOUNT = _raw("no-capabilities", "mount a file system", "call(libc.mount, b't', b'/', b'tmpfs', 0, None)\nprint('WON')")
_SIGNAL = _raw("pid-namespace", "signal the host", "call(libc.kill, HOST, 0)\nprint('WON')")
_MACHINE_CODE = _raw(
    "memory-deny-write-execute",
    "run its own machine code",
    "libc.mmap.restype = ctypes.c_long\ncall(libc.mmap, None, 4096, 7, 0x22, -1, 0)\nprint('WON')",
)

KERNEL: Final = (
    _READ,
    _raw("empty-root", "list /", "print('WON' if os.listdir('/') else '', end='')\nraise OSError(2, 'it is empty')"),
    _raw("landlock", "write to /tmp", "call(libc.open, b'/tmp/stolen', 0o101, 0o600)\nprint('WON')"),
    _raw(
        "empty-environment",
        "read the host's variables",
        "libc.getenv.restype = ctypes.c_char_p\n"
        "names = [name for name in (b'HOME', b'PATH', b'OPENAI_API_KEY') if libc.getenv(name)]\n"
        "print('WON' if names or os.environ else '', end='')\nraise OSError(2, 'no variable is set')",
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
        "raise OSError(9, 'no descriptor but the channel is open')",
    ),
    _raw("seccomp", "open a TCP socket", "call(libc.socket, 2, 1, 0)\nprint('WON')"),
    _raw("seccomp", "open a Unix socket", "call(libc.socket, 1, 1, 0)\nprint('WON')"),
    _FORK,
    _raw(
        "seccomp",
        "become another program",
        "call(libc.execve, b'/bin/echo', (ctypes.c_char_p * 3)(b'echo', b'WON', None), None)",
    ),
    _SIGNAL,
    _MOUNT,
    _MACHINE_CODE,
)

#: (the kernel walls switched off beside the language layer, the attempt): what is behind seccomp.
SINGLE: Final = (
    (("seccomp",), _raw("landlock", "open /", "call(libc.open, b'/', 0)\nprint('WON')")),
    (("seccomp", "landlock"), Attempt("empty-root", _READ.aim, _READ.code)),
    (
        ("seccomp",),
        _raw(
            "network-namespace",
            "send a packet to the host",
            "import struct\n"
            "udp = call(libc.socket, 2, 2, 0)\n"
            "host = struct.pack('=H', 2) + struct.pack('>H', 9) + bytes([127, 0, 0, 1]) + bytes(8)\n"
            "call(libc.sendto, udp, b'x', 1, 0, host, 16)\nprint('WON')",
        ),
    ),
    (("seccomp",), _SIGNAL),
    (("seccomp",), _FORK),
    (("seccomp",), _MOUNT),
    (
        ("seccomp",),
        _raw("user-namespace", "gain capabilities in a namespace", "call(libc.unshare, 0x10000000)\nprint('WON')"),
    ),
    (("seccomp",), _MACHINE_CODE),
)

LIMITS: Final = (
    Attempt("wall-clock", "never end", "while True:\n    pass"),
    Attempt("wall-clock", "never end inside C", "print('WON', sum(range(10**11)))"),
    Attempt("rlimits", "take 10 GB", "text = 'a' * 10**10\nprint('WON', len(text))"),
    Attempt("output-cap", "print 100 MB", "for _ in range(1000):\n    print('x' * 100_000)"),
)
