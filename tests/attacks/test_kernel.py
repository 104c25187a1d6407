"""Plain Python with ctypes, behind the walls of the kernel alone: nothing gets through."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rlm_secure.guarantees import Guarantee, Wall
from rlm_secure.testing import battery, corpus, judge, unscreened
from rlm_secure.testing.target import Target
from rlm_secure.testing.verdict import Reach, Result
from tests.attacks.conftest import ATTACKS, each, stands

RAW = tuple(attack for attack in ATTACKS if attack.layer is corpus.Layer.KERNEL)
ROOT = Path(__file__).parents[2]


@each(ATTACKS)
def test_the_attack_does_not_get_through(attack, without_language):
    outcome = without_language[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


def test_the_language_layer_was_off():
    with unscreened() as session:
        assert not session.report[Wall.LANGUAGE].enforced
        assert session.run("print(open, __import__)").error is None


def test_walls_are_named_for_nearly_every_raw_attack(without_language):
    outcomes = [without_language[attack.name] for attack in RAW]
    stopped = [outcome for outcome in outcomes if outcome.result is Result.STOPPED]
    assert len(stopped) > (0.8 if os.getuid() == 0 else 0.7) * len(outcomes)  # some need root to win without a wall
    assert all(outcome.wall is not None for outcome in stopped)


def test_every_forbidden_call_is_reported_as_a_violation(without_language):
    killed = [outcome for outcome in without_language.values() if outcome.wall is Wall.SECCOMP]
    assert len(killed) > 75


@pytest.mark.root
def test_the_same_as_nobody():
    """uid 65534 has no privileges to lose, and must be as well held as a host that runs as root."""
    done = subprocess.run(
        [ROOT / "tests" / "as_nobody.sh", "python", "-m", "tests.attacks.nobody"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.startswith("uid 65534, "), done.stdout


def test_a_secret_that_comes_out_is_a_win_whatever_else_happens():
    """The judge itself: a session that is told the secret, and repeats it, has lost."""
    attack = corpus.parse(
        "told",
        '"""Say it.\n\nguarantee: no-secrets\nlayer: both\nwins: outlasts\noutcome: harmless\n"""\n\nprint(TARGET["leak"])\n',
    )
    policy = judge.policy("strict")
    with Target() as target:
        facts = target.facts
        target.facts = lambda *arguments: {**facts(*arguments), "leak": target.secrets["file"]}  # type: ignore[method-assign]
        outcome = judge.attempt(attack, lambda: unscreened(policy=policy), target, policy)
    assert (outcome.result, outcome.reach, outcome.evidence) == (Result.WON, Reach.REACHED, "the file secret came out")


def test_an_unchecked_attack_is_not_passed():
    policy = judge.policy("strict")
    attack = next(attack for attack in RAW if attack.guarantee is Guarantee.NO_HOST_FILES)
    outcomes = battery.attempts([attack], lambda: unscreened(policy=policy), policy, {}, layered=False)
    assert outcomes[attack.name].result is Result.NOT_CHECKED


@pytest.mark.parametrize("text", ["x" * 5_000, "\xe9" * 5_000, "\u0100" * 5_000, "\U0001f600" * 5_000])
def test_a_shared_context_cannot_be_written_by_a_session_that_reads_it(text):
    """Sessions of one run share the pages of a context; one of them must not change what the others read."""
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
address = id(context) + 64
page = address & ~4095
for protection in (3, 2, 7):
    if libc.mprotect(ctypes.c_void_p(page + 4096), ctypes.c_size_t(4096), protection) == 0:
        ctypes.memset(page + 4096, 0x41, 100)
print("WON", context[-1500:][:10])
"""
    policy = judge.policy("strict")
    sessions = [unscreened(policy=policy) for _ in range(2)]
    try:
        from rlm_secure.environments.context import share
        from rlm_secure.policy import Gate

        shared = share(text, Gate(policy))
        for session in sessions:
            session._session.load_context("context", shared)
        sessions[0].run(code)
        seen = sessions[1].run("print(len(context), set(context) == {context[0]}, ord(context[0]))").stdout
        assert seen == f"{len(text)} True {ord(text[0])}\n"
    finally:
        for session in sessions:
            session.close()


def test_the_uid_of_a_session_is_not_root():
    with unscreened() as session:
        report = session.report[Wall.UNPRIVILEGED_UID]
    assert report.enforced
    assert (f"uid {os.getuid()}" in report.evidence) == (os.getuid() != 0)
