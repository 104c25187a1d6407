"""Attacks that need no ctypes, in the sandbox as a user gets it."""

from __future__ import annotations

import pytest

from rlm_secure import Sandbox
from rlm_secure.guarantees import Guarantee, Wall
from rlm_secure.testing import corpus, judge, watch
from tests.attacks.conftest import ATTACKS, each, stands

CELLS = corpus.for_layer(ATTACKS, screened=True)
LANGUAGE = tuple(attack for attack in CELLS if attack.layer is corpus.Layer.LANGUAGE)


@each(CELLS)
def test_the_attack_does_not_get_through(attack, with_language):
    outcome = with_language[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


@each(LANGUAGE)
def test_the_attack_does_not_get_through_where_most_modules_are_offered(attack, with_most_modules):
    outcome = with_most_modules[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


def test_the_language_layer_itself_stops_attacks_on_reflection(with_language):
    outcomes = [outcome for outcome in with_language.values() if outcome.guarantee is Guarantee.NO_REFLECTION]
    stopped = [outcome for outcome in outcomes if outcome.wall is Wall.LANGUAGE]
    assert len(outcomes) > 100
    assert len(stopped) > 0.95 * len(outcomes)


@pytest.mark.parametrize("policy", ["strict", "standard", "research"])
def test_sessions_do_not_share_their_random_numbers(policy):
    """All sessions are forks of one process: without a seed of their own they would all draw the same."""
    code = "import statistics\nprint(statistics.NormalDist().samples(2))"  # from the standard library's own generator
    if policy != "strict":
        code += "\nimport random\nprint(random.random(), random.getrandbits(64))"
    drawn = set()
    for _ in range(4):
        with Sandbox(policy=policy) as sandbox:
            drawn.update(sandbox.run(code).check().stdout.splitlines())
    assert len(drawn) == (4 if policy == "strict" else 8)


def test_a_cell_cannot_make_the_host_hoard_what_a_tool_answers():
    """A reply is the host's own text: a cell that asks for it a thousand times must not fill the host with it."""
    policy = judge.policy("strict")
    policy = policy.model_copy(update={"limits": policy.limits.model_copy(update={"cell_seconds": 30.0, "cell_cpu_seconds": 30.0})})
    with Sandbox(policy=policy, tools={"book": lambda: "x" * 1_000_000}) as sandbox:
        before = watch.memory()[0]
        result = sandbox.run("total = 0\nfor number in range(200):\n    total += len(book())\nprint(total)")
        grown = watch.memory()[0] - before
    assert result.stdout == "200000000\n"
    assert grown < 128 << 20
