"""Whether this machine can have local sessions at all: their walls are Linux's.

Guards: that no local session starts where its walls do not exist
"""

from __future__ import annotations

import platform
import sys

from rlm_secure.errors import EnvironmentUnavailable

#: Machines for which there are system call filters, see rlm_secure/environments/seccomp.py.
_MACHINES = ("x86_64", "aarch64")
_POINTER_BITS = 64


#: What to take instead of a local session.
_INSTEAD = "take the environment docker, with an engine that runs Linux containers, or a cloud, such as e2b"


def require(what: str = "the environment local", instead: str = _INSTEAD) -> None:
    """Raise EnvironmentUnavailable, one sentence, on another system, another machine, or in a Python of 32 bits."""
    machine, bits = platform.machine(), sys.maxsize.bit_length() + 1
    if sys.platform == "linux" and machine in _MACHINES and bits == _POINTER_BITS:
        return
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system() or sys.platform)
    raise EnvironmentUnavailable(
        f"{what} needs Linux on {' or '.join(_MACHINES)} and a Python of {_POINTER_BITS} bits, and this is {system} on "
        f"{machine}, {bits} bits; {instead}"
    )
