"""Running an attack while the host looks on: what came out, how long it took, and what the host itself lost by it.

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

#: Between the cells of one attack: long enough for what a host does with an idle session.
_IDLE_SECONDS = 0.08
#: How often a running attack is looked at.
_LOOK_SECONDS = 0.02
#: After a cell's end it is looked so often, for so many seconds that the machine gives, whether it goes on.
_LOOKS, _LOOK_AFTER_SECONDS = 20, 0.3
#: On a busy machine one look may meet a moment in which others have the processor.
_QUIET_LOOKS = 2
#: Who gets this share of a processor computes: on a busy machine a loop gets no more.
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
        """Everything that came out, as one text: for what is found anywhere in it."""
        return "\n".join(self.said)


#: What ended threads of this process that nobody waits for: a host that loses one goes on, and does less.
_dead_threads: list[str] = []
_watchers = 0
_watching = threading.Lock()
_hook_before = threading.excepthook


@contextlib.contextmanager
def watched_threads() -> Iterator[None]:
    """While attempts run, the deaths of the host's own threads are noted."""
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
    """Run the cells in a thread, so that a host that never comes back is seen as such."""
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
        except BaseException as error:  # noqa: BLE001 - what a host lets through is the finding
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
        seen.bloat = max(seen.bloat, _grown(before))  # an attempt beside this one may let the peak be forgotten
        if weighed:
            seen.held = max(seen.held, weighed.held_bytes() - held)
    seen.seconds = watch.passed
    seen.said += [watched.spilled()] if watched else []
    # Or it came back late: a host that is stuck inside C holds this thread as well.
    seen.overdue = thread.is_alive() or watch.given > patience
    seen.dead_threads = _dead_threads[deaths:]
    seen.bloat = max(seen.bloat, _grown(before))
    return seen


def still_computes(session: Session) -> bool:
    """Whether a session of somebody else's, whose cell is over, goes on computing for as long as anybody looks."""
    if not isinstance(session, Watched):
        return False
    quiet = 0
    for _ in range(_LOOKS):  # what tidies up after a cell ends, and is no finding
        watch, before = Stopwatch(), session.busy_seconds()
        while watch.given < _LOOK_AFTER_SECONDS:
            time.sleep(_LOOK_SECONDS)
        quiet = quiet + 1 if session.busy_seconds() - before < watch.given * _BUSY_SHARE else 0
        if quiet == _QUIET_LOOKS:
            return False
    return True


def memory() -> tuple[int, int]:
    """Resident bytes of the host: now, and at its peak since that was forgotten."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        about = dict(line.split(":", 1) for line in file)
    now, peak = (int(about[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))
    return now, peak


def _grown(before: tuple[int, int]) -> int:
    return max(now - then for now, then in zip(memory(), before, strict=True))


def _forget_peak() -> None:
    # Where that is refused, the peak of all attempts so far is what this one has to pass: proc_pid_clear_refs(5).
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("5")
