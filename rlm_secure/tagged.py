"""Values that are more than JSON, as JSON: the host's end of guest/session/tagged.py, which lists the tags.

`untag` builds them from what a sandbox sent, which is hostile: every tag has one reader, which checks all that it
reads, and whatever a reader makes is of an exact class of the standard library. Each takes time linear in its bytes:
texts and numbers are as short as their kind needs, and keys whose hashes are equal are few and soon compared.

Guards: what a value from a sandbox may become on the host
"""

from __future__ import annotations

import base64
import datetime
import math
import re
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

#: Levels of JSON that `tag` writes, tags included. The guest refuses 1,000, and a caller's stack has to last.
_DEPTH: Final = 200
#: Bits of an integer that is a JSON number: both sides refuse one of more than 4,300 digits.
_PLAIN_BITS: Final = 4096
#: Members of a set, or keys of a dict, that may have the same hash: each new one is compared with all of these.
_ALIKE: Final = 32
#: The longest text of a date, a time or a UUID.
_SHORT: Final = 64
#: What a Counter may count with.
_COUNTS: Final = frozenset({bool, int, float, Decimal, Fraction})
_DECIMAL: Final = re.compile(
    r"[+-]?(?:[0-9]{1,65536}(?:\.[0-9]{0,65536})?(?:[Ee][+-]?[0-9]{1,18})?|Infinity|s?NaN[0-9]{0,4300})"
)
_INT: Final = re.compile(r"-?0x[0-9a-f]+")


class MalformedValue(ValueError):
    """JSON with a tag that is not known, or is not what its tag promises."""


class CrowdedValue(MalformedValue):
    """A set or a dict whose keys would take long to compare, or of which two would be one here, such as lone
    surrogates and what they are written as; a Counter with such counts: honest cells have such, if rarely."""


def untag(value: Any) -> Any:
    """The value that the JSON `value` of a sandbox says. Raises MalformedValue, and nothing else.

    `value` is within the limits of the decoder of frames: its depth and its values are bounded.
    """
    try:
        return _untag(value)
    except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
        if isinstance(error, CrowdedValue):
            raise
        said = str(error) if isinstance(error, MalformedValue) else type(error).__name__
        raise MalformedValue(f"a value is not what its tag says: {said}") from None


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name[:1] == "$":
            read = _READERS.get(name)
            if read is None:
                raise MalformedValue("a tag has no known name")
            return read(inner)
    return {key: _untag(item) for key, item in value.items()}


def _items(inner: Any) -> list[Any]:
    if not isinstance(inner, list):
        raise MalformedValue("a group is not a list")
    return [_untag(item) for item in inner]


def _hashed(keys: list[Any]) -> list[Any]:
    """`keys` again, if they can be put into a set in linear time: a sandbox can choose numbers of equal hash."""
    hashes = list(map(hash, keys))
    counted = Counter(hashes)
    if len(counted) < len(keys) and (
        max(counted.values()) > _ALIKE
        or _slow([key for key, known in zip(keys, hashes, strict=True) if counted[known] > 1])
    ):
        raise CrowdedValue("too many of its keys have the same hash")
    return keys


def _slow(alike: list[Any]) -> bool:
    """Whether it may take long to compare these keys, whose hashes are equal.

    It does where keys in them have equal hashes as well, since each level multiplies the comparisons, and for a long
    integer and a decimal, as the one is converted to the other in quadratic time.
    """
    kinds = set()
    while alike:
        key = alike.pop()
        if isinstance(key, tuple | frozenset):
            if isinstance(key, frozenset) and len(set(map(hash, key))) < len(key):
                return True
            alike += key
        elif not isinstance(key, int) or key.bit_length() > _PLAIN_BITS:
            kinds.add(type(key))
    return kinds >= {int, Decimal}


def _set(inner: Any, kind: Any) -> Any:
    keys = _hashed(_items(inner))
    return _whole(kind(keys), keys)


def _whole(made: Any, keys: list[Any]) -> Any:
    """`made` of `keys`, if it has all of them."""
    if len(made) < len(keys):
        raise CrowdedValue("two of its keys would be the same outside of the sandbox")
    return made


def _mapping(inner: Any) -> list[tuple[Any, Any]]:
    if not isinstance(inner, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in inner):
        raise MalformedValue("items are not pairs")
    pairs = [(_untag(key), _untag(item)) for key, item in inner]
    keys = [key for key, _ in pairs]
    _whole(set(_hashed(keys)), keys)
    return pairs


def _counter(inner: Any) -> Counter[Any]:
    pairs = _mapping(inner)
    # repr() sorts by the counts, and compares an integer with a decimal in quadratic time, and counters of counters
    # twice at each level.
    for _, count in pairs:
        if type(count) not in _COUNTS or (type(count) is int and count.bit_length() > _PLAIN_BITS):
            raise CrowdedValue("it counts with something that is no number, or a very long one")
    return Counter(dict(pairs))  # not Counter(pairs), which would count them


def _text(inner: Any, most: int) -> str:
    if not isinstance(inner, str) or len(inner) > most:
        raise MalformedValue("a text is none, or too long")
    return inner


def _bytes(inner: Any) -> bytes:
    if not isinstance(inner, str):
        raise MalformedValue("bytes are not text")
    return base64.b64decode(inner, validate=True)


def _matching(pattern: re.Pattern[str]) -> Callable[[Any], str]:
    def read(inner: Any) -> str:
        if not isinstance(inner, str) or not pattern.fullmatch(inner):
            raise MalformedValue("a number is not written as one")
        return inner

    return read


def _numbers(inner: Any, count: int, kinds: tuple[type, ...] = (int,)) -> list[Any]:
    if not isinstance(inner, list) or len(inner) != count:
        raise MalformedValue("a number has other parts")
    parts = [_untag(part) for part in inner]
    if not all(type(part) in kinds for part in parts):
        raise MalformedValue("a part of a number is none")
    # The greatest common divisor of a fraction's parts takes quadratic time.
    if any(type(part) is int and part.bit_length() > _PLAIN_BITS for part in parts):
        raise MalformedValue("a part of a number is too long")
    return parts


_FLOATS: Final = frozenset({"nan", "inf", "-inf"})
_decimal: Final = _matching(_DECIMAL)
_int: Final = _matching(_INT)
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "$tuple": lambda inner: tuple(_items(inner)),
    "$deque": lambda inner: deque(_items(inner)),
    "$set": lambda inner: _set(inner, set),
    "$frozenset": lambda inner: _set(inner, frozenset),
    "$dict": lambda inner: dict(_mapping(inner)),
    "$ordered": lambda inner: OrderedDict(_mapping(inner)),
    "$counter": _counter,
    "$bytes": _bytes,
    "$bytearray": lambda inner: bytearray(_bytes(inner)),
    "$float": lambda inner: float(_one_of(inner)),  # each NaN is an object of its own, as in a set of the cell
    "$int": lambda inner: int(_int(inner), 16),
    "$complex": lambda inner: complex(*_numbers(inner, 2, (int, float))),
    "$range": lambda inner: range(*_numbers(inner, 3)),
    "$decimal": lambda inner: Decimal(_decimal(inner)),
    "$fraction": lambda inner: Fraction(*_numbers(inner, 2)),
    "$uuid": lambda inner: uuid.UUID(_text(inner, _SHORT)),
    "$date": lambda inner: datetime.date.fromisoformat(_text(inner, _SHORT)),
    "$time": lambda inner: datetime.time.fromisoformat(_text(inner, _SHORT)),
    "$datetime": lambda inner: datetime.datetime.fromisoformat(_text(inner, _SHORT)),
    "$timedelta": lambda inner: datetime.timedelta(*_numbers(inner, 3)),
}


def _one_of(inner: Any) -> str:
    if not isinstance(inner, str) or inner not in _FLOATS:
        raise MalformedValue("a float is none of nan, inf and -inf")
    return inner


def as_json(value: Any) -> Any:
    """`value`, which `untag` made, as the JSON that a program would write for it; None if there is none.

    Groups are lists, keys are text, dates and UUIDs their text, decimals numbers.
    """
    try:
        return _json(value)
    except ValueError:
        return None


def _json(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _PLAIN_BITS:
            raise ValueError  # the interpreter writes no number of so many digits
        return value
    if isinstance(value, float | Decimal):
        number = float(value)
        if not math.isfinite(number):  # also what a large Decimal becomes
            raise ValueError
        return number
    if isinstance(value, dict):
        return {_key(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_json(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise ValueError


def _key(key: Any) -> str:
    if not isinstance(key, str | int | float) or isinstance(key, bool):
        raise ValueError  # noqa: TRY004 - as for any other value that JSON does not have
    return str(key)


def tag(value: Any) -> Any:
    """`value`, which is the caller's own, as JSON for a sandbox. Exact classes only: see guest/session/tagged.py.

    Raises TypeError for a value that is no plain data, with the place where it is.
    """
    return _tag(value, _DEPTH, "the value")


def _tag(value: Any, depth: int, where: str) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool) or (kind is float and math.isfinite(value)):
        return value
    if kind is int:
        return value if value.bit_length() <= _PLAIN_BITS else {"$int": hex(value)}
    if depth <= 0:
        raise TypeError(f"{where} is nested deeper than {_DEPTH} levels, or holds itself")
    if kind is list:
        return [_tag(item, depth - 1, f"{where}[{at}]") for at, item in enumerate(value)]
    if kind in (dict, defaultdict):
        if all(type(key) is str and key[:1] != "$" for key in value):
            return {key: _tag(item, depth - 1, f"{where}[{key!r}]") for key, item in value.items()}
        kind = dict
    write = _WRITERS.get(kind)
    if write is None:
        raise TypeError(
            f"{where} is of {kind.__module__}.{kind.__qualname__}, which is no plain data; make it a dict, list, "
            "tuple, set, text, number, date or bytes first"
        )
    return write(value, depth - 1, where)


_Write = Callable[[Any, int, str], dict[str, Any]]


def _moment(name: str) -> _Write:
    def write(value: Any, _depth: int, where: str) -> dict[str, Any]:
        if (offset := value.utcoffset()) is not None and offset.microseconds:  # it is read as UTC if that is all of it
            raise TypeError(f"{where} has a time zone that differs by parts of a second, which is no plain data")
        return {name: value.isoformat()}

    return write


def _group(name: str) -> _Write:
    return lambda value, depth, where: {name: [_tag(item, depth, f"an item of {where}") for item in value]}


def _pairs(name: str) -> _Write:
    def write(value: Any, depth: int, where: str) -> dict[str, Any]:
        key_of, item_of = f"a key of {where}", f"an item of {where}"
        return {name: [[_tag(key, depth - 2, key_of), _tag(item, depth - 2, item_of)] for key, item in value.items()]}

    return write


def _written(name: str, read: Callable[[Any], Any]) -> _Write:
    return lambda value, _depth, _where: {name: read(value)}


def _parted(name: str, read: Callable[[Any], Iterable[Any]]) -> _Write:
    return lambda value, depth, where: {name: [_tag(part, depth, where) for part in read(value)]}


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


_WRITERS: Final[dict[type, _Write]] = {
    dict: _pairs("$dict"),
    OrderedDict: _pairs("$ordered"),
    Counter: _pairs("$counter"),
    tuple: _group("$tuple"),
    set: _group("$set"),
    frozenset: _group("$frozenset"),
    deque: _group("$deque"),
    bytes: _written("$bytes", _base64),
    bytearray: _written("$bytearray", _base64),
    float: _written("$float", repr),
    complex: _parted("$complex", lambda value: (value.real, value.imag)),
    range: _parted("$range", lambda value: (value.start, value.stop, value.step)),
    Decimal: _written("$decimal", str),
    Fraction: _parted("$fraction", lambda value: (value.numerator, value.denominator)),
    uuid.UUID: _written("$uuid", lambda value: value.hex),
    datetime.date: _written("$date", datetime.date.isoformat),
    datetime.time: _moment("$time"),
    datetime.datetime: _moment("$datetime"),
    datetime.timedelta: _parted("$timedelta", lambda value: (value.days, value.seconds, value.microseconds)),
}
