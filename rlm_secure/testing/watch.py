"""Run an attack and observe it from the host: its output, its duration, and the damage to the host itself.

Guards: what the host saw while an attack ran
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rlm_secure.errors import CellError
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing.corpus import Attack
from rlm_secure.testing.session import Session, Watched
from rlm_secure.testing.verdict import Claim, claims
from rlm_secure.testing.yardstick import Stopwatch

#: Pause between the cells of one attack: long enough for what a host does with an idle session.
_IDLE_SECONDS = 0.08
#: Interval at which a running attack is checked.
_LOOK_SECONDS = 0.02
#: After the end of a cell: at most this many checks, each over so many seconds that the machine gave, for CPU use.
_LOOKS, _LOOK_AFTER_SECONDS = 20, 0.3
#: Quiet checks in a row that prove it idle: on a busy machine one may fall into a time when others have the CPU.
_QUIET_LOOKS = 2
#: A session that uses this share of a CPU is computing: on a busy machine a loop may get no more.
_BUSY_SHARE = 0.05


@dataclass(slots=True)
class Seen:
    """What the host saw of one attempt."""

    said: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    error: CellError | None = None
    failure: BaseException | None = None
    overdue: bool = False
    dead_threads: list[str] = field(default_factory=list)
    bloat: int = 0
    held: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """All output as one text, for searching."""
        return "\n".join(self.said)


#: Exceptions that ended threads of this process: a host that loses one goes on without the work of that thread.
_dead_threads: list[str] = []
_watchers = 0
_watching = threading.Lock()
_hook_before = threading.excepthook


@contextlib.contextmanager
def watched_threads() -> Iterator[None]:
    """Within the block, record the uncaught exceptions that end threads of this process."""
    global _watchers, _hook_before
    with _watching:
        if _watchers == 0:
            _hook_before, threading.excepthook = threading.excepthook, _note_death
        _watchers += 1
    try:
        yield
    finally:
        with _watching:
            _watchers -= 1
            if _watchers == 0:
                threading.excepthook = _hook_before


def _note_death(fate: threading.ExceptHookArgs) -> None:
    _dead_threads.append(f"{fate.exc_type.__name__} in {fate.thread.name if fate.thread else 'a thread'}")


def watch(session: Session, attack: Attack, patience: float) -> Seen:
    """Run the cells in a thread, so that a host that never answers is detected; `patience` is seconds per cell."""
    seen = Seen()
    watched = session if isinstance(session, Watched) else None
    weighed = watched if attack.guarantee is Guarantee.BOUNDED_MEMORY else None

    def run() -> None:
        try:
            for number, cell in enumerate(attack.cells, 1):
                time.sleep(_IDLE_SECONDS if number > 1 else 0)
                result = session.run(cell)
                answer = "" if result.final_answer is None else str(result.final_answer)
                seen.claims += claims(number, result.stdout)
                seen.said += [result.stdout, result.stderr, answer, str(result.locals), str(result.error or "")]
                seen.error = result.error or seen.error
                if result.error is not None and result.error.session_ended:
                    return
        except BaseException as error:  # noqa: BLE001 - an exception that the host lets through is the finding
            seen.failure = error

    if weighed:
        weighed.forget_peak()
    _forget_peak()
    before, held = memory(), weighed.held_bytes() if weighed else 0
    patience *= len(attack.cells)
    deaths = len(_dead_threads)
    watch = Stopwatch()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    alive = True
    while alive and watch.given <= patience:
        thread.join(_LOOK_SECONDS)
        alive = thread.is_alive()
        seen.bloat = max(seen.bloat, _grown(before))  # each time: a parallel attempt may reset the peak
        if weighed:
            seen.held = max(seen.held, weighed.held_bytes() - held)
    seen.seconds = watch.passed
    seen.said += [watched.spilled()] if watched else []
    # Or it answered late: a host stuck inside C code (holding the GIL) blocks this thread too.
    seen.overdue = thread.is_alive() or watch.given > patience
    seen.dead_threads = _dead_threads[deaths:]
    seen.bloat = max(seen.bloat, _grown(before))
    return seen


def still_computes(session: Session) -> bool:
    """Whether a foreign session keeps using the CPU after its cell has ended, through all checks."""
    if not isinstance(session, Watched):
        return False
    quiet = 0
    for _ in range(_LOOKS):  # clean-up after a cell comes to an end, and is no finding
        watch, before = Stopwatch(), session.busy_seconds()
        while watch.given < _LOOK_AFTER_SECONDS:
            time.sleep(_LOOK_SECONDS)
        quiet = quiet + 1 if session.busy_seconds() - before < watch.given * _BUSY_SHARE else 0
        if quiet == _QUIET_LOOKS:
            return False
    return True


def memory() -> tuple[int, int]:
    """Resident bytes of the host: now, and the peak since the last `_forget_peak`."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        about = dict(line.split(":", 1) for line in file)
    now, peak = (int(about[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))
    return now, peak


def _grown(before: tuple[int, int]) -> int:
    return max(now - then for now, then in zip(memory(), before, strict=True))


def _forget_peak() -> None:
    # If refused, only growth beyond the peak of all earlier attempts is seen: proc_pid_clear_refs(5).
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("5")
