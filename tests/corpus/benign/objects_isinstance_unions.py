from collections.abc import Mapping, Sequence, Iterable, Callable, Hashable
from numbers import Number


def kind(x):
    if x is None or isinstance(x, bool):
        return "flag"
    if isinstance(x, int | float | complex):
        return "number"
    if isinstance(x, (str, bytes)):
        return "text"
    if isinstance(x, Mapping):
        return "mapping of " + (", ".join(sorted({type(v).__name__ for v in x.values()})) or "nothing")
    if isinstance(x, Sequence):
        return f"sequence of {len(x)}"
    if isinstance(x, Callable):
        return "function" if hasattr(x, "__name__") else "callable"
    if isinstance(x, Iterable):
        return "iterable"
    return type(x).__name__


for value in (None, 3, 2.5, 1j, "s", b"b", {"a": 1, "b": ""}, [1, 2], (), {1}, len, lambda: 0, range(3), object(), iter([])):
    print(kind(value))
print(isinstance(3, Number), isinstance([], Hashable), issubclass(dict, Mapping), issubclass(bool, int))
print(type(3) == int, type([]) is list, type("").__name__, (3).__class__.__name__, [].__class__ is list)
