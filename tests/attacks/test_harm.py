"""No attack harms the machine: what each does as root, with nothing around it, in a world that is thrown away.

Every attack runs in plain exec() in a throwaway world, which is looked at before and after: files, mounts, host name,
processes, clock and more. It may do there what its header says, and no more. The control are attacks that do harm.
"""

from __future__ import annotations

import pytest

from rlm_secure.testing import corpus
from rlm_secure.testing.corpus import Attack, Harm
from tests.attacks.conftest import ATTACKS, each
from tests.attacks.throwaway import Outcome, World, battle
from tests.attacks.throwaway.manifest import Kind

#: What may stay changed when an attack is over, by what its header says that it does.
ALLOWED = {
    Harm.HARMLESS: (),
    Harm.OWN_TREE: (),
    Harm.NAMESPACE: (Kind.LEFTOVERS, Kind.IPC, Kind.KEYS, Kind.NAMES),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return battle(ATTACKS)


@each(ATTACKS)
def test_it_changes_nothing_but_what_its_header_says(attack, outcomes):
    outcome = outcomes[attack.name]
    assert wrong(attack, outcome) == [], f"{outcome.ended}: {outcome.said}"


def wrong(attack: Attack, outcome: Outcome) -> list[str]:
    """What its header does not say."""
    found = [f"{kind}: {text}" for kind, text in outcome.changes if kind not in ALLOWED[attack.harm]]
    found += [f"cleaned up, {kind}: {text}" for kind, text in outcome.cleaned if kind not in ALLOWED[attack.harm]]
    found += [f"mounted on {path}" for path in outcome.mounted]
    if attack.harm is Harm.HARMLESS and outcome.ended != "finished":
        found.append(f"its own process: {outcome.ended}")
    return found
