"""Containers: collections, collections.abc, heapq, bisect, copy."""

from __future__ import annotations

import bisect
import collections
import collections.abc
import copy
import heapq
from collections.abc import Iterable
from typing import Any

from ..ordered_dict import OrderedDict
from .checks import CELL, identifier
from .copying import deepcopy, replaced, shallow
from .facade import facade
from .generated import record


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[Any] | None = None,
) -> type[tuple[Any, ...]]:
    """collections.namedtuple. Its generated code only gets checked names; `module` cannot be chosen."""
    title, rename = identifier(typename, "namedtuple", private=True), bool(rename)
    fields = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
    if rename:
        fields = [name if _usable(name, fields[:at]) else f"_{at}" for at, name in enumerate(fields)]
    else:
        for name in fields:
            identifier(name, "namedtuple")
    return record(collections.namedtuple(title, fields, rename=rename, defaults=defaults, module=CELL))


def _usable(name: object, earlier: list[str]) -> bool:
    try:
        return identifier(name, "namedtuple") not in earlier
    except ValueError:
        return False


# collections.abc: `register` changes the result of isinstance, but only in this session's process; the guards decide by
# exact types. Mixin methods use the items of their argument and call nothing by string.
COLLECTIONS_ABC = facade(
    "collections.abc",
    collections.abc,
    take="AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine Generator "
    "Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet "
    "Reversible Sequence Set Sized ValuesView",
    left_out={"Buffer": "it only names the C buffer protocol", "ByteString": "deprecated; use (bytes, bytearray)"},
)

COLLECTIONS = facade(
    "collections",
    collections,
    take="ChainMap Counter defaultdict deque",
    own={"OrderedDict": OrderedDict, "namedtuple": namedtuple, "abc": COLLECTIONS_ABC},
)



def merge(*iterables: Iterable[Any], key: Any = None, reverse: bool = False) -> Iterable[Any]:
    """heapq.merge. Each iterable is wrapped in our own iterator, because the original uses `__next__.__self__`."""
    return heapq.merge(*[(item for item in each) for each in iterables], key=key, reverse=bool(reverse))


HEAPQ = facade(
    "heapq",
    heapq,
    take="heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
    own={"merge": merge},
)

BISECT = facade("bisect", bisect, take="bisect bisect_left bisect_right insort insort_left insort_right")

COPY = facade(
    "copy",
    copy,
    take="Error",
    own={"copy": shallow, "deepcopy": deepcopy, "replace": replaced}
    if hasattr(copy, "replace")
    else {"copy": shallow, "deepcopy": deepcopy},
    left_out={
        "copyreg dispatch_table": "it decides how every object is rebuilt",
        "error": "the old name; use copy.Error",
        "types weakref": "a module",
    },
)
