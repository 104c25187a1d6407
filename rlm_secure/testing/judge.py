"""Run one attack against one session, and say from outside what became of it: a Verdict.

`attempt` believes nothing that a session says about itself: secrets are looked for in everything that came out, and
files, mounts, listeners, processes, time and memory are looked at on the host. What an attack merely claims, by a line
that starts with WON, counts as well, and is told apart: it reached a surface, which nobody outside saw.
"""

from __future__ import annotations

import contextlib
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

import psutil

from rlm_secure.environments.remote.worker import KILL_SECONDS
from rlm_secure.errors import (
    CellCrashed,
    CellError,
    CellMemoryLimit,
    CellRefused,
    CellTimeout,
    ProtocolViolation,
    RLMSecureError,
    WallViolation,
)
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.policy import Policy, load_policy
from rlm_secure.resources import sandboxes_dir
from rlm_secure.testing.corpus import Attack, Excuse, Layer, Need, Win
from rlm_secure.testing.target import Bounds, Target, prelude_cell
from rlm_secure.testing.yardstick import Stopwatch
from rlm_secure.types import REPLResult

#: Lower than any shipped policy, so that the greedy attacks end soon.
BOUNDS = Bounds()
#: A host is this much later than its own deadline, in seconds that the machine gave (yardstick.py). For a cell in a
#: remote sandbox that deadline is further off: its host gives the supervisor KILL_SECONDS before it ends the sandbox
#: itself (environments/remote/worker.py).
_SLACK_SECONDS = 1.5
_SIGNAL_SECONDS = 0.1
#: A host that grew by so much while it ran one cell of these limits was bloated by it.
_BLOAT_BYTES = 64 << 20
#: Guarantees whose attacks aim at what sessions share: the zygote, the pool, the host's locks.
_SHARED = frozenset({Guarantee.SESSION_ISOLATION, Guarantee.AUTHENTIC_CHANNEL, Guarantee.HOST_INTEGRITY})
#: Attacks that are after time, or after the host itself: only from them a session that does not answer is a win.
_ON_TIME = frozenset({Win.OUTLASTS, Win.BREAKS})
#: Between the cells of one attack: long enough for what a host does with an idle session.
_IDLE_SECONDS = 0.08
#: How often a running attack is looked at.
_LOOK_SECONDS = 0.02
#: Fresh sessions that must still start, in time, after an attack: more than a pool keeps ready.
_NEIGHBOURS = 3
_USUAL_TIMES = 3
_ERRNO = re.compile(r"\[Errno (\d+)\]")
#: What an attack says when it got through. Not behind a quote: a traceback may show the line that would have said it.
_CLAIM = re.compile(r"""(?<!["'\w])WON\b[^\n]{0,200}""")


class Session(Protocol):
    """What an attack is run in: Sandbox, Unscreened and Foreign are such sessions."""

    @property
    def report(self) -> EnforcementReport:
        """What holds around it."""

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell."""

    def close(self) -> None:
        """End it."""


@runtime_checkable
class Restarting(Protocol):
    """What opens sessions in a host that is made anew for each attempt."""

    def begin(self) -> None:
        """Make it anew."""


@runtime_checkable
class Watched(Protocol):
    """A session of somebody else's: what it writes past its capture and holds is looked at from outside."""

    def spilled(self) -> str:
        """What it wrote to its host's own standard streams."""

    def held_bytes(self) -> int:
        """Bytes that its processes hold."""


class SessionFailed(RLMSecureError):
    """A session of somebody else's could not do what it was asked to: this attempt says nothing."""

    trace: str = ""
    """The adapter's own traceback, for who asks."""


class HostDied(Exception):
    """The process that holds sessions of somebody else's ended while a cell ran."""


class HostLate(Exception):
    """A session of somebody else's gave no answer in time, and was killed."""


class Result(StrEnum):
    """What became of an attempt."""

    STOPPED = "stopped"
    """A wall refused it, or killed it."""
    CONTAINED = "contained"
    """It ran, and reached nothing outside."""
    WON = "won"
    """It broke the guarantee."""
    NOT_CHECKED = "not-checked"
    """It could not be run, or its control does not win on this machine: its defeat would prove nothing."""
    ERRORED = "errored"
    """The session failed by itself: it did not start, or whoever opens it raised. It neither held nor lost."""


class Reach(StrEnum):
    """How far an attack that won got."""

    REACHED = "reached"
    """The host saw it: a canary, a listener, a process, memory, or the host itself."""
    SURFACE = "surface"
    """A call answered that should not have; nothing outside was seen to be reached."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one attempt. `wall` is what stopped it, as far as that shows; `evidence` is what was seen."""

    name: str
    guarantee: Guarantee
    result: Result
    wall: Wall | None
    evidence: str
    seconds: float
    reach: Reach | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", writable(self.evidence))

    @property
    def held(self) -> bool:
        """Whether the attack ran, and got nothing."""
        return self.result in (Result.STOPPED, Result.CONTAINED)


def writable(text: str) -> str:
    """`text` as UTF-8 can hold it: what is attacked may say half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of an attack's own that says that it got through, and the cell that printed it, from 1."""

    cell: int
    text: str


def claims(cell: int, stdout: str) -> list[Claim]:
    """What one cell claims, in what it printed itself."""
    return [Claim(cell, found[0]) for found in _CLAIM.finditer(stdout)]


@dataclass(slots=True)
class _Seen:
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


def policy(base: Policy | str = "strict") -> Policy:
    """`base` with limits so low that greedy attacks end soon. Only ever tighter than `base`."""
    loaded = load_policy(base)
    bounds = {
        "cell_seconds": BOUNDS.seconds,
        "cell_cpu_seconds": BOUNDS.seconds,
        "grace_seconds": BOUNDS.grace,
        "memory_bytes": BOUNDS.memory_bytes,
        "stdout_bytes": BOUNDS.stdout_bytes,
        "result_bytes": BOUNDS.result_bytes,
    }
    tighter = {key: min(bound, getattr(loaded.limits, key)) for key, bound in bounds.items()}
    limits = loaded.limits.model_copy(update=tighter)
    lm = loaded.lm.model_copy(update={"calls": min(BOUNDS.calls, loaded.lm.calls)})
    return loaded.model_copy(update={"limits": limits, "lm": lm})


def bounds_of(policy: Policy) -> Bounds:
    """What an attack on a session under `policy` has to pass."""
    limits = policy.limits
    return Bounds(
        limits.cell_seconds,
        limits.grace_seconds,
        limits.memory_bytes,
        limits.stdout_bytes,
        limits.result_bytes,
        policy.lm.calls,
    )


def attempt(
    attack: Attack,
    open_session: Callable[[], Session],
    target: Target,
    policy: Policy,
    *,
    checked: bool = True,
    afterwards: bool = True,
    layered: bool = True,
) -> Verdict:
    """Run `attack` in a fresh session of `open_session`, which runs under `policy`, and judge it from outside.

    `checked` says whether the attack's control won on this machine; without `afterwards` it is not tried whether
    other sessions still work. Without `layered` a session is meant to run plain Python, as ours do where the walls of
    the kernel are tried alone: what a REFLECTS attack claims is no win there. One win is enough: nothing is tried
    again. Raises what `open_session` raises, but for what concerns this attempt alone.
    """
    target.reset()
    bounds = bounds_of(policy)
    try:
        if isinstance(open_session, Restarting):
            open_session.begin()
        if attack.wins is Win.REMAINS:
            open_session().close()  # what starts with a first session, and stays, is not what the attack leaves
            target.count_processes()
        opening = Stopwatch()
        session = open_session()
    except (SessionFailed, HostDied, HostLate) as error:
        return _errored(attack, f"no session was opened: {error}")
    report = session.report
    slack = _SLACK_SECONDS + (0 if report.environment in ("local", FOREIGN) else KILL_SECONDS)
    stuck = ""
    try:
        facts = target.facts("".join(attack.cells), bounds, getattr(session, "host", None))
        prelude = prelude_cell(facts) + _prelude(attack, report)
        if (told := session.run(prelude)).error is not None:
            return _errored(attack, f"it could not be told its target: {told.error}")
        usual = opening.given
        with _watched_threads():
            seen = _watch(session, attack, bounds.seconds + bounds.grace + slack)
        if seen.overdue:
            stuck = f"the host had no answer after {seen.seconds:.1f} s"
        elif isinstance(seen.failure, HostDied | HostLate):
            pass  # nothing more can be tried in it
        elif afterwards and attack.guarantee in _SHARED:
            stuck = _neighbours(open_session, usual)
    except (SessionFailed, HostDied, HostLate) as error:
        return _errored(attack, f"it could not be told its target: {error}")
    finally:
        session.close()
    failed = _failed(attack, seen, report)
    reached = _reached(attack, target, seen, bounds, failed=bool(failed))
    claimed = _claimed(attack, seen, layered=layered)
    if failed and not reached and not claimed:
        return _errored(attack, failed)
    stuck = "" if failed else stuck
    if afterwards and not reached and not claimed and not stuck:
        stuck = _neighbours(open_session, usual, 1)
    reached += [stuck] if stuck else []
    if reached or claimed:
        reach = Reach.REACHED if reached else Reach.SURFACE
        evidence = "; ".join(reached + claimed)[:300]
        return Verdict(attack.name, attack.guarantee, Result.WON, None, evidence, seen.seconds, reach)
    wall, evidence = _defeat(attack, seen, report)
    result = Result.CONTAINED if wall is None or isinstance(seen.error, CellCrashed) else Result.STOPPED
    if not checked:
        result, evidence = Result.NOT_CHECKED, f"its control does not win on this machine; here: {evidence}"
    return Verdict(attack.name, attack.guarantee, result, wall, evidence, seen.seconds)


def _failed(attack: Attack, seen: _Seen, report: EnforcementReport) -> str:
    """Why an attempt on a session of somebody else's says nothing; "" where it says something."""
    if isinstance(seen.failure, SessionFailed):
        return str(seen.failure)
    late = seen.overdue or isinstance(seen.failure, HostLate)
    if late and report.environment == FOREIGN and attack.wins not in _ON_TIME:
        return f"{seen.failure or 'no answer in time'}; this attack is not after time"
    return ""


#: What the report of a session of somebody else's is called: nothing is known of it, so it names no wall.
FOREIGN = "foreign"


def _errored(attack: Attack, reason: str) -> Verdict:
    return Verdict(attack.name, attack.guarantee, Result.ERRORED, None, reason[:300], 0.0)


def not_checked(attack: Attack, reason: str) -> Verdict:
    """The verdict on an attack that was not run."""
    return Verdict(attack.name, attack.guarantee, Result.NOT_CHECKED, None, reason, 0.0)


#: What ended threads of this process that nobody waits for: a host that loses one goes on, and does less.
_dead_threads: list[str] = []
_watchers = 0
_watching = threading.Lock()
_hook_before = threading.excepthook


@contextlib.contextmanager
def _watched_threads() -> Iterator[None]:
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


def _prelude(attack: Attack, report: EnforcementReport) -> str:
    """What attacks on the kernel's walls start with: plain Python, and system calls for those that make them."""
    if attack.layer is not Layer.KERNEL or report[Wall.LANGUAGE].enforced:
        return ""
    if Need.CTYPES not in attack.needs:
        return "import errno\nimport os\n"
    return (sandboxes_dir() / "attacks" / "_prelude.py").read_text(encoding="utf-8")


def _watch(session: Session, attack: Attack, patience: float) -> _Seen:
    """Run the cells in a thread, so that a host that never comes back is seen as such."""
    seen = _Seen()
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

    before, held = _memory(), weighed.held_bytes() if weighed else 0
    patience *= len(attack.cells)
    deaths = len(_dead_threads)
    watch = Stopwatch()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    alive = True
    while alive and watch.given <= patience:
        thread.join(_LOOK_SECONDS)
        alive = thread.is_alive()
        if weighed:
            seen.held = max(seen.held, weighed.held_bytes() - held)
    seen.seconds = watch.passed
    seen.said += [watched.spilled()] if watched else []
    # Or it came back late: a host that is stuck inside C holds this thread as well.
    seen.overdue = thread.is_alive() or watch.given > patience
    seen.dead_threads = _dead_threads[deaths:]
    seen.bloat = max(now - then for now, then in zip(_memory(), before, strict=True))
    return seen


def _memory() -> tuple[int, int]:
    """Resident bytes of the host: now, and at its peak."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return int(psutil.Process().memory_info().rss), peak


def _neighbours(open_session: Callable[[], Session], usual: float, count: int = _NEIGHBOURS) -> str:
    """Start `count` sessions side by side and use them; what is wrong with that, or "".

    `usual` is how long one took before the attack, in seconds that the machine gave: a container takes its time.
    """
    watch = Stopwatch()
    sessions: list[Session] = []
    try:
        for _ in range(count):
            sessions.append(open_session())
            if sessions[-1].run("print(6 * 7)").stdout.strip() != "42":
                return "a fresh session does not compute any more"
        late = watch.given > count * (_SLACK_SECONDS + _USUAL_TIMES * usual)
        return f"fresh sessions took {watch.passed:.1f} s to start, one before it {usual:.1f} s" if late else ""
    except (RLMSecureError, HostDied, HostLate) as error:
        return f"no fresh session starts any more: {error}"
    finally:
        for session in sessions:
            session.close()


def _reached(attack: Attack, target: Target, seen: _Seen, bounds: Bounds, *, failed: bool) -> list[str]:
    """What the attack did that was seen from outside. Most of it counts whatever the attack was after.

    The end of a session that `failed` by itself is no part of it.
    """
    said = seen.text + (str(seen.failure) if seen.failure else "")
    found = [f"the {place} secret came out" for place in target.leaked(said)]
    found += [f"the {name} listener was reached" for name in target.heard()]
    found += [f"something was mounted on {path}" for path in target.mounted()]
    found += [f"{path} was changed" for path in target.damage()]
    if target.signalled(_SIGNAL_SECONDS if attack.wins is Win.SIGNALS else 0.0):
        found.append("the bystander was signalled")
    if isinstance(seen.failure, HostDied | HostLate):
        found += [] if failed else [str(seen.failure)]
    elif seen.failure is not None and not isinstance(seen.failure, RLMSecureError):
        found.append(f"the host raised {type(seen.failure).__name__}: {seen.failure}")
    found += [f"a thread of the host died of {death}" for death in seen.dead_threads]
    if seen.bloat > _BLOAT_BYTES:
        found.append(f"the host grew by {seen.bloat >> 20} MiB")
    if attack.guarantee is Guarantee.BOUNDED_MEMORY and seen.held > bounds.memory_bytes:
        found.append(f"the session held {seen.held >> 20} MiB more, of {bounds.memory_bytes >> 20} allowed")
    if attack.wins is Win.REMAINS:
        found += [f"{leftover} remains" for leftover in target.leftovers()]
    if attack.wins is Win.FLOODS and len(seen.text) > bounds.result_bytes:
        found.append(f"{len(seen.text)} characters arrived, of {bounds.result_bytes} allowed")
    return found


def _claimed(attack: Attack, seen: _Seen, *, layered: bool) -> list[str]:
    """What the attack says that it got, where its word counts."""
    if attack.wins is Win.PRINTS or (attack.wins is Win.REFLECTS and layered):
        return [f"cell {claim.cell} said {claim.text}" for claim in seen.claims]
    return []


def _defeat(attack: Attack, seen: _Seen, report: EnforcementReport) -> tuple[Wall | None, str]:
    """The wall that stopped it, told from how it ended, and that end in one line."""
    if isinstance(seen.failure, ProtocolViolation):
        return Wall.SEPARATE_PROCESS, str(seen.failure)[:200]
    if seen.failure is not None:
        return None, str(seen.failure)[:200]
    error = seen.error
    if error is None:
        return None, "it ran to its end"
    evidence = str(error).strip().splitlines()[-1][:200] if str(error).strip() else type(error).__name__
    match error:
        case CellRefused():
            return Wall.LANGUAGE, f"{error.rule}: {evidence}" if error.rule else evidence
        case WallViolation() | CellCrashed() | CellTimeout() | CellMemoryLimit():
            return (Wall(error.wall) if error.wall else None), evidence
    if number := _ERRNO.search(str(error)):
        return _wall_of(int(number[1]), attack, report), evidence
    return (Wall.LANGUAGE if report[Wall.LANGUAGE].enforced else None), evidence


def _wall_of(number: int, attack: Attack, report: EnforcementReport) -> Wall | None:
    """The wall that answers a system call with this errno, the innermost one that stands."""
    privileged = (Wall.NO_CAPABILITIES,) if attack.excuse is Excuse.ROOT else ()
    candidates: Mapping[int, tuple[Wall, ...]] = {
        1: (Wall.SECCOMP, *privileged, Wall.LANDLOCK, Wall.NO_CAPABILITIES),  # EPERM
        2: (Wall.EMPTY_ROOT,),  # ENOENT
        3: (Wall.PID_NAMESPACE,),  # ESRCH
        9: (Wall.NO_INHERITED_FDS,),  # EBADF
        11: (Wall.RLIMITS,),  # EAGAIN
        12: (Wall.RLIMITS,),  # ENOMEM
        13: (Wall.LANDLOCK, Wall.MDWE),  # EACCES
        20: (Wall.EMPTY_ROOT,),  # ENOTDIR
        24: (Wall.RLIMITS,),  # EMFILE
        30: (Wall.EMPTY_ROOT,),  # EROFS
        38: (Wall.SECCOMP,),  # ENOSYS
        101: (Wall.NETWORK_NAMESPACE,),  # ENETUNREACH
        111: (Wall.NETWORK_NAMESPACE,),  # ECONNREFUSED
    }
    return next((wall for wall in candidates.get(number, ()) if report[wall].enforced), None)
