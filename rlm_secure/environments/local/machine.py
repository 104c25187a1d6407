"""Whether this machine can have local sessions at all: their walls are Linux's.

Guards: that no local session starts where its walls do not exist
"""

from __future__ import annotations

import os
import sys

from rlm_secure.errors import EnvironmentUnavailable

#: Machines for which there are system call filters, see rlm_secure/environments/seccomp.py.
_MACHINES = ("x86_64", "aarch64")
_POINTER_BITS = 64


#: What to take instead of a local session.
_INSTEAD = "take the environment docker, with an engine that runs Linux containers, or a cloud, such as e2b"


def require(what: str = "the environment local", instead: str = _INSTEAD) -> None:
    """Raise EnvironmentUnavailable, one sentence, on another system, another machine, or in a Python of 32 bits."""
    bits = sys.maxsize.bit_length() + 1
    if sys.platform == "linux" and os.uname().machine in _MACHINES and bits == _POINTER_BITS:
        return
    import platform  # only for this message: before a local session's process is started, each import delays it

    machine = platform.machine()
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system() or sys.platform)
    raise EnvironmentUnavailable(
        f"{what} needs Linux on {' or '.join(_MACHINES)} and a Python of {_POINTER_BITS} bits, and this is {system} on "
        f"{machine}, {bits} bits; {instead}"
    )


_SYSCTLS = "/proc/sys"


def _setting(name: str) -> str | None:
    try:
        with open(f"{_SYSCTLS}/{name.replace('.', '/')}", encoding="ascii") as file:  # noqa: PTH123 - see require()
            return file.read().strip()
    except (OSError, ValueError):
        return None


def allow_namespaces() -> str:
    """What to do about refused namespaces, by what refuses them here, as the end of a sentence."""
    if _setting("user.max_user_namespaces") == "0":
        return "allow user namespaces on this machine: sudo sysctl -w user.max_user_namespaces=15000"
    if _setting("kernel.unprivileged_userns_clone") == "0":  # Debian, and kernels of Arch called hardened
        return "allow user namespaces on this machine: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _setting("kernel.apparmor_restrict_unprivileged_userns") == "1":  # Ubuntu
        return (
            "AppArmor refuses them to programs without a profile: install sandboxes/apparmor/rlm-secure with the path "
            "of this Python, see https://rlm-secure.github.io/rlm-secure/environments/linux/"
        )
    return (
        "no setting of this machine refuses user namespaces, so a container or a filter around this process does: "
        "allow them there, or take the environment docker"
    )
