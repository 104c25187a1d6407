"""A worker's user id is nobody's: not one that this machine, a directory or a container engine gives to somebody."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from rlm_secure import Sandbox
from rlm_secure.testing import arena

#: What is handed out by whom, first and last.
TAKEN = {
    "distributions and systemd": (0, 65_535),
    "subordinate ids of users (login.defs)": (100_000, 600_100_000),
    "sssd, ldap_idmap_range_min and _max": (200_000, 2_000_200_000),
    "containers (systemd.io/UIDS-GIDS)": (524_288, 1_879_048_191),
    "arenas": (arena._FIRST_UID, arena._FIRST_UID + arena._UIDS * arena._RANGES - 1),
    "foreign systems (systemd.io/UIDS-GIDS)": (2_147_352_576, 2_147_418_111),
    "what is negative to some tools": (2**31 - 1, 2**32 - 1),
}


def taken(uid: int) -> list[str]:
    return [who for who, (first, last) in TAKEN.items() if first <= uid <= last]


@pytest.mark.root
def test_the_worker_of_a_root_host_has_an_id_of_nobody() -> None:
    if Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]:
        pytest.skip("in a user namespace, ids are those that it maps")
    with Sandbox() as box:
        evidence = next(each.evidence for each in box.report.walls if each.wall == "unprivileged-uid")
    (uid,) = map(int, re.findall(r"^uid (\d+),", evidence))
    assert uid != os.getuid()
    assert taken(uid) == []


def test_all_of_the_range_is_free() -> None:
    from rlm_secure.environments import user_ids

    assert taken(user_ids.FIRST) == taken(user_ids.FIRST + user_ids.COUNT - 1) == []
    assert not any(user_ids.FIRST <= first < user_ids.FIRST + user_ids.COUNT for first, _ in TAKEN.values())
    assert user_ids.FIRST <= user_ids.unused() < user_ids.FIRST + user_ids.COUNT


def test_no_two_sessions_of_a_process_have_the_same_ids() -> None:
    from rlm_secure.environments import user_ids
    from rlm_secure.environments.docker import container

    both = [container.users({"SecurityOptions": ["name=rootless"]}) for _ in range(10_000)]
    both += [container.users({}) for _ in range(10_000)]
    ids = [each for users in both for each in (users.supervisor, users.worker)]
    ids += [user_ids.unused() for _ in range(10_000)]
    assert len(set(ids)) == 50_000
    assert all(20_000 <= each < 60_000 for each in ids[:20_000])
    assert not any(taken(each) for each in ids[20_000:])


def test_a_forked_child_gives_other_ids_than_its_parent() -> None:
    from rlm_secure.environments import user_ids

    before = user_ids._given
    user_ids._forget()
    assert user_ids._given is not before
    # Where it begins is chance: of a few, one is elsewhere.
    firsts = set()
    for _ in range(4):
        user_ids._forget()
        firsts.add(user_ids.unused())
    assert len(firsts) > 1
