"""What other processes get as a pickle, and a clear refusal of the rest. Nothing of this package reads a pickle.

Programs that use several processes (`multiprocessing`, Ray) send objects by pickle. What describes work or its result
is sent whole; what holds a process, a connection or a lock of this process is refused by name, before the pickler
fails in the middle of it with a message about a lock.
"""

from __future__ import annotations

import copyreg
import sys
import types
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: What has no parts.
_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray, type(...)})
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, type)
#: Values that are looked at: a configuration is small, and what is larger is data.
_MOST: Final = 100_000
#: As pickle has used by default since Python 3.8.
_PROTOCOL: Final = 4


def require_picklable(whose: str, values: dict[str, Any]) -> None:
    """Raise TypeError, which names the value and says what to do, if one of `values` cannot be pickled.

    A function or a class can if another process finds it by its name, at the top level of a module. Any other object
    is asked, as a pickler asks it, for the parts that it is made from.
    """
    #: The name of a value, and whether the value is a part of an object: its place in that has no name.
    waiting: list[tuple[str, bool, Any]] = [(f"its {name}", False, value) for name, value in values.items()][::-1]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST:
        name, inside, value = waiting.pop()
        kind = type(value)
        if kind in _PLAIN or id(value) in seen:
            continue
        seen[id(value)] = value  # kept: its id must not become another's
        if kind is dict:
            waiting += [(name if inside else f"{name}[{key!r:.40}]", inside, item) for key, item in value.items()]
            waiting += [(name, True, key) for key in value]
        elif kind in (list, tuple, set, frozenset):
            waiting += [(name if inside else f"{name}[{at}]", inside, item) for at, item in enumerate(value)]
        elif isinstance(value, _FUNCTIONS) and type(getattr(value, "__self__", None)) in (type(None), types.ModuleType):
            if not _found(value):
                raise TypeError(
                    f"{whose} cannot be pickled: {name} is {value.__qualname__[:80]!r}, which another process cannot "
                    "find by its name; define it at the top level of a module, or leave it out"
                )
        else:
            waiting += [(name, True, part) for part in _parts(whose, name, value)]


def _found(value: Any) -> bool:
    """Whether a function or class is what its module has under its name."""
    found: Any = sys.modules.get(value.__module__ or "builtins")
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _parts(whose: str, name: str, value: Any) -> list[Any]:
    """What a pickler would make of `value`: the arguments, the state and the items. Raises TypeError as above."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced = value.__reduce_ex__(_PROTOCOL) if reduce is None else reduce(value)
    except Exception as error:
        raise TypeError(
            f"{whose} cannot be pickled: {name} is or holds a {type(value).__qualname__[:80]}, which belongs to this "
            "process; give what it is made from, or leave it out"
        ) from error
    return [] if isinstance(reduced, str) else [each for part in reduced[1:] for each in _each(part)]


def _each(part: Any) -> list[Any]:
    """A part of what an object is made from; the items of an iterator, each of its own."""
    return list(part) if hasattr(part, "__next__") else [part]


class Unpicklable:
    """Base of what lives in this process alone. `pickle_instead` says what to do, as the end of a sentence."""

    pickle_instead = "make another one there"

    def __reduce_ex__(self, _protocol: Any) -> Any:
        kind = type(self).__qualname__
        raise TypeError(f"a {kind} cannot be pickled: it belongs to its process; {self.pickle_instead}")


def twin(original: T) -> T:
    """Another object of the same class with the same attributes, as copy.copy() makes of what can be pickled."""
    made: T = object.__new__(type(original))
    made.__dict__.update(original.__dict__)
    return made
