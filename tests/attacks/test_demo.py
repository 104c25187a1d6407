"""What `rlm-secure demo` shows when an attack wins: a real one, where the wall that stops it is switched off."""

from __future__ import annotations

import re
from functools import partial

import pytest

from rlm_secure import Sandbox
from rlm_secure.cli import demo
from rlm_secure.testing import judge, unscreened
from rlm_secure.testing.target import Target


@pytest.mark.parametrize(("kind", "result"), [(Sandbox, "stopped"), (unscreened, "won")])
def test_an_attack_wins_without_its_wall_and_the_demo_says_so(
    kind, result: str, target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = judge.policy("strict")
    attacks = demo._Attacks(policy, target)
    stopped = attacks.show("the language layer", [(partial(kind, policy=policy), "subclasses-of-object")])
    assert stopped is (result == "stopped")
    assert re.search(rf"^{result} +subclasses-of-object ", capsys.readouterr().out, re.MULTILINE)
