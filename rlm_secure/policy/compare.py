"""Which of two policies is the tighter one, key by key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rlm_secure.policy.complaint import shown
from rlm_secure.policy.keys import Order, keys, value
from rlm_secure.policy.model import BestEffort, Isolation, OtherEnvironment, Policy


class Effect(StrEnum):
    """What a change of one key does to the walls and limits."""

    SAME = "same"
    STRONGER = "stronger"
    WEAKER = "weaker"
    MIXED = "weaker in part"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Change:
    """One key that differs. `added` and `removed` are entries of an array; both empty for other keys."""

    key: str
    before: Any
    after: Any
    effect: Effect
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def effect(key: str, before: Any, after: Any) -> Effect:
    """What it means for `key` to go from `before` to `after`."""
    order = keys()[key].order
    if order in (Order.FEWER, Order.MORE):
        added, removed = _sides(before, after)
        looser, tighter = (added, removed) if order is Order.FEWER else (removed, added)
        if looser:
            return Effect.MIXED if tighter else Effect.WEAKER
        return Effect.STRONGER if tighter else Effect.SAME if before == after else Effect.NEUTRAL
    if before == after:
        return Effect.SAME
    match order:
        case Order.LOWER:
            return Effect.STRONGER if after < before else Effect.WEAKER
        case Order.OFF:
            return Effect.WEAKER if after else Effect.STRONGER
        case Order.RUNTIME:
            return _runtime(before, after)
        case _:
            return Effect.NEUTRAL


def diff(before: Policy, after: Policy) -> tuple[Change, ...]:
    """Every key in which two policies differ, in the order of the model. Their names and texts are not compared."""
    changes = []
    for key in keys():
        if key in ("name", "description", "extends"):
            continue
        old, new = value(before, key), value(after, key)
        if old == new:
            continue
        added, removed = _sides(old, new) if isinstance(old, tuple) else ((), ())
        changes.append(Change(key, old, new, effect(key, old, new), added, removed))
    return tuple(changes)


def loss(key: str, before: Any, after: Any) -> str | None:
    """What a change loosens, as the rest of a sentence that starts with the key; None where it loosens nothing."""
    if effect(key, before, after) not in (Effect.WEAKER, Effect.MIXED):
        return None
    added, removed = _sides(before, after) if isinstance(before, tuple) else ((), ())
    match keys()[key].order:
        case Order.FEWER:
            return f"adds {_listed(added)}"
        case Order.MORE:
            return f"leaves out {_listed(removed)}"
        case _:
            return f"goes from {shown(before)} to {shown(after)}"


def remedy(key: str, before: Any) -> str:
    """What to write instead of a value that is looser than `before`."""
    match keys()[key].order:
        case Order.LOWER:
            return f"use {shown(before)} or less, or extend a looser policy"
        case Order.FEWER:
            return "take that out, or extend a looser policy"
        case Order.MORE:
            return "put that back, or extend a looser policy"
        case _:
            return f"use {shown(before)}, or extend a looser policy"


def _runtime(before: str, after: str) -> Effect:
    # gVisor and Kata give the container its own kernel. Not compared: a change from one to the other is weaker.
    if _own_kernel(after) and not _own_kernel(before):
        return Effect.STRONGER
    return Effect.WEAKER


def _own_kernel(runtime: str) -> bool:
    return runtime == "runsc" or runtime.startswith(("runsc-", "kata", "io.containerd.kata", "io.containerd.runsc"))


def _sides(before: Iterable[Any], after: Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before, after = tuple(before), tuple(after)
    if others := [each.name for each in (*before, *after) if isinstance(each, OtherEnvironment)]:
        old, new = _walls_of(others, before), _walls_of(others, after)
    else:
        old, new = [_entry(each) for each in before], [_entry(each) for each in after]
    return tuple(each for each in new if each not in old), tuple(each for each in old if each not in new)


def _walls_of(names: list[str], others: tuple[OtherEnvironment, ...]) -> list[str]:
    """The walls that must hold in each environment of `names`; one that is not listed has the default."""
    isolation = Isolation(others=others)
    return [f"{wall.value} of {name}" for name in sorted(set(names)) for wall in isolation.listed(name)]


def _entry(entry: Any) -> str:
    if isinstance(entry, BestEffort):
        return entry.wall.value  # the reason may be reworded
    return str(getattr(entry, "rule", entry))


def _listed(entries: tuple[str, ...]) -> str:
    names = [shown(each) for each in entries[:6]] + ([f"{len(entries) - 6} more"] if len(entries) > 6 else [])
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
