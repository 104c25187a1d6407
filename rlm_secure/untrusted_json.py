"""The host's only parser of JSON from untrusted sources: a sandbox, a supervisor, a provider, a model, a log.

What could harm a parser is limited on the bytes, before a parser sees them: how deep they nest (a parser recurses, and
a thread's stack may be small), how many values they make, and how long their numbers are (conversion takes time
quadratic in the digits). Nothing relies on the interpreter's recursion limit, its limit of digits, or the size of a
stack. All of it takes time linear in the bytes.

Guards: the limits of depth, values and digits, enforced before any parser on the host sees a byte
"""

from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any, Final, NoReturn, cast

from rlm_secure.types import encodable

#: Levels of lists and objects. A parser needs less than 32 KiB of stack for so many.
MAX_DEPTH: Final = 64
#: Lists, objects and commas: with keys, at most twice as many values.
MAX_NODES: Final = 400_000
#: Digits of an integer, of a fraction, of an exponent: as many as Python converts to and from text by default.
MAX_DIGITS: Final = 4300
#: Levels of one line of a log: the run of each child is nested eight levels deeper than its parent's.
LOG_DEPTH: Final = 256

_TOO_LONG: Final = b"0" * (MAX_DIGITS + 1)
_DIGITS_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")
_NOT_BRACKETS: Final = bytes(each for each in range(256) if each not in b"[]{}")
#: Each bracket as a step up or down, in a signed byte.
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_WHITE: Final = " \t\n\r"


class MalformedJson(ValueError):
    """The input is not JSON, or exceeds the limits. The message is one short clause that quotes nothing of it.

    `at` is the index of the character where parsing failed, where a parser got that far.
    """

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(reason)
        self.at = at


def loads(data: bytes | str, *, depth: int = MAX_DEPTH, nodes: int = MAX_NODES) -> Any:
    """The JSON value in `data`, which is UTF-8 (or a str), with nothing but white space around it.

    Every string and key in it encodes as UTF-8: a lone surrogate is escaped. Every number is finite. Raises
    MalformedJson, and nothing else, whatever the bytes are; also for NaN, Infinity and a duplicate key.
    """
    try:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        bound(raw, depth=depth, nodes=nodes)
        value = _parsed(data if isinstance(data, str) else raw.decode("utf-8"))
        # Half of a surrogate pair has two possible sources only: an escape, or a str that already contains it.
        if b"\\ud" in raw or b"\\uD" in raw or isinstance(data, str):
            try:
                value = encodable(value)
            except ValueError:
                raise MalformedJson("it repeats a key") from None
    except MalformedJson:
        raise
    except json.JSONDecodeError as error:
        raise MalformedJson(f"not JSON: {error.msg}", error.pos) from None
    except (ValueError, RecursionError, MemoryError) as error:
        # ValueError: bytes that are not UTF-8, or a smaller limit of digits in this interpreter.
        raise MalformedJson(f"not JSON: {type(error).__name__}") from None
    return value


def _parsed(document: str) -> Any:
    # As JSONDecoder.decode does, but without its regular expressions for white space.
    try:
        value, end = _scan(document, len(document) - len(document.lstrip(_WHITE)))
    except StopIteration as stop:
        raise MalformedJson("not JSON: Expecting value", stop.value) from None
    if rest := document[end:].lstrip(_WHITE):
        raise MalformedJson("not JSON: Extra data", len(document) - len(rest))
    return value


def bound(raw: bytes, *, depth: int = MAX_DEPTH, nodes: int = MAX_NODES) -> None:
    """Raise MalformedJson where a JSON parser would exceed these limits in `raw` before it meets a syntax error.

    For callers that pass the bytes to another parser.
    """
    opened = raw.count(b"[") + raw.count(b"{")
    if opened <= depth and opened + raw.count(b",") <= nodes and not _has_long_number(raw):
        return
    bare = _without_strings(raw, nodes)
    if bare.count(b"[") + bare.count(b"{") + bare.count(b",") > nodes:
        raise MalformedJson(f"more than {nodes} values")
    if _has_long_number(bare):
        raise MalformedJson(f"a number of more than {MAX_DIGITS} digits")
    if _depth(bare) > depth:
        raise MalformedJson(f"nested deeper than {depth}")


def _without_strings(raw: bytes, nodes: int) -> bytes:
    """`raw` with a quotation mark in place of each string.

    Once escaped backslashes, then escaped quotation marks are removed, each mark that is left begins or ends a string.
    Where the bytes are not JSON this may be wrong, but only after the first syntax error, where every parser stops.
    """
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Each value and its key have four marks at most, and all but the first follow a bracket or a comma.
    if plain.count(b'"') > 4 * (nodes + 1):
        raise MalformedJson(f"more than {nodes} values")
    return b'"'.join(plain.split(b'"')[::2])


def _has_long_number(raw: bytes) -> bool:
    return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE)


def _depth(bare: bytes) -> int:
    """The deepest level that brackets open."""
    return max(accumulate(memoryview(bare.translate(_STEPS, _NOT_BRACKETS)).cast("b")), default=0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise MalformedJson("it repeats a key")
    return value


def _constant(name: str) -> NoReturn:
    raise MalformedJson(f"{name}, which is no number in JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise MalformedJson("a number beyond all floats")
    return value


_decoder: Final = json.JSONDecoder(parse_constant=_constant, parse_float=_float, object_pairs_hook=_object)
_scan: Final = cast(Any, _decoder).scan_once
