"""A process by its pidfd, which cannot come to mean another process."""

from __future__ import annotations

import contextlib
import select
import signal


def send_signal(pidfd: int, number: signal.Signals) -> bool:
    """Signal the process behind `pidfd`; False when it is gone."""
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    return True


def ended(pidfd: int, seconds: float = 0.0) -> bool:
    """Whether the process has ended, or does within `seconds`."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def pid_of(pidfd: int) -> int | None:
    """Its pid as this process sees it; None when it is gone, or hidden from this /proc."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as lines:  # noqa: PTH123
        pid = next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), 0)
        return pid if pid > 0 else None
    return None
