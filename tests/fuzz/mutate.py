"""Inputs made from seeds: bytes, lines, numbers and JSON trees are changed as an attacker would change them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

#: Longest input that is made: more than every limit of the readers, as they are set in readers.py.
LONGEST = 160 * 1024
#: What readers of numbers, text and trees do not expect.
NUMBERS = (
    "0", "-0", "-1", "00", "007", "+5", "1e1", "1.0", "0x10", "1_0", "\u0665", " 5", "5 ", "5,5", "9007199254740993",
    "18446744073709551616", "1e308", "1e400", "-1e400", "1" * 400, "9" * 4301, "NaN", "Infinity", "true", "null",
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\r", "\n", "\r\n", "\t", "\x1b[2J", "\x7f", "\u202e", "\u2028", "\ud800", "\udfff", "\U0001f600",
    "%00", "\\", '"', "a" * 5000, " " * 5000, "\ufeff", "__proto__", "\u00e9" * 300,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**53, 2**64, 10**400, -(10**400), [], {}, "",
    [[]], [None] * 500, {"a": {"a": {"a": {}}}}, *TEXTS,
)  # fmt: skip
_NUMBER = re.compile(rb"[0-9]{1,20}")

Change = Callable[[bytes, random.Random], bytes]


def deep(value: Any, levels: int) -> str:
    """JSON of a value within so many lists."""
    return "[" * levels + json.dumps(value) + "]" * levels


def changed(data: bytes, words: Sequence[bytes], others: Sequence[bytes], chance: random.Random) -> bytes:
    """`data` with one to six changes; `words` are what the reader looks for, `others` are inputs to borrow from."""
    changes = [_cut, _double, _insert_byte, _flip, _number, _line, _line, _tree, _tree, _swap]
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        pick = chance.randrange(len(changes) + 5)
        if pick < len(changes):
            data = changes[pick](data, chance)
        elif pick == len(changes) and others:
            other = chance.choice(others)
            data = data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]
        elif words:
            data = _insert(data, chance.choice(words), chance)
        data = data[:LONGEST]
    return data


def pieces(data: bytes, chance: random.Random) -> list[bytes]:
    """`data` in pieces: bytes, or lengths as a network makes them."""
    most = chance.choice((1, 2, 7, 100, 1000, 65536))
    most = max(most, len(data) // 1000)  # a few thousand pieces show what there is to see
    found, at = [], 0
    while at < len(data):
        size = chance.randint(1, most)
        found.append(data[at : at + size])
        at += size
    return found


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    begin = chance.randint(0, len(data))
    return begin, min(begin + chance.choice((1, 1, 2, 4, 16, 200, 5000)), len(data))


def _insert(data: bytes, word: bytes, chance: random.Random) -> bytes:
    """A word, once or very often, beside what is there or in its place."""
    begin, end = _span(data, chance)
    times = chance.choice((1, 1, 1, 1, 2, 2, 3, 10, 40))
    if chance.random() < 0.03:
        times = chance.choice((300, max(LONGEST // 2 // max(len(word), 1), 1)))
    return data[:begin] + word * times + data[chance.choice((begin, end)) :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    begin, end = _span(data, chance)
    return data[:begin] + data[end:]


def _double(data: bytes, chance: random.Random) -> bytes:
    begin, end = _span(data, chance)
    return data[:end] + data[begin:end] * chance.choice((1, 1, 2, 50)) + data[end:]


def _insert_byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + bytes([chance.randrange(256)]) + data[at:]


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _swap(data: bytes, chance: random.Random) -> bytes:
    first, second, third = sorted(chance.randint(0, len(data)) for _ in range(3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def _number(data: bytes, chance: random.Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    one = chance.choice(found)
    return data[: one.start()] + chance.choice(NUMBERS).encode() + data[one.end() :]


def _line(data: bytes, chance: random.Random) -> bytes:
    end = b"\r\n" if b"\r\n" in data else b"\n"
    lines = data.split(end)
    at = chance.randrange(len(lines))
    action = chance.randrange(5)
    if action == 0:
        lines.insert(chance.randint(0, len(lines)), lines[at])
    elif action == 1:
        del lines[at]
    elif action == 2:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif action == 3:
        name, colon, value = lines[at].partition(b":")
        blanks = chance.choice((b"\t", b"  ", b"\t " * 30, b"\x0b", b"\x85", b"\xa0", b" "))
        blanks *= 60_000 if chance.random() < 0.02 else 1
        lines[at] = name + colon + chance.choice((blanks + value, value + blanks, blanks))
    else:
        lines[at] = chance.choice((lines[at].swapcase(), lines[at] * 2, lines[at].replace(b" ", b"")))
    return end.join(lines)


def _tree(data: bytes, chance: random.Random) -> bytes:
    """One JSON object somewhere in it, with one value of it changed."""
    begin = data.find(b"{", chance.randint(0, max(len(data) - 1, 0)))
    begin = begin if begin >= 0 else data.find(b"{")
    if begin < 0:
        return data
    try:
        value, length = json.JSONDecoder().raw_decode(data[begin:].decode("latin-1"))
    except (ValueError, RecursionError):
        return data
    if chance.random() < 0.1:
        told = deep(value, chance.choice((10, 63, 64, 65, 300, 1200)))
    else:
        told = json.dumps(tree(value, chance))
    return data[:begin] + told.encode("ascii") + data[begin + length :]


def tree(value: Any, chance: random.Random) -> Any:
    """`value` with one part of it changed, deep in it or not."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        action = chance.randrange(8)
        if action == 0:
            return {each: item for each, item in value.items() if each != name}
        if action == 1:
            return value | {str(chance.choice(TEXTS)): value[name]}
        if action == 2:
            return value | {name: value[chance.choice(list(value))]}
        return value | {name: tree(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        action = chance.randrange(6)
        if action == 0:
            return value[:at] + value[at + 1 :]
        if action == 1:
            return (value * chance.choice((2, 40)))[:5000]
        return [*value[:at], tree(value[at], chance), *value[at + 1 :]]
    return chance.choice(VALUES)
