"""A recorded run: the JSON lines that RLMLogger and upstream's logger write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.audit.read.cells import Cell
from rlm_secure.policy import Policy
from rlm_secure.untrusted_json import LOG_DEPTH, MalformedJson, loads

MAX_BYTES = 256 * 1024 * 1024
#: Limit of the values of all lines together.
_MAX_NODES = 2_000_000
#: Limit of lines that are no turns: each run has one with its configuration.
_MAX_OTHERS = 10_000


@dataclass(frozen=True, slots=True)
class TrajectoryTurn:
    """One line of a trajectory."""

    number: int
    location: Location
    entry: dict[str, Any]
    raw: str

    @property
    def blocks(self) -> Iterator[dict[str, Any]]:
        """Its cells, each with a result."""
        blocks = self.entry.get("code_blocks")
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict):
                yield block

    @property
    def results(self) -> Iterator[dict[str, Any]]:
        """The results of its cells."""
        for block in self.blocks:
            if isinstance(block.get("result"), dict):
                yield block["result"]

    @property
    def calls(self) -> Iterator[dict[str, Any]]:
        """The model calls of its cells."""
        for result in self.results:
            calls = result.get("rlm_calls")
            yield from (call for call in (calls if isinstance(calls, list) else []) if isinstance(call, dict))


@dataclass(frozen=True, slots=True)
class TrajectorySubject:
    """A run, and the policy to check it against. `others` are the lines that are no turns, each with its place."""

    file: str
    turns: tuple[TrajectoryTurn, ...]
    cells: tuple[Cell, ...]
    policy: Policy
    others: tuple[tuple[Location, str], ...] = ()


def read(text: str, file: str, policy: Policy) -> TrajectorySubject:
    """The turns and cells of a trajectory. Raises Unreadable for a line that is no JSON object, or too much data."""
    turns: list[TrajectoryTurn] = []
    cells: list[Cell] = []
    others: list[tuple[Location, str]] = []
    left = _MAX_NODES
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            continue
        try:
            entry = loads(line, depth=LOG_DEPTH, nodes=_MAX_NODES)
        except MalformedJson as refused:
            said = f"this line is refused: {refused}; a trajectory has one JSON object on each line"
            raise Unreadable(said, number) from None
        left -= _count(entry)
        if left < 0:
            raise Unreadable(f"there are more than {_MAX_NODES:,} values in it; split it by lines", number)
        if not isinstance(entry, dict):
            raise Unreadable("this line is not a JSON object", number)
        if entry.get("type") != "iteration" and "code_blocks" not in entry:
            others.append((Location(file, number), line))
            if len(others) > _MAX_OTHERS:
                raise Unreadable(f"there are more than {_MAX_OTHERS:,} lines in it that are no turns", number)
            continue
        turn = TrajectoryTurn(len(turns) + 1, Location(file, number), entry, line)
        turns.append(turn)
        for index, block in enumerate(turn.blocks, 1):
            if isinstance(block.get("code"), str):
                label = f"turn {turn.number}, cell {index}"
                cells.append(Cell(block["code"], turn.location, label, inline=False))
    if not turns:
        raise Unreadable("there is no turn in it; a trajectory has lines of the type iteration")
    return TrajectorySubject(file, tuple(turns), tuple(cells), policy, tuple(others))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines one at a time: a list of empty lines would take many times the memory of the text."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def _count(value: Any) -> int:
    number, ahead = 0, [value]
    while ahead:
        number += 1
        each = ahead.pop()
        if isinstance(each, dict):
            ahead.extend(each.values())
        elif isinstance(each, list):
            ahead.extend(each)
    return number
