"""How many prompts and model calls each of several machines may have at the same time, so that all keep one limit.

Every machine has about the same share. Where one comes or goes the shares change: those that have too much are told to
have less, and only what they no longer use is given to others.

Guards: the shares of a batch on several machines: what runs on them at the same time
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeShare:
    """Prompts that run, and model calls that are in flight, at the same time."""

    slots: int = 0
    calls: int = 0

    def __add__(self, other: NodeShare) -> NodeShare:
        return NodeShare(self.slots + other.slots, self.calls + other.calls)

    def __sub__(self, other: NodeShare) -> NodeShare:
        return NodeShare(self.slots - other.slots, self.calls - other.calls)

    def least(self, other: NodeShare) -> NodeShare:
        """The smaller of each number."""
        return NodeShare(min(self.slots, other.slots), min(self.calls, other.calls))

    def most(self, other: NodeShare) -> NodeShare:
        """The larger of each number."""
        return NodeShare(max(self.slots, other.slots), max(self.calls, other.calls))

    @property
    def enough(self) -> bool:
        """Whether a prompt can run with it."""
        return self.slots > 0 and self.calls > 0


def shared_out(whole: NodeShare, members: Sequence[tuple[NodeShare, NodeShare]], joining: int) -> list[NodeShare]:
    """What each member may have from now on, and after them those that join.

    `members` have what they were last told to have, and what they may still use, which is at least that.
    """
    free = (whole - total(used for _, used in members)).most(NodeShare())
    given = []
    for number in range(len(members) + joining):
        told = members[number][0] if number < len(members) else NodeShare()
        aim = NodeShare(*(part(each, number, len(members) + joining) for each in (whole.slots, whole.calls)))
        more = (aim - told).most(NodeShare()).least(free)
        free -= more
        given.append(told.least(aim) + more)
    return given


def part(whole: int, number: int, of: int) -> int:
    """The part of `whole` that number `number` of `of` has."""
    return whole // of + (number < whole % of)


def total(shares: Iterable[NodeShare]) -> NodeShare:
    """All of them together."""
    return sum(shares, NodeShare())
