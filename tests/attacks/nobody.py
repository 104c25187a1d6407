"""The raw attacks, run by whoever runs this: `python -m tests.attacks.nobody` exits 1 when one gets through.

A program and not a test, so that it can be run as another user without that user's pytest.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rlm_secure.testing import battery, corpus, judge, unscreened  # noqa: E402
from rlm_secure.testing.control import Control  # noqa: E402
from rlm_secure.testing.corpus import Excuse, Layer  # noqa: E402
from rlm_secure.testing.verdict import Result  # noqa: E402
from tests.attacks.conftest import stands  # noqa: E402


def main() -> int:
    attacks = tuple(attack for attack in corpus.load() if attack.layer is Layer.KERNEL)
    # Those that win everywhere are shown to win by test_controls.py; what depends on the machine may on the user, too.
    controls = {each.name: Control(each.name, True, "", each.excuse, each.reason) for each in attacks}
    controls |= battery.patient_controls(each for each in attacks if each.excuse is not Excuse.NOTHING)
    policy = judge.policy("strict")
    outcomes = battery.attempts(attacks, lambda: unscreened(policy=policy), policy, controls, afterwards=False, layered=False)
    counted = Counter(outcome.result.value for outcome in outcomes.values())
    print(f"uid {os.getuid()}, {dict(counted)}")
    bad = [f"{attack.name}: {outcomes[attack.name]}" for attack in attacks if not stands(attack, outcomes[attack.name])]
    bad += [f"{name}: control lost, {c.evidence}" for name, c in controls.items() if not (c.won or c.excused)]
    print("\n".join(bad))
    return 1 if bad or counted[Result.STOPPED.value] < 75 else 0


if __name__ == "__main__":
    raise SystemExit(main())
