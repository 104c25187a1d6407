"""Shares of what runs at the same time: all machines together keep the limit, and each gets its part."""

from __future__ import annotations

import random

import pytest

from rlm_secure.scale.shares import NodeShare, shared_out, total


@pytest.mark.parametrize(
    ("whole", "members", "joining", "given"),
    [
        (NodeShare(4, 8), [], 3, [NodeShare(2, 3), NodeShare(1, 3), NodeShare(1, 2)]),
        # One that joins waits until another uses less.
        (NodeShare(4, 4), [(NodeShare(2, 2), NodeShare(2, 2))] * 2, 1, [NodeShare(2, 2), NodeShare(1, 1), NodeShare(0, 0)]),
        (NodeShare(4, 4), [(NodeShare(2, 2), NodeShare(2, 2)), (NodeShare(1, 1), NodeShare(2, 1))], 1, [NodeShare(2, 2), NodeShare(1, 1), NodeShare(0, 1)]),
        (NodeShare(4, 4), [(NodeShare(2, 2), NodeShare(2, 2)), (NodeShare(1, 1), NodeShare(1, 1))], 1, [NodeShare(2, 2), NodeShare(1, 1), NodeShare(1, 1)]),
        # What a lost machine had is that of the others.
        (NodeShare(4, 4), [(NodeShare(1, 2), NodeShare(1, 2))], 0, [NodeShare(4, 4)]),
        # More is used than there is: nothing is free.
        (NodeShare(2, 2), [(NodeShare(2, 2), NodeShare(2, 2)), (NodeShare(1, 1), NodeShare(1, 1))], 0, [NodeShare(1, 1), NodeShare(1, 1)]),
    ],
)
def test_everyone_gets_a_part_of_what_is_free(
    whole: NodeShare, members: list[tuple[NodeShare, NodeShare]], joining: int, given: list[NodeShare]
) -> None:
    assert shared_out(whole, members, joining) == given


def test_a_share_is_enough_for_a_prompt_with_a_slot_and_a_call() -> None:
    assert [NodeShare(*each).enough for each in [(1, 1), (0, 1), (1, 0)]] == [True, False, False]


@pytest.mark.parametrize("seed", range(20))
def test_the_limit_holds_while_machines_come_and_go(seed: int) -> None:
    luck = random.Random(seed)
    whole = NodeShare(luck.randint(1, 12), luck.randint(1, 12))
    members: list[tuple[NodeShare, NodeShare]] = []
    joining = 0
    for turn in range(300):
        if turn < 250 and luck.random() < 0.2:
            joining += 1
        if turn < 250 and members and luck.random() < 0.1:
            members.pop(luck.randrange(len(members)))
        most = min(whole.slots, whole.calls) - len(members)
        given = shared_out(whole, members, min(joining, most))
        for number, share in enumerate(given):
            if number < len(members):
                members[number] = share, share.most(members[number][1])  # it still uses what it had
            elif share.enough:
                members.append((share, share))
                joining -= 1
        assert total(used for _, used in members).least(whole) == total(used for _, used in members)
        members = [(told, told if turn >= 250 or luck.random() < 0.3 else used) for told, used in members]
    if members:
        assert total(told for told, _ in members) == whole
        assert {max(each) - min(each) for each in zip(*((m.slots, m.calls) for m, _ in members), strict=True)} <= {0, 1}
