"""Run one attack against one session, and judge the result from outside: a Verdict.

`attempt` trusts nothing that a session reports about itself: it searches all output for secrets, and checks files,
mounts, listeners, processes, time and memory on the host. What an attack merely claims, by a line that starts with
WON, counts too, but separately: Reach.SURFACE, because nothing outside confirms it.

Guards: verdicts that rest on what the host saw
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping

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
from rlm_secure.testing.session import FOREIGN, Habits, HostDied, HostLate, Restarting, Session, SessionFailed
from rlm_secure.testing.target import Bounds, Target, prelude_cell
from rlm_secure.testing.verdict import Reach, Result, Verdict, errored
from rlm_secure.testing.watch import Seen, still_computes, watch, watched_threads
from rlm_secure.testing.yardstick import Stopwatch

#: Lower than any shipped policy, so that attacks on limits end soon.
BOUNDS = Bounds()
#: A worker begins with what third-party packages hold: 172 MiB with numpy, pandas and matplotlib, by RLIMIT_DATA.
_PACKAGES_BYTES = 224 << 20
#: After some sessions their zygote is started anew, and imports the packages again: no harm of an attack.
_LOADING_SECONDS = 5.0
#: How many times to try to run the cell that binds TARGET.
_TELLINGS = 3
#: How much later than its own deadline a host may answer, in seconds that the machine gave (yardstick.py). For a cell
#: in a remote sandbox that deadline is later: its host gives the supervisor KILL_SECONDS before it ends the sandbox
#: itself (environments/remote/worker.py).
_SLACK_SECONDS = 1.5
_SIGNAL_SECONDS = 0.1
#: If the host's memory grows by more than this during one attack under these limits, the attack wins.
_BLOAT_BYTES = 64 << 20
#: At most this many attacks that only wait run in parallel (battery.py). The memory growth that each one sees in the
#: host includes that of all of them and of the sandboxes opened for them meanwhile.
SIDE_BY_SIDE = 4
#: Guarantees whose attacks aim at what sessions share: the zygote, the pool, the host's locks.
_SHARED = frozenset({Guarantee.SESSION_ISOLATION, Guarantee.AUTHENTIC_CHANNEL, Guarantee.HOST_INTEGRITY})
#: Attacks on time limits or on the host itself: only for them a foreign session that does not answer is a win.
_ON_TIME = frozenset({Win.OUTLASTS, Win.BREAKS})
_USUAL_TIMES = 3
#: A foreign sandbox may print 42 with decoration around it; ours prints exactly 42 and a newline.
_ANSWER = re.compile(r"(?<!\d)42(?!\d)")
#: A foreign sandbox may exceed its output limit by this factor with text of its own: prompts, errors, truncation notes.
_WORDS = 4
#: A sandbox that counts objects omits the allocator's overhead. Attacks on memory try to get twice their limit.
_OVERHEAD = 1.25
_ERRNO = re.compile(r"\[Errno (\d+)\]")


def policy(base: Policy | str = "strict") -> Policy:
    """`base` with limits so low that attacks on limits end soon. Never looser than `base`."""
    loaded = load_policy(base)
    packages = _PACKAGES_BYTES if loaded.language.packages else 0
    bounds = {
        "cell_seconds": BOUNDS.seconds,
        "cell_cpu_seconds": BOUNDS.seconds,
        "grace_seconds": BOUNDS.grace,
        "memory_bytes": BOUNDS.memory_bytes + packages,
        "stdout_bytes": BOUNDS.stdout_bytes,
        "result_bytes": BOUNDS.result_bytes,
    }
    tighter = {key: min(bound, getattr(loaded.limits, key)) for key, bound in bounds.items()}
    limits = loaded.limits.model_copy(update=tighter)
    lm = loaded.lm.model_copy(update={"calls": min(BOUNDS.calls, loaded.lm.calls)})
    return loaded.model_copy(update={"limits": limits, "lm": lm})


def bounds_of(policy: Policy) -> Bounds:
    """The limits that an attack on a session under `policy` has to exceed."""
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

    `checked` says whether the attack's control won on this machine; `afterwards=False` skips the check that other
    sessions still work. `layered=False` means that the session has no language layer, as when the kernel's walls are
    tested alone: a REFLECTS attack's claim is then no win. One win is enough: nothing is retried. Raises what
    `open_session` raises, except failures of this attempt alone, which give an ERRORED verdict.
    """
    target.reset()
    try:
        opening = Stopwatch()
        session = _opened(attack, open_session, target)
    except (SessionFailed, HostDied, HostLate) as error:
        return errored(attack, f"no session was opened: {error}")
    bounds, report = bounds_of(policy), session.report
    habits = open_session.habits if isinstance(open_session, Restarting) else Habits()
    slack = _SLACK_SECONDS + habits.cell + (0 if report.environment in ("local", FOREIGN) else KILL_SECONDS)
    host = getattr(session, "host", None)
    covered = target.mounted(host)  # a sandbox may mount something over paths to hide them
    try:
        facts = target.facts("".join(attack.cells), bounds, host)
        _tell(session, prelude_cell(facts) + _prelude(attack, report))
        usual = max(opening.given, habits.start, _LOADING_SECONDS if policy.language.packages else 0.0)
        with watched_threads():
            seen = watch(session, attack, bounds.seconds + bounds.grace + slack)
        stuck = f"the host had no answer after {seen.seconds:.1f} s" if seen.overdue else ""
        if not stuck and attack.wins is Win.OUTLASTS and still_computes(session):
            stuck = "it goes on computing after the session said that it had ended"
        if afterwards and not stuck and not _host_is_gone(seen) and attack.guarantee in _SHARED and habits.beside:
            stuck = _neighbours(open_session, usual, habits.beside)
    except (SessionFailed, HostDied, HostLate, CellError) as error:
        return errored(attack, f"it could not be told its target: {error}")
    finally:
        session.close()
    failed = _failed(attack, seen, report)
    mounts = [path for path in target.mounted(host) if path not in covered]
    reached = _reached(attack, target, seen, bounds, report, mounts, failed=bool(failed))
    claimed = _claimed(attack, seen, layered=layered)
    if afterwards and not (failed or reached or claimed or stuck):
        stuck = _neighbours(open_session, usual, 1)
    if isinstance(open_session, Restarting):
        open_session.end()  # after this the attack can change nothing more, so look at the target again
        reached += [each for each in _seen_at(target) if each not in reached]
    if failed and not reached and not claimed:
        return errored(attack, failed)
    if stuck and not failed:
        reached.append(stuck)
    return _verdict(attack, seen, report, reached, claimed, checked=checked)


def _tell(session: Session, cell: str) -> None:
    """Run the cell that binds TARGET. Retrying is safe: the attack has not started, and a busy machine may time out."""
    for _ in range(_TELLINGS - 1):
        with contextlib.suppress(CellTimeout):
            session.run(cell).check()
            return
    session.run(cell).check()


def _opened(attack: Attack, open_session: Callable[[], Session], target: Target) -> Session:
    if isinstance(open_session, Restarting):
        open_session.begin()
    if attack.wins is Win.REMAINS:
        first = open_session()  # processes that any first session or cell starts and keeps are not the attack's
        first.run("print(6 * 7)")
        first.close()
        target.count_processes()
    return open_session()


def _verdict(
    attack: Attack, seen: Seen, report: EnforcementReport, reached: list[str], claimed: list[str], *, checked: bool
) -> Verdict:
    """WON if anything was reached or claimed; else what stopped the attack, or NOT_CHECKED if its control lost."""
    if reached or claimed:
        reach = Reach.REACHED if reached else Reach.SURFACE
        evidence = "; ".join(reached + claimed)[:300]
        return Verdict(attack.name, attack.guarantee, Result.WON, None, evidence, seen.seconds, reach)
    wall, evidence = _defeat(attack, seen, report)
    result = Result.CONTAINED if wall is None or isinstance(seen.error, CellCrashed) else Result.STOPPED
    if not checked:
        result, evidence = Result.NOT_CHECKED, f"its control does not win on this machine; here: {evidence}"
    return Verdict(attack.name, attack.guarantee, result, wall, evidence, seen.seconds)


def _host_is_gone(seen: Seen) -> bool:
    return isinstance(seen.failure, HostDied | HostLate)


def _failed(attack: Attack, seen: Seen, report: EnforcementReport) -> str:
    """Why an attempt on a foreign session proves nothing; "" if it proves something."""
    if isinstance(seen.failure, SessionFailed):
        return str(seen.failure)
    late = seen.overdue or isinstance(seen.failure, HostLate)
    if late and report.environment == FOREIGN and attack.wins not in _ON_TIME:
        return f"{seen.failure or 'no answer in time'}; this attack is not after time"
    return ""


def _prelude(attack: Attack, report: EnforcementReport) -> str:
    """The first lines of attacks on the kernel's walls: imports, and helpers for those that make system calls."""
    if attack.layer is not Layer.KERNEL or report[Wall.LANGUAGE].enforced:
        return ""
    if Need.CTYPES not in attack.needs:
        return "import errno\nimport os\n"
    return (sandboxes_dir() / "attacks" / "_prelude.py").read_text(encoding="utf-8")


def _neighbours(open_session: Callable[[], Session], usual: float, count: int) -> str:
    """Open `count` sessions at the same time and use them; return what went wrong, or "".

    `usual` is how long one took before the attack, in seconds that the machine gave: a container starts slowly.
    """
    try:
        return _start(open_session, usual, count)
    except SessionFailed:  # an adapter may fail once by itself
        pass
    try:
        return _start(open_session, usual, 1)
    except SessionFailed as error:
        return f"no fresh session starts any more: {error}"


def _start(open_session: Callable[[], Session], usual: float, count: int) -> str:
    watch = Stopwatch()
    sessions: list[Session] = []
    try:
        for _ in range(count):
            sessions.append(open_session())
            said = sessions[-1].run("print(6 * 7)").stdout
            foreign = sessions[-1].report.environment == FOREIGN
            if not (_ANSWER.search(said) if foreign else said == "42\n"):
                return "a fresh session does not compute any more"
        late = watch.given > count * (_SLACK_SECONDS + _USUAL_TIMES * usual)
        return f"fresh sessions took {watch.passed:.1f} s to start, one before it {usual:.1f} s" if late else ""
    except SessionFailed:
        raise
    except (RLMSecureError, HostDied, HostLate) as error:
        return f"no fresh session starts any more: {error}"
    finally:
        for session in sessions:
            session.close()


def _seen_at(target: Target, patience: float = 0.0) -> list[str]:
    """What an attack did to the target, whatever its aim; waits up to `patience` seconds for a signal."""
    found = [f"the {name} listener was reached" for name in target.heard()]
    found += ["the network was changed: no listener is reached any more"] if target.deaf() else []
    found += [f"{path} was changed" for path in target.damage()]
    return found + (["the bystander was signalled"] if target.signalled(patience) else [])


def _reached(
    attack: Attack,
    target: Target,
    seen: Seen,
    bounds: Bounds,
    report: EnforcementReport,
    mounts: Iterable[str],
    *,
    failed: bool,
) -> list[str]:
    """What the attack did, as observed from outside. Most of it counts whatever the aim of the attack.

    `mounts` are the new mounts on the target. The end of a session that `failed` by itself does not count.
    """
    said = seen.text + (str(seen.failure) if seen.failure else "")
    found = [f"the {place} secret came out" for place in target.leaked(said)]
    found += [f"something was mounted on {path}" for path in mounts]
    found += _seen_at(target, _SIGNAL_SECONDS if attack.wins is Win.SIGNALS else 0.0)
    if isinstance(seen.failure, HostDied | HostLate):
        found += [] if failed else [str(seen.failure)]
    elif seen.failure is not None and not isinstance(seen.failure, RLMSecureError):
        found.append(f"the host raised {type(seen.failure).__name__}: {seen.failure}")
    found += [f"a thread of the host died of {death}" for death in seen.dead_threads]
    if seen.bloat > _BLOAT_BYTES * (SIDE_BY_SIDE if attack.wins is Win.OUTLASTS else 1):
        found.append(f"the host grew by {seen.bloat >> 20} MiB")
    if attack.guarantee is Guarantee.BOUNDED_MEMORY and seen.held > bounds.memory_bytes * _OVERHEAD:
        found.append(f"the session held {seen.held >> 20} MiB more, of {bounds.memory_bytes >> 20} allowed")
    if attack.wins is Win.REMAINS:
        found += [f"{leftover} remains" for leftover in target.leftovers(replaced=report.environment == FOREIGN)]
    allowed = bounds.result_bytes if report.environment != FOREIGN else _WORDS * bounds.stdout_bytes
    if attack.wins is Win.FLOODS and len(seen.text) > allowed:
        found.append(f"{len(seen.text)} characters arrived, of {allowed} allowed")
    return found


def _claimed(attack: Attack, seen: Seen, *, layered: bool) -> list[str]:
    """What the attack claims in its WON lines, if claims count for it."""
    if attack.wins is Win.PRINTS or (attack.wins is Win.REFLECTS and layered):
        return [f"cell {claim.cell} said {claim.text}" for claim in seen.claims]
    return []


def _defeat(attack: Attack, seen: Seen, report: EnforcementReport) -> tuple[Wall | None, str]:
    """The wall that stopped the attack, derived from how it ended, and that end in one line."""
    if isinstance(seen.failure, ProtocolViolation):
        return Wall.SEPARATE_PROCESS, str(seen.failure)[:200]
    if seen.failure is not None:
        return None, str(seen.failure)[:200]
    error = seen.error
    if error is None:
        return None, "it ran to its end, and reached nothing"
    evidence = str(error).strip().splitlines()[-1][:200] if str(error).strip() else type(error).__name__
    match error:
        case CellRefused():
            named = not error.rule or evidence.startswith(f"{error.rule}: ")
            return Wall.LANGUAGE, evidence if named else f"{error.rule}: {evidence}"
        case WallViolation() | CellCrashed() | CellTimeout() | CellMemoryLimit():
            return (Wall(error.wall) if error.wall else None), evidence
    if number := _ERRNO.search(str(error)):
        return _wall_of(int(number[1]), attack, report), evidence
    return (Wall.LANGUAGE if report[Wall.LANGUAGE].enforced else None), evidence


def _wall_of(number: int, attack: Attack, report: EnforcementReport) -> Wall | None:
    """The wall that answers a system call with this errno: the first candidate that is in force."""
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
