"""Values of cells as JSON that says what they were, and back: exact classes of the standard library only.

JSON has no tuple, set, bytes, date or NaN. Such a value is an object with one key, which begins with "$":
    {"$tuple": [...]}  {"$set": [...]}  {"$frozenset": [...]}  {"$deque": [...]}
    {"$dict": [[key, value], ...]}  {"$ordered": [[...]]}  {"$counter": [[...]]}
    {"$bytes": BASE64}  {"$bytearray": BASE64}
    {"$float": "nan" | "inf" | "-inf"}  {"$int": HEX}  {"$complex": [real, imaginary]}  {"$range": [start, stop, step]}
    {"$decimal": TEXT}  {"$fraction": [numerator, denominator]}  {"$uuid": HEX}
    {"$date": ISO}  {"$time": ISO}  {"$datetime": ISO}  {"$timedelta": [days, seconds, microseconds]}
A dict with text keys is a JSON object, unless a key of it begins with "$". A defaultdict travels as a dict: its factory
is code. The host's end of it is rlm_secure/tagged.py.
"""

from __future__ import annotations

import binascii
import datetime
import json
import math
import re
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo as StandardZone

from ..language.facades.times import ZoneInfo
from ..language.ordered_dict import OrderedDict
from ..language.registry import title

#: Levels of JSON, tags included. The host refuses a frame of 64.
DEPTH = 48
#: Bits of an integer that is written as a JSON number. The host refuses numbers of more than 4,300 digits.
_PLAIN_BITS = 4096
#: What the host takes for a Decimal.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]{1,65536}(?:\.[0-9]{0,65536})?(?:[Ee][+-]?[0-9]{1,18})?|Infinity|s?NaN[0-9]{0,4300})"
)
_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_ZONES = (type(None), datetime.timezone, ZoneInfo, StandardZone)


#: Classes of third-party packages -> the function that gives a value of one as an exact builtin, or as it is.
_single: dict[type, Callable[[Any], Any]] = {}


def simplify(single: Mapping[type, Callable[[Any], Any]]) -> None:
    """Have values of these classes leave as what the functions make of them. Called in the zygote."""
    _single.update(single)


def simplified(value: Any) -> Any:
    """`value`, or the builtin value that one of a package's classes stands for."""
    return _single[type(value)](value) if type(value) in _single else value


def is_single(value: Any) -> bool:
    """Whether `value` is of a package's class that leaves as a builtin one."""
    return type(value) in _single


def simplifies() -> bool:
    """Whether this process has packages whose single values leave as builtin ones."""
    return bool(_single)


class Unfit(Exception):
    """A value that cannot be sent."""


class NotPlain(Unfit):
    """It holds something that is no plain data. The message says what."""


class TooLarge(Unfit):
    """It takes more than it may, or holds more values. `size` is a number of bytes that it takes at least."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Tagged(NamedTuple):
    """`json` is the value as JSON; `most` and `nodes` are the bytes of UTF-8, and the brackets and commas, at most."""

    json: Any
    most: int
    nodes: int


def tag(value: Any, limit: int, nodes: int) -> Tagged:
    """`value` as JSON, if that takes at most `limit` bytes of UTF-8 and `nodes` brackets and commas, which are what the
    host's decoder counts. Runs no code of a cell.

    Raises NotPlain and TooLarge.
    """
    tagger = Tagger(limit, nodes)
    made = tagger.tag(value, DEPTH)
    if tagger.most > limit and (size := len(_ENCODE(made).encode("utf-8", "backslashreplace"))) > limit:
        raise TooLarge(size)
    return Tagged(made, tagger.most, nodes - tagger.nodes)


class Tagger:
    """One call of `tag`: `least` and `most` are bounds of the bytes of UTF-8 so far."""

    def __init__(self, limit: int, nodes: int) -> None:
        self.least = self.most = 0
        self.nodes = nodes
        self._limit = limit

    def tag(self, value: Any, depth: int) -> Any:
        """`value` as JSON of at most `depth` levels. Raises as the function `tag`."""
        kind = type(value)
        if kind in _single:
            value = simplified(value)
            kind = type(value)
        if kind is str:
            self._count(len(value) + 2, 6 * len(value) + 3)
            return value
        if kind is int and value.bit_length() <= _PLAIN_BITS:
            self._count(1 + value.bit_length() // 4, value.bit_length() // 3 + 4)
            return value
        if value is None or kind is bool or (kind is float and math.isfinite(value)):
            self._count(1, 26)
            return value
        if depth <= 0:
            raise NotPlain(f"it is nested deeper than {DEPTH} levels, or holds itself")
        if kind is list:
            self._fits(len(value))
            return [self.tag(item, depth - 1) for item in value]
        if kind is dict or kind is defaultdict:
            self._fits(2 * len(value))
            self.nodes += len(value)  # a key has no comma of its own
            # Iterating over the stored items runs no code of their keys; a look-up would call __hash__ and __eq__.
            if all(type(key) is str and key[:1] != "$" for key in value) and not alike(value):
                return {self.tag(key, 1): self.tag(item, depth - 1) for key, item in dict.items(value)}
        self._count(10, 20)
        write = _WRITERS.get(kind)
        if write is None:
            raise NotPlain(f"{title(kind)} is no plain data")
        return write(self, value, depth - 1)

    def items(self, values: Iterable[Any], count: int, depth: int) -> list[Any]:
        """Each of `values`, which are `count`."""
        self._fits(count)
        return [self.tag(item, depth - 1) for item in values]

    def pairs(self, value: Any, depth: int) -> list[Any]:
        """The items of a dict."""
        self._fits(3 * len(value))
        self.most += 4 * len(value)
        self.nodes -= len(value)  # the bracket of each
        return [[self.tag(key, depth - 2), self.tag(item, depth - 2)] for key, item in dict.items(value)]

    def text(self, text: str) -> str:
        """`text`, which is ASCII."""
        self._count(len(text), len(text))
        return text

    def _fits(self, count: int) -> None:
        """Refuse a container of `count` items before any is looked at: each takes two bytes at least."""
        self.nodes -= 2  # a bracket and a comma
        self.least += 1  # one of its brackets
        self.most += 3
        if self.least + 2 * count > self._limit or self.nodes < 0:
            raise TooLarge(self.least + 2 * count)

    def _count(self, least: int, most: int) -> None:
        self.least += least
        self.most += most
        self.nodes -= 1
        if self.least > self._limit or self.nodes < 0:
            raise TooLarge(self.least)


def of_bytes(data: bytes) -> dict[str, Any]:
    """`data` as JSON."""
    return {"$bytes": binascii.b2a_base64(data, newline=False).decode("ascii")}


def alike(table: dict[str, Any]) -> bool:
    """Whether two keys of `table` become the same key on the host, which refuses duplicates.

    The host joins surrogate pairs, and writes lone surrogates as escapes.
    """
    try:
        "".join(table).encode()
    except UnicodeEncodeError:
        joined = (key.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") for key in table)
        return len({key.encode("utf-8", "backslashreplace") for key in joined}) < len(table)
    return False


_Write = Callable[[Tagger, Any, int], dict[str, Any]]


def _group(name: str) -> _Write:
    # len() and iter() of an exact builtin class: no method of a cell runs.
    return lambda to, value, depth: {name: to.items(value, len(value), depth)}


def _pairs(name: str) -> _Write:
    return lambda to, value, depth: {name: to.pairs(value, depth)}


def _text(name: str, read: Callable[[Any], str]) -> _Write:
    return lambda to, value, _depth: {name: to.text(read(value))}


def _parts(name: str, read: Callable[[Any], tuple[Any, ...]]) -> _Write:
    def write(to: Tagger, value: Any, depth: int) -> dict[str, Any]:
        parts = read(value)
        if not all(type(part) is float or (type(part) is int and part.bit_length() <= _PLAIN_BITS) for part in parts):
            raise NotPlain(f"a part of this {title(type(value))} is no number of at most {_PLAIN_BITS} bits")
        return {name: to.items(parts, len(parts), depth)}

    return write


def _raw(name: str) -> _Write:
    def write(to: Tagger, value: Any, _depth: int) -> dict[str, Any]:
        to._fits(len(value) * 2 // 3)  # before the text is made
        return {name: to.text(binascii.b2a_base64(value, newline=False).decode("ascii"))}

    return write


def _moment(name: str) -> _Write:
    def write(to: Tagger, value: Any, _depth: int) -> dict[str, Any]:
        if type(value.tzinfo) not in _ZONES:
            raise NotPlain(f"the zone of a {title(type(value))} is a class of the cell")
        if (offset := value.utcoffset()) is not None and offset.microseconds:  # it is read as UTC if that is all of it
            raise NotPlain(f"the zone of a {title(type(value))} differs by parts of a second")
        return {name: to.text(value.isoformat())}

    return write


def _int(to: Tagger, value: int, _depth: int) -> dict[str, Any]:
    to._fits(value.bit_length() // 8)  # before the text is made
    return {"$int": to.text(hex(value))}


def _float(to: Tagger, value: float, _depth: int) -> dict[str, Any]:
    return {"$float": to.text(repr(value))}


def _decimal(to: Tagger, value: Decimal, _depth: int) -> dict[str, Any]:
    written = str(value)
    if not _DECIMAL.fullmatch(written):
        raise NotPlain("a Decimal has more digits, or a longer exponent, than can be sent")
    return {"$decimal": to.text(written)}


def _uuid(to: Tagger, value: uuid.UUID, _depth: int) -> dict[str, Any]:
    number = value.int
    if type(number) not in (int, bool) or not 0 <= number < 1 << 128:
        raise NotPlain("the number of a UUID is none")
    return {"$uuid": to.text(f"{number:032x}")}


_WRITERS: dict[type, _Write] = {
    dict: _pairs("$dict"),
    defaultdict: _pairs("$dict"),
    OrderedDict: _pairs("$ordered"),
    Counter: _pairs("$counter"),
    tuple: _group("$tuple"),
    set: _group("$set"),
    frozenset: _group("$frozenset"),
    deque: _group("$deque"),
    bytes: _raw("$bytes"),
    bytearray: _raw("$bytearray"),
    float: _float,
    int: _int,
    complex: _parts("$complex", lambda value: (value.real, value.imag)),
    range: _parts("$range", lambda value: (value.start, value.stop, value.step)),
    Decimal: _decimal,
    Fraction: _parts("$fraction", lambda value: (value.numerator, value.denominator)),
    uuid.UUID: _uuid,
    datetime.date: _text("$date", datetime.date.isoformat),
    datetime.time: _moment("$time"),
    datetime.datetime: _moment("$datetime"),
    datetime.timedelta: _parts("$timedelta", lambda value: (value.days, value.seconds, value.microseconds)),
}


class Untagged(Exception):
    """JSON of the host with a tag that is not known."""


def untag(value: Any) -> Any:
    """The value that `value`, which the host wrote, says. Raises Untagged, and ValueError for a broken one."""
    kind = type(value)
    if kind is list:
        return [untag(item) for item in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name[:1] == "$":
            read = _READERS.get(name)
            if read is None:
                raise Untagged(name)
            return read(inner)
    return {key: untag(item) for key, item in value.items()}


def _untagged(make: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda inner: make(untag(item) for item in inner)


def _paired(make: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda inner: make({untag(key): untag(item) for key, item in inner})


_READERS: dict[str, Callable[[Any], Any]] = {
    "$dict": _paired(dict),
    "$ordered": _paired(OrderedDict),
    "$counter": _paired(Counter),
    "$tuple": _untagged(tuple),
    "$set": _untagged(set),
    "$frozenset": _untagged(frozenset),
    "$deque": _untagged(deque),
    "$bytes": binascii.a2b_base64,
    "$bytearray": lambda text: bytearray(binascii.a2b_base64(text)),
    "$float": float,
    "$int": lambda text: int(text, 16),
    "$complex": lambda parts: complex(*map(untag, parts)),
    "$range": lambda parts: range(*parts),
    "$decimal": Decimal,
    "$fraction": lambda parts: Fraction(*parts),
    "$uuid": uuid.UUID,
    "$date": datetime.date.fromisoformat,
    "$time": datetime.time.fromisoformat,
    "$datetime": datetime.datetime.fromisoformat,
    "$timedelta": lambda parts: datetime.timedelta(*parts),
}
