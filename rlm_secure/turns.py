"""The turns of a trajectory with each message written once, and back again: upstream's form has every prompt whole.

A prompt grows with every turn, so that whole prompts take memory and disk quadratic in the number of turns. In the
short form a turn has `same`, the number of messages with which its prompt begins as that of the turn before it in the
same list (or file) does, and `prompt` has only the messages after those. A turn without `same` has its prompt whole,
so upstream's form is a case of the short one. The runs of children inside a turn have the same form.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

#: What the first line of a file in the short form has as `format`; lines of upstream's logger have none.
FORMAT: Final = 2
#: The key of a turn in the short form.
SAME: Final = "same"

#: Messages that the turns of a file may stand for, and those of all children of one turn, which are in memory at once.
_MESSAGES: Final = 200_000_000
_NESTED: Final = 16_000_000


class BrokenTurn(ValueError):
    """A turn that refers to messages which are not there, or turns that stand for too many."""


class _Room:
    """How many messages may still be told."""

    def __init__(self, limit: float) -> None:
        self._left = limit

    def take(self, count: int) -> None:
        """Count `count` messages. Raises BrokenTurn when there are too many."""
        self._left -= count
        if self._left < 0:
            raise BrokenTurn("its turns stand for too many messages; split it by its runs")


class Trajectory:
    """A run's trajectory in the short form. Its objects are shared with the logger: they are not to be changed."""

    __slots__ = ("metadata", "turns")

    def __init__(self, metadata: dict[str, Any], turns: Iterable[dict[str, Any]]) -> None:
        self.metadata = metadata
        self.turns = tuple(turns)

    def short(self) -> dict[str, Any]:
        """The trajectory as it is kept."""
        return {"run_metadata": self.metadata, "iterations": list(self.turns)}

    def whole(self) -> dict[str, Any]:
        """A copy in upstream's form. A message that several turns have is one object."""
        made = copy.deepcopy(self.short())
        return {**made, "iterations": list(_whole(made["iterations"], _Room(math.inf)))}


def common(prompt: Sequence[Any], before: Sequence[Any]) -> int:
    """How many messages at the beginning of `prompt` are those of `before`."""
    if prompt[: len(before)] == before:  # nearly always, and compared without a loop in Python
        return len(before)
    for index, (new, old) in enumerate(zip(prompt, before, strict=False)):
        if new != old:
            return index
    return min(len(prompt), len(before))


class Sums:
    """The sum of a measure over the messages of a prompt, for prompts that mostly begin as the one before.

    A message that was measured for the last prompt is not measured again. Not for several threads at once.
    """

    def __init__(self, measure: Callable[[Mapping[str, Any]], int]) -> None:
        self._measure = measure
        self._before: list[Any] = []
        self._totals = [0]

    def of(self, prompt: Sequence[Mapping[str, Any]]) -> int:
        """The sum over `prompt`."""
        same = common(prompt, self._before)
        del self._before[same:], self._totals[same + 1 :]
        for message in prompt[same:]:
            self._totals.append(self._totals[-1] + self._measure(message))
            self._before.append(_copied(message))
        return self._totals[-1]


def _copied(value: Any) -> Any:
    """A copy of a message's lists and dicts; its texts are shared."""
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def advance(before: list[Any], turn: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """How many messages of `before` the prompt of `turn` begins with, and the messages after them, as they are written.

    Changes `before`, the prompt of the turn before it, to that of `turn`: in all, this takes time linear in the log.
    Raises BrokenTurn where there are not so many; `before` is then what is known of the prompt.
    """
    given, same = turn.get("prompt"), turn.get(SAME, 0)
    new = given if isinstance(given, list) else []
    found = type(same) is int and 0 <= same <= len(before) and (new is given or SAME not in turn)
    kept = same if found else 0
    del before[kept:]
    before += new
    if not found:
        raise BrokenTurn("a turn refers to messages of the turn before it that are not there")
    return kept, new


def whole(turns: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """`turns` of an unknown source in upstream's form, one at a time. A message that several turns have is one object.

    Lines of metadata may be among them. A value that is not of the type that it has in a trajectory stays as it is.
    Raises BrokenTurn.
    """
    return _whole(turns, _Room(_MESSAGES), nested=_NESTED)


def _whole(turns: Iterable[Any], room: _Room, *, nested: float | None = None) -> Iterator[Any]:
    """As whole(). `nested` limits the messages of the children of each turn; without it they count in `room`.

    The runs of children are changed in place.
    """
    before: list[Any] = []
    for turn in turns:
        if not isinstance(turn, dict) or turn.get("type") == "metadata":
            yield turn
            continue
        advance(before, turn)
        if SAME in turn:
            room.take(len(before))
            turn = {name: value for name, value in turn.items() if name != SAME} | {"prompt": [*before]}
        inner = room if nested is None else _Room(nested)
        for run in _children(turn):
            run["iterations"] = list(_whole(run["iterations"], inner))
        yield turn


def _children(turn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The trajectories of the children in a turn's cells."""
    for block in _dicts(turn.get("code_blocks")):
        result = block.get("result")
        for call in _dicts(result.get("rlm_calls") if isinstance(result, dict) else None):
            run = call.get("metadata")
            if isinstance(run, dict) and isinstance(run.get("iterations"), list):
                yield run


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in (value if isinstance(value, list) else []) if isinstance(each, dict))
