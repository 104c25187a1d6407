"""Whether a checkpoint is worth what it costs: after it, the kernel copies each page that the worker writes to.

Python writes to every object that it looks at, so a cell that walks through 100 MB copies 100 MB. What a checkpoint
saves is the replay of the log, and only if a cell is killed. So it waits until the log took many times as long as
the copies of the last one, by the page faults that the kernel counted.
"""

from __future__ import annotations

from typing import Final

from rlm_secure.environments.local.worker import Worker
from rlm_secure.environments.replay import REPLAY_SECONDS

#: A page fault that copies 4 KiB, and what the cell then finds in no cache: 1.3 to 4.3 microseconds, measured on a
#: virtual machine of 2 processors.
_FAULT_SECONDS: Final = 4e-6
#: The log takes that many times as long as the copies, so that these take a twentieth of a session's time at most.
_TIMES: Final = 20
#: A log that took longer is cut whatever a copy costs: one of REPLAY_SECONDS is not replayed.
_LONGEST_SECONDS: Final = REPLAY_SECONDS / 2


class CopyCost:
    """What checkpoints cost one session."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self.needed = 0.0
        """CPU seconds of the log below which no checkpoint is worth it; known when it was looked at last."""

    def taken(self, seconds: float) -> None:
        """A checkpoint took that long, without the copies of pages that follow."""
        self._seconds, self.needed = seconds, 0.0

    def outweighed(self, log_seconds: float, worker: Worker, *, idle: bool) -> bool:
        """Whether a checkpoint of `worker`, whose log took that many CPU seconds, is worth its copies.

        While the session is `idle`, nobody waits for the checkpoint itself.
        """
        fork = 0.0 if idle else min(_TIMES * self._seconds, _LONGEST_SECONDS)
        if log_seconds < self.needed + fork:  # by the last look, which takes as long as a short cell: faults only grow
            return False
        faults = worker.faults()
        if faults is None:  # gone, or hidden from the host
            return True
        self.needed = min(_TIMES * faults * _FAULT_SECONDS, _LONGEST_SECONDS)
        return log_seconds >= self.needed + fork
