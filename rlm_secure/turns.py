"""A conversation that only grows, and the turns of a trajectory with each message once: upstream's has prompts whole.

A prompt grows with every turn, so that whole prompts take memory and disk quadratic in the number of turns. In the
short form a turn has `same`, the number of messages with which its prompt begins as that of the turn before it in the
same list (or file) does, and `prompt` has only the messages after those. A turn without `same` has its prompt whole,
so upstream's form is a case of the short one. The runs of children inside a turn have the same form.

In memory, the prompts of a run are `Messages`: each knows what it shares with the one before it, so that a turn neither
copies nor compares the messages of earlier turns.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

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


Message: TypeAlias = dict[str, Any]
#: A message's share of a sum over a conversation, such as its characters.
Measure: TypeAlias = Callable[[Message], int]


class Messages(Sequence[Message]):
    """The messages of a conversation. Immutable: `+` makes another, which shares with this one those that both have.

    Whoever reads a message gets a copy of its own, so that nobody who was given a prompt can change the conversation.
    Adding to the longest of those that share takes time for what is added alone. Thread-safe.
    """

    __slots__ = ("_count", "_shared")

    def __init__(self, messages: Iterable[Mapping[str, Any]] = ()) -> None:
        self._shared = _Shared([_copied(dict(each)) for each in messages], {})
        self._count = len(self._shared.messages)

    def __add__(self, more: Iterable[Mapping[str, Any]]) -> Messages:
        added = [_copied(dict(each)) for each in more]
        shared, count = self._shared, self._count
        with shared.lock:
            if len(shared.messages) != count:  # another one went on from here
                totals = {measure: sums[: count + 1] for measure, sums in shared.totals.items()}
                shared = _Shared(shared.messages[:count], totals)
            shared.messages += added
        made = Messages.__new__(Messages)
        made._shared, made._count = shared, count + len(added)
        return made

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Message]:
        return map(_copied, self.read())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [_copied(self._shared.messages[each]) for each in range(*index.indices(self._count))]
        message: Message = _copied(self._shared.messages[range(self._count)[index]])
        return message

    def __reduce__(self) -> tuple[type[Messages], tuple[list[Message]]]:
        return Messages, (list(self),)

    def read(self) -> list[Message]:
        """The messages without copies, in a new list: they are not to be changed, nor given to code of others."""
        return self._shared.messages[: self._count]

    def total(self, measure: Measure) -> int:
        """The sum of `measure` over the messages. A message is measured once, also for all that share it."""
        with self._shared.lock:
            sums = self._shared.totals.setdefault(measure, [0])
            for index in range(len(sums) - 1, self._count):
                sums.append(sums[-1] + measure(self._shared.messages[index]))
            return sums[self._count]

    def shared_with(self, before: Messages) -> int | None:
        """How many messages both begin with, where one was made from the other; else None."""
        return min(self._count, before._count) if self._shared is before._shared else None


class _Shared:
    """What Messages share: the longest of them, and the sums of each measure over 0, 1, 2, ... messages."""

    __slots__ = ("lock", "messages", "totals")

    def __init__(self, messages: list[Message], totals: dict[Measure, list[int]]) -> None:
        self.messages = messages
        self.totals = totals
        self.lock = threading.Lock()


def _copied(value: Any) -> Any:
    """A copy of a message's lists and dicts; its texts are shared."""
    if type(value) is dict:
        if type(value.get("content")) is str and len(value) == 2 and type(value.get("role")) is str:
            return value.copy()  # nearly every message
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def common(prompt: Sequence[Any], before: Sequence[Any]) -> int:
    """How many messages at the beginning of `prompt` are those of `before`."""
    if isinstance(prompt, Messages):
        known = prompt.shared_with(before) if isinstance(before, Messages) else None
        if known is not None:
            return known
        prompt = prompt.read()
    if isinstance(before, Messages):
        before = before.read()
    if prompt[: len(before)] == before:  # nearly always, and compared without a loop in Python
        return len(before)
    for index, (new, old) in enumerate(zip(prompt, before, strict=False)):
        if new != old:
            return index
    return min(len(prompt), len(before))


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
