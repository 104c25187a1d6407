"""One attack after the other in an arena that stays, asked for from outside."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

import psutil
import pytest

from rlm_secure import RLMSecureError
from rlm_secure.testing import arena, corpus, judge
from rlm_secure.testing.arena import Arena
from rlm_secure.testing.arena.attempts import Attempts
from rlm_secure.testing.arena.paths import Share
from rlm_secure.testing.verdict import Reach, Result

pytestmark = [pytest.mark.attack, pytest.mark.timeout(300)]

ROOT = __file__.rpartition("/tests/")[0]
POLICY = judge.policy("strict")
CORPUS = {attack.name: attack for attack in corpus.load()}
PLAIN = "examples.adapters.plain:Plain"


@pytest.fixture(scope="module")
def attempts():
    with Attempts(Arena((Share(ROOT),))) as made:
        yield made


def judge_of(attempts):
    """The process that judges, seen from here: under the arena's two of its own."""
    assert attempts._running is not None
    (judging,) = psutil.Process(attempts._running.process.pid).children()[0].children()
    return judging


def gone(process):
    """Whether it has ended, or does in a moment: the kernel ends a namespace after its first process."""
    _, left = psutil.wait_procs([process], timeout=5)
    return not left or process.status() == psutil.STATUS_ZOMBIE  # of an orphan for which nobody waits


def line_of(process):
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


def test_ours_holds_and_plain_python_does_not(attempts):
    """And nothing of either is left."""
    verdict = attempts.attempt(CORPUS["builtin-open"], "local", POLICY)
    assert (verdict.name, verdict.result, verdict.wall, verdict.reach) == ("builtin-open", "stopped", "language", None)
    for _ in range(2):
        verdict = attempts.attempt(CORPUS["builtin-open"], PLAIN, POLICY)
        assert (verdict.result, verdict.reach) == (Result.WON, Reach.REACHED)
    # A pool of ours may stay; what holds sessions of others does not.
    left = [child for child in judge_of(attempts).children(recursive=True) if "rlm_secure.testing.host" in line_of(child)]
    assert left == []


def test_limits_are_those_of_each_request(attempts):
    """What a session is told of its limits is of its own policy, whatever an earlier one had."""
    flood = next(attack for attack in CORPUS.values() if attack.wins is corpus.Win.OUTLASTS and not attack.needs)
    long = POLICY.model_copy(update={"limits": POLICY.limits.model_copy(update={"cell_seconds": 4.0})})
    short = attempts.attempt(flood, PLAIN, POLICY).seconds
    assert attempts.attempt(flood, PLAIN, long).seconds > short + 0.8


def test_kernel_attacks_are_run_without_the_language_layer(attempts):
    attack = next(each for each in CORPUS.values() if each.layer is corpus.Layer.KERNEL and not each.excuse)
    verdict = attempts.attempt(attack, "local", POLICY)
    assert verdict.held and verdict.wall != "language"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "unknown environment 'nowhere'"),
        ("no.such:thing", "no.such:thing cannot be imported: ModuleNotFoundError"),
        ("examples.adapters.plain:nothing", "cannot be imported: AttributeError"),
    ],
)
def test_a_name_that_means_nothing_is_said_in_a_sentence(attempts, name, said):
    before = judge_of(attempts).pid if attempts._running else None
    with pytest.raises(RLMSecureError, match=said) as refused:
        attempts.attempt(CORPUS["builtin-open"], name, POLICY)
    assert "\n" not in str(refused.value)
    assert before in (None, judge_of(attempts).pid), "the same judge goes on"


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_judge_that_dies_is_an_error_and_the_next_attempt_has_a_new_one(attempts, when):
    attack = CORPUS["builtin-open"]
    assert attempts.attempt(attack, "local", POLICY).held
    first = judge_of(attempts)
    if when == "before":
        first.kill()
        attempts._running.process.wait(10)
    unknown = replace(attack, layer="no such layer")  # which a judge cannot read
    with pytest.raises(RLMSecureError, match="the judge of .* did not survive"):
        attempts.attempt(attack if when == "before" else unknown, "local", POLICY)
    assert gone(first)
    assert attempts.attempt(attack, "local", POLICY).held
    assert judge_of(attempts) != first


def test_closing_ends_the_arena_and_is_idempotent():
    attempts = Attempts(Arena((Share(ROOT),)))
    attempts.close()
    before = os.listdir("/proc/self/fd")
    attempts.attempt(CORPUS["builtin-open"], "local", POLICY)
    judging = judge_of(attempts)
    attempts.close()
    attempts.close()
    assert gone(judging)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_an_arena_that_cannot_be_built_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(arena, "_BUILD", "/no/such/program")
    with Attempts() as attempts, pytest.raises(arena.ArenaRefused):
        attempts.attempt(CORPUS["builtin-open"], "local", POLICY)


def test_what_an_adapter_says_drives_no_terminal(attempts):
    with pytest.raises(RLMSecureError) as refused:
        attempts.attempt(CORPUS["builtin-open"], "tests.audit.weak:Paints", POLICY)
    assert "\\x1b]0;mine" in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_judge_that_was_stopped_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("rlm_secure.testing.arena.attempts._SECONDS", 1.0)
    monkeypatch.setattr(Arena, "judge", silent)
    with Attempts(Arena((Share(ROOT),))) as attempts:
        with pytest.raises(RLMSecureError, match="did not survive: TimeoutError"):
            attempts.attempt(CORPUS["builtin-open"], "local", POLICY)
        assert attempts._running is None


def test_a_judge_that_was_stopped_is_not_waited_for_while_it_is_asked(monkeypatch):
    """A request carries its attack, which is larger than what a pipe holds."""
    monkeypatch.setattr("rlm_secure.testing.arena.attempts._SECONDS", 1.0)
    monkeypatch.setattr(Arena, "judge", silent)
    large = replace(CORPUS["builtin-open"], cells=("#" * 200_000,))
    with Attempts(Arena((Share(ROOT),))) as attempts:
        with pytest.raises(RLMSecureError, match="did not survive: TimeoutError"):
            attempts.attempt(large, "local", POLICY)
        assert attempts._running is None


def test_a_large_attack_arrives_whole(attempts):
    attack = CORPUS["builtin-open"]
    large = replace(attack, cells=(*attack.cells, "#" * 200_000))
    assert attempts.attempt(large, "local", POLICY).held


def silent(given, module, told):
    """A judge that was stopped: it says nothing, and does not end."""
    return given.start(["sleep", "60"], stdin=subprocess.PIPE, descriptors=(told,))


def test_an_adapter_has_no_right_over_the_judge_that_stays(attempts):
    """As in an audit, whose test shows what it takes beside its judge (tests/audit/test_environments.py)."""
    taken = "took nothing of" if os.getuid() == 0 else "took signals pace of"
    with pytest.raises(RLMSecureError, match=f"{taken} the judge"):
        attempts.attempt(CORPUS["builtin-open"], "tests.audit.weak:Thief", POLICY)
