"""An audit can fail: environments without walls lose nearly every attack. Ours loses none. Broken ones are no wins.

Each audit here builds an arena of its own, as one from the command line does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rlm_secure.audit import COULD_NOT_RUN, FOUND, Report, audit, probes
from rlm_secure.audit.formats import html, junit, text
from rlm_secure.audit.formats import json as json_format
from rlm_secure.audit.rules import environments
from rlm_secure.audit.subject import EnvironmentSubject, Job, Probe
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import corpus
from rlm_secure.testing.arena import Arena, ArenaProcess
from rlm_secure.testing.arena.paths import Share
from rlm_secure.testing.corpus import Layer, Need, Win
from rlm_secure.testing.verdict import Reach, Result

pytestmark = [pytest.mark.attack, pytest.mark.timeout(300)]

_EACH = 2
#: Where the tests are, so that the arena sees them wherever this checkout lies.
ROOT = __file__.rpartition("/tests/")[0]
ARENA = Arena((Share(ROOT),))


def some(layer: Layer) -> frozenset[str]:
    """Two attacks of a layer on each guarantee, none that only waits."""
    taken: dict[Guarantee, list[str]] = {}
    for attack in corpus.load():
        wanted = attack.layer in (layer, Layer.BOTH) and not attack.excuse and not attack.needs - {Need.CTYPES}
        if wanted and attack.wins not in (Win.OUTLASTS, Win.REMAINS):
            taken.setdefault(attack.guarantee, []).append(attack.name)
    return frozenset(name for names in taken.values() for name in names[:_EACH])


KERNEL, LANGUAGE = some(Layer.KERNEL), some(Layer.LANGUAGE)


def audited(name: str, only: frozenset[str] = KERNEL | LANGUAGE) -> Report:
    return audit(environments=[name], only=only, arena=ARENA)


def test_plain_exec_loses_nearly_everything_and_says_so_once_for_each_guarantee() -> None:
    report = audited("examples.adapters.plain:open_session", KERNEL)
    (environment,) = report.environments
    assert report.code == FOUND
    assert environment.arena is not None and ROOT in environment.arena
    judged = len(environment.probes) - environment.count_not_checked()
    assert judged >= 20
    assert environment.count(Result.WON) >= 0.85 * judged
    assert environment.count_reach(Reach.REACHED) and environment.count_reach(Reach.SURFACE)
    found = Counter((each.rule, each.severity.value, each.weakens) for each in report.findings)
    assert {(rule, severity) for rule, severity, _ in found} == {
        ("attack-won", "critical"),
        ("attack-surface", "medium"),
    }
    assert set(found.values()) == {1}
    for rendered in (text.render(report).plain, json_format.render(report), html.render(report), junit.render(report)):
        assert "reached" in rendered.lower() or "failure" in rendered


def test_ours_loses_nothing() -> None:
    report = audited("local")
    (environment,) = report.environments
    assert [(each.rule, each.message) for each in report.findings] == []
    assert environment.count(Result.WON) == environment.count(Result.ERRORED) == 0
    assert {probe.screened for probe in environment.probes} == {True, False}
    assert environment.count(Result.STOPPED) > len(environment.probes) / 2
    value = json.loads(json_format.render(report))["environments"][0]
    assert len(value["probes"]) == len(environment.probes)
    assert "attacks held" in text.summary(report)


#: Two attacks that a session without state, files or network can hold.
TWO = frozenset({"builtin-open", "builtin-eval"})


@pytest.mark.parametrize("kind", ["Raises", "NeverStarts", "no_adapter"])
def test_an_adapter_that_fails_is_never_a_win_and_never_clean(kind: str) -> None:
    report = audited(f"tests.audit.weak:{kind}", TWO)
    (environment,) = report.environments
    assert environment.count(Result.WON) == 0
    assert report.code == COULD_NOT_RUN
    assert not environment.judged
    assert report.not_checked_count
    if kind == "NeverStarts":
        assert "there is no such sandbox" in environment.trouble
        assert "NeverStarts" in environment.trace or "__init__" in environment.trace


def test_an_adapter_that_fails_once_costs_one_attempt() -> None:
    report = audited("tests.audit.weak:RaisesOnce", TWO)
    (environment,) = report.environments
    assert Counter(probe.result for probe in environment.probes) == {Result.ERRORED: 1, Result.CONTAINED: 1}
    assert "only this once" in "".join(probe.evidence for probe in environment.probes)


def test_a_host_that_dies_has_lost_and_the_battery_goes_on() -> None:
    report = audited("tests.audit.weak:Dies", TWO)
    (environment,) = report.environments
    assert [probe.result for probe in environment.probes] == [Result.ERRORED] * 2  # before the attack itself began
    assert "SIGABRT" in environment.probes[0].evidence
    assert report.code == COULD_NOT_RUN


@pytest.mark.parametrize("name", ["nowhere-at-all", "no.such.module:open"])
def test_an_unknown_environment_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="environment"):
        audited(name)


def test_a_name_that_the_module_has_not_is_said() -> None:
    report = audited("tests.audit.weak:nothing", TWO)
    assert report.code == COULD_NOT_RUN
    assert "nothing" in report.environments[0].trouble


@pytest.mark.parametrize("name", ["docker", "e2b"])
def test_what_an_environment_needs_from_outside_is_said(name: str) -> None:
    with pytest.raises(ValueError, match="out of an arena's reach; add --share"):
        audit(environments=[name], only=TWO)


PLAIN = ("audit", "--env", "examples.adapters.plain:open_session", "--share", ROOT)


def command(*arguments: str, wrapped: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    whole = [*wrapped, sys.executable, "-m", "rlm_secure", *arguments]
    return subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.root
def test_where_namespaces_are_refused_nothing_is_attacked() -> None:
    """The incident: as root, on an adapter that is a bare exec. Without an arena there is no attack at all."""
    before = manifest()
    done = command(*PLAIN, wrapped=("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"))
    assert done.returncode == COULD_NOT_RUN
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "no arena can be built here, so nothing was attacked" in done.stderr
    assert manifest() == before


@pytest.mark.root
def test_root_must_say_that_a_machine_is_disposable() -> None:
    done = command(*PLAIN, "--no-arena")
    assert done.returncode == COULD_NOT_RUN
    assert "--this-machine-is-disposable" in done.stderr


def test_a_machine_that_is_said_to_be_disposable_only_counts_with_no_arena() -> None:
    done = command("audit", "--this-machine-is-disposable", "strict")
    assert done.returncode == COULD_NOT_RUN
    assert "--no-arena" in done.stderr


def test_attacks_without_an_arena_are_a_finding() -> None:
    subject = EnvironmentSubject("local", None, (), (), (), 0, 1.0, arena=None)
    (finding,) = environments.NoArena().check(subject)
    assert (finding.rule, finding.severity.value) == ("no-arena", "medium")
    assert not list(environments.NoArena().check(dataclasses.replace(subject, arena="nothing is shared with it")))


@pytest.mark.root
def test_an_audit_as_root_leaves_the_machine_as_it_was() -> None:
    """Plain exec under the attacks that mount, remove and rename where they can: nothing outside has changed."""
    chosen = {attack.name for attack in corpus.load() if attack.guarantee is Guarantee.NO_HOST_FILES}
    before = manifest()
    report = audited("examples.adapters.plain:open_session", frozenset(chosen))
    assert report.environments[0].count(Result.WON) > 40
    assert manifest() == before


def manifest() -> dict[str, object]:
    """What an attack that got out would have changed: the mounts, the names, and the files that it would find first."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found: dict[str, object] = {
        "mounts": [line for line in mounts if "/docker" not in line],  # an engine may be at work for other tests
        "name": os.uname().nodename,
        "swaps": Path("/proc/swaps").read_text(),
    }
    for place in ("/", "/etc", "/boot", "/root", "/home", "/srv", "/opt", "/usr/local/bin", "/var/spool"):
        for path in sorted(Path(place).iterdir()) if Path(place).is_dir() else ():
            if path.name.startswith("rlm-secure-test-"):
                continue  # tests of the arena make such ones, at the same time (tests/arena/scene.py)
            about = path.lstat()
            # The root's own entries include directories in which other tests are at work.
            changes = () if path.is_dir() else (about.st_mtime_ns, about.st_size)
            found[str(path)] = (about.st_mode, about.st_uid, about.st_gid, *changes)
    return found


@pytest.mark.parametrize("asked", [False, True])
def test_the_traceback_of_an_adapter_is_shown_on_request(asked: bool) -> None:
    name = ("--env", "tests.audit.weak:NeverStarts", "--share", ROOT)
    done = command("audit", *name, "--quick", *(["--traceback"] if asked else []))
    assert done.returncode == COULD_NOT_RUN
    assert "could not be judged" in done.stderr and "there is no such sandbox" in done.stderr
    assert ("Traceback (most recent call last)" in done.stderr) == asked
    assert ("--traceback shows where" in done.stderr) != asked


class Forger:
    """What a hostile adapter's module might say on the descriptor of the results, in place of the attacker."""

    about = "nothing of the host is shared with it"


@pytest.mark.parametrize(
    "line",
    [
        b'step [1e999, 1, "x"]',
        b'step [1, 2, "x", 4]',
        b"step " + b"9" * 5000,
        b"step {",
        b"step " + b"[" * 100_000,
        b"subject {}",
        b"subject " + b'{"name": 7}',
    ],
)
def test_what_the_arena_says_is_decoded_or_refused(line: bytes) -> None:
    with pytest.raises(probes.AttackFailed, match="cannot be read"):
        probes._heard(line, lambda *_: None)


def test_the_name_and_the_arena_are_what_the_command_knows() -> None:
    found = probes._checked(TOLD, ASKED, Forger())  # type: ignore[arg-type]
    assert (found.name, found.arena) == (ASKED.name, Forger.about)


ASKED = Job("tests.audit.weak:Dies", "{}", only=("builtin-open",))
GUARANTEE = next(attack.guarantee for attack in corpus.load() if attack.name == "builtin-open")
PROBE = Probe("builtin-open", "", GUARANTEE, False, Result.STOPPED, None, "", 0.0)
TOLD = EnvironmentSubject("local", None, (), (PROBE,), (), 0, 1.0, arena="nothing at all")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((dataclasses.replace(PROBE, name="no-such-attack"),), "other attacks"),
        ((PROBE, dataclasses.replace(PROBE, name="execve-of-a-shell", guarantee=Guarantee.NO_EXEC)), "other attacks"),
        ((PROBE, PROBE), "other attacks"),
        ((), "other attacks"),
        ((dataclasses.replace(PROBE, guarantee=Guarantee.NO_EXEC),), "what cannot be"),
        ((dataclasses.replace(PROBE, result=Result.WON),), "what cannot be"),
        ((dataclasses.replace(PROBE, reach=Reach.SURFACE),), "what cannot be"),
    ],
)
def test_what_the_attacker_tells_is_held_against_what_it_was_asked(told: tuple[Probe, ...], said: str) -> None:
    with pytest.raises(probes.AttackFailed, match=said):
        probes._checked(dataclasses.replace(TOLD, probes=told), ASKED, Forger())  # type: ignore[arg-type]


def test_a_judge_that_was_stopped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_SILENCE_SECONDS", 1.0)
    monkeypatch.setattr(Arena, "judge", silent)
    with pytest.raises(probes.AttackFailed, match="not in time"):
        audited("tests.audit.weak:Dies", TWO)


def silent(arena: Arena, module: str, told: int) -> ArenaProcess:
    """A judge that was stopped: it says nothing, and does not end."""
    return arena.start(["sleep", "60"], stdin=subprocess.PIPE, descriptors=(told,))


def test_a_guarantee_on_which_all_attempts_failed_is_not_clean() -> None:
    """An adapter that runs only what it likes to run has not held the rest."""
    report = audited("tests.audit.weak:Picks", LANGUAGE | {"builtin-open"})
    (environment,) = report.environments
    results = Counter(probe.result for probe in environment.probes)
    assert results[Result.CONTAINED] and results[Result.ERRORED] and not results[Result.WON]
    assert report.code == COULD_NOT_RUN and not environment.judged
    assert environment.unproved and environment.unproved[0].value in environment.reason
    assert "not this one" in environment.reason


#: What judges in an arena without standing above what it judges.
_BESIDE = """
from rlm_secure.audit.attack import attack_here
from rlm_secure.audit.subject import Job
from rlm_secure.policy import load_policy
print(attack_here(Job("tests.audit.weak:Thief", load_policy("strict").model_dump_json(), quick=True, deadline=60)).trouble)
"""
_WAYS = {"memory", "descriptors", "copies", "files", "environment", "namespace", "signals", "pace", "steps", "mounts"}


def test_an_adapter_has_no_right_over_its_judge() -> None:
    """It cannot write its own verdicts. Beside its judge, as root in the same arena, it takes all that there is."""
    taken = "took nothing of" if os.getuid() == 0 else "took signals pace of"  # the same user, where none is root
    assert f"{taken} the judge" in audited("tests.audit.weak:Thief").environments[0].trouble
    with ARENA.start([sys.executable, "-c", _BESIDE], stdout=subprocess.PIPE) as beside:
        said = beside.process.communicate(timeout=120)[0].decode()
    found = set(said.partition(" took ")[2].partition(" of the judge")[0].split())
    assert found >= (_WAYS if os.getuid() == 0 else _WAYS - {"namespace", "mounts"}), said


def test_an_arena_that_is_late_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_MARGIN_SECONDS", 0.0)
    with pytest.raises(probes.AttackFailed, match="not in time"):
        audit(environments=["local"], only=TWO, deadline=0.3)


def test_a_file_beside_the_adapter_is_nobody_elses_module(tmp_path: Path) -> None:
    """Neither the command nor the judge imports it; the adapter's own process may."""
    folder = tmp_path / "project"
    folder.mkdir()
    for parent in (tmp_path, folder):
        parent.chmod(0o755)
    (folder / "adapter.py").write_text(
        "from rlm_secure.testing import Adapter, Said\n"
        "class Mine(Adapter):\n"
        "    def run(self, code, timeout):\n"
        "        return Said('HAS True' if '6 * 7' in code else '')\n"
    )
    for name in ("psutil", "queue", "secrets", "rlm_secure_judge"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\nraise SystemExit(9)\n")
    done = subprocess.run(
        [sys.executable, "-m", "rlm_secure", "audit", "--env", "adapter:Mine", "--quick", "--share", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not (tmp_path / "imported").exists()
    assert "attacks held" in done.stdout, done.stderr


def test_a_line_break_of_an_adapter_starts_no_line_of_the_report() -> None:
    said = text.one_line("x\n::stop-commands::y\r::add-mask::z")
    assert said == "x\\n::stop-commands::y\\r::add-mask::z"
