"""Attack an environment, in an arena.

attack.py runs the attacks inside the arena. Its output is decoded as untrusted: JSON, line by line, of limited length,
into the types of subject.py and nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.machinery
import importlib.util
import os
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rlm_secure.audit.subject import JOB, SUBJECT, EnvironmentSubject, Job, Progress, is_foreign
from rlm_secure.errors import RLMSecureError
from rlm_secure.registry import ENVIRONMENTS, PluginGroup, plugins
from rlm_secure.testing import arena as arenas
from rlm_secure.testing.arena import Arena, ArenaProcess
from rlm_secure.testing.corpus import Attack
from rlm_secure.testing.verdict import Result
from rlm_secure.untrusted_json import bound, loads

if TYPE_CHECKING:
    from rlm_secure.policy import Policy

_LINE_BYTES = 64 << 20
_MOST_LINES = 10_000
#: Time after the deadline for the last attack and the controls.
_MARGIN_SECONDS = 300.0
#: Timeout between two lines: longer than any attempt or control takes.
_SILENCE_SECONDS = 300.0
_LOOK_SECONDS = 0.1


class AttackFailed(RLMSecureError):
    """The attacking program ended without a valid result."""


def attack(
    name: str,
    policy: Policy,
    *,
    arena: Arena | None = None,
    quick: bool = False,
    only: frozenset[str] = frozenset(),
    own: tuple[Attack, ...] = (),
    deadline: float = 3_600.0,
    progress: Progress | None = None,
) -> EnvironmentSubject:
    """Attack the environment called `name` under `policy`, with limits so low that each attack ends soon.

    The attacks are the shipped ones and `own`, or those of them that `only` names. They run in a new arena as `arena`
    describes; in the current arena if this process is in one; on the machine itself after arena.waive(). Raises
    ArenaRefused if no arena can be built, ValueError for an unknown environment, AttackFailed if the attacking program
    gave no valid result; never because of what an attack does.
    """
    check(name, arena or Arena())
    job = Job(name, policy.model_dump_json(), quick, tuple(sorted(only)), own, deadline)
    if not arenas.waived():
        return _in_arena(job, arena or Arena(), progress)
    from rlm_secure.audit.attack import attack_here

    return attack_here(job, progress)


def check(name: str, arena: Arena) -> None:
    """Raise ValueError for an environment that does not exist, or that is not reachable from the arena."""
    module, colon, _ = name.partition(":")
    if name in ENVIRONMENTS:
        reach = ENVIRONMENTS[name].reach
        if arenas.outside() and reach and not (arena.shares or arena.network):
            raise ValueError(f"environment {name!r} is out of an arena's reach; add {reach}")
        return
    if not colon:
        others = plugins(PluginGroup.ENVIRONMENTS, ENVIRONMENTS)
        if name not in others:
            known = ", ".join((*ENVIRONMENTS, *others))
            raise ValueError(f"unknown environment {name[:80]!r}; known: {known}, or package.module:name")
        module = others[name].module
    spec = importlib.util.find_spec(module.partition(".")[0], None) or _spec_here(module.partition(".")[0])
    if spec is None:
        raise ValueError(f"environment {name[:80]!r} cannot be imported: there is no module {module[:80]!r} here")
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else ())]
    if hidden := arena.hides(places):
        folder = Path(hidden[0])
        raise ValueError(
            f"environment {name[:80]!r} lies where the arena hides everything; show it: "
            f"--share {folder.parent if spec.submodule_search_locations is None else folder}"
        )


def _spec_here(module: str) -> importlib.machinery.ModuleSpec | None:
    return importlib.machinery.PathFinder.find_spec(module, [str(Path.cwd())])


def _in_arena(job: Job, arena: Arena, progress: Progress | None) -> EnvironmentSubject:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as told:
        try:
            running = arena.judge("rlm_secure.audit.attack", writer)
        finally:
            os.close(writer)
        with running:
            assert running.process.stdin is not None
            running.process.stdin.write(JOB.dump_json(job))
            running.process.stdin.close()
            until = time.monotonic() + job.deadline + _MARGIN_SECONDS
            heard = [time.monotonic()]  # the time of the last line
            threading.Thread(target=_end_at, args=(running, until, heard), daemon=True).start()
            for _ in range(_MOST_LINES):
                line = told.readline(_LINE_BYTES)
                heard[0] = time.monotonic()
                if (subject := _heard(line, progress)) is not None:
                    return _checked(subject, job, running)
                if not line:
                    break
            raise AttackFailed(f"the attack on {job.name} ended without a result, or not in time")


def _end_at(running: ArenaProcess, until: float, heard: list[float]) -> None:
    """Kill the arena at `until`, or after a long silence; its reader then gets end of file.

    Silence is possible because an adapter may stop the judge.
    """
    while time.monotonic() < min(until, heard[0] + _SILENCE_SECONDS):
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(_LOOK_SECONDS)
            return
    running.process.kill()


def _checked(subject: EnvironmentSubject, job: Job, running: ArenaProcess) -> EnvironmentSubject:
    """The arena's result with our own name and arena. Raises AttackFailed if it does not match the job's attacks."""
    guarantees = {attack.name: attack.guarantee for attack in job.corpus()}
    told = Counter((probe.name, probe.screened) for probe in subject.probes)
    names, wanted = {name for name, _ in told}, set(guarantees)
    whole = not is_foreign(job.name) or job.quick or subject.trouble or names == wanted
    if not whole or not names <= wanted or max(told.values(), default=1) > 1:
        raise AttackFailed(f"the attacker of {job.name} tells of other attacks than those that it was to try")
    for probe in subject.probes:
        if probe.guarantee is not guarantees[probe.name] or (probe.result is Result.WON) is (probe.reach is None):
            raise AttackFailed(f"the attacker of {job.name} tells of {probe.name} what cannot be")
    return dataclasses.replace(subject, name=job.name, arena=str(running.about))


def _heard(line: bytes, progress: Progress | None) -> EnvironmentSubject | None:
    """Decode a line from the arena: progress or end of file (None), or the result.

    Raises ValueError for a refusal, AttackFailed for anything else.
    """
    kind, _, rest = line.partition(b" ")
    try:
        if kind == b"subject":
            bound(rest)
            return SUBJECT.validate_json(rest)
        told: Any = loads(rest) if rest else None
        if kind == b"step":
            done, total, name = told
            if progress:
                progress(min(int(done), _MOST_LINES), min(int(total), _MOST_LINES), str(name)[:200])
    except (ValidationError, ValueError, OverflowError, TypeError) as error:
        raise AttackFailed(f"the attacker said what cannot be read: {type(error).__name__}") from None
    if kind == b"refused":
        raise ValueError(str(told)[:1000])
    return None
