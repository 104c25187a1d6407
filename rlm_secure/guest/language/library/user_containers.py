"""collections.UserDict, UserList and UserString."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, MutableSequence, Sequence
from typing import Any


class UserDict(MutableMapping):  # type: ignore[type-arg]
    def __init__(self, dict: Any = None, /, **kwargs: Any) -> None:
        self.data: Any = {}
        if dict is not None:
            self.update(dict)
        if kwargs:
            self.update(kwargs)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, key: Any) -> Any:
        if key in self.data:
            return self.data[key]
        if hasattr(self, "__missing__"):
            derived: Any = self
            return derived.__missing__(key)
        raise KeyError(key)

    def __setitem__(self, key: Any, item: Any) -> None:
        self.data[key] = item

    def __delitem__(self, key: Any) -> None:
        del self.data[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - it is this method

    def __repr__(self) -> str:
        return repr(self.data)

    def __or__(self, other: Any) -> Any:
        if isinstance(other, UserDict):
            return type(self)(self.data | other.data)
        return type(self)(self.data | other) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        if isinstance(other, UserDict):
            return type(self)(other.data | self.data)
        return type(self)(other | self.data) if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        self.data |= other.data if isinstance(other, UserDict) else other
        return self

    def __copy__(self) -> Any:
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made.data = self.data.copy()
        return made

    def copy(self) -> Any:
        return self.__copy__()

    @classmethod
    def fromkeys(cls, iterable: Any, value: Any = None) -> Any:
        made = cls()
        for key in iterable:
            made[key] = value
        return made


def _bare(value: Any) -> Any:
    return value.data if isinstance(value, UserList | UserString) else value


class UserList(MutableSequence):  # type: ignore[type-arg]
    def __init__(self, initlist: Any = None) -> None:
        self.data: list[Any] = []
        if initlist is not None:
            self.data = list(_bare(initlist))

    def __repr__(self) -> str:
        return repr(self.data)

    def __lt__(self, other: Any) -> Any:
        return self.data < _bare(other)

    def __le__(self, other: Any) -> Any:
        return self.data <= _bare(other)

    def __eq__(self, other: Any) -> Any:
        return self.data == _bare(other)

    def __gt__(self, other: Any) -> Any:
        return self.data > _bare(other)

    def __ge__(self, other: Any) -> Any:
        return self.data >= _bare(other)

    def __contains__(self, item: Any) -> bool:
        return item in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, i: Any) -> Any:
        return type(self)(self.data[i]) if isinstance(i, slice) else self.data[i]

    def __setitem__(self, i: Any, item: Any) -> None:
        self.data[i] = item

    def __delitem__(self, i: Any) -> None:
        del self.data[i]

    def __add__(self, other: Any) -> Any:
        return type(self)(self.data + list(_bare(other)))

    def __radd__(self, other: Any) -> Any:
        return type(self)(list(_bare(other)) + self.data)

    def __iadd__(self, other: Any) -> Any:
        self.data += list(_bare(other))
        return self

    def __mul__(self, n: Any) -> Any:
        return type(self)(self.data * n)

    def __rmul__(self, n: Any) -> Any:
        return type(self)(self.data * n)

    def __imul__(self, n: Any) -> Any:
        self.data *= n
        return self

    def __copy__(self) -> Any:
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made.data = self.data[:]
        return made

    def append(self, item: Any) -> None:
        self.data.append(item)

    def insert(self, i: Any, item: Any) -> None:
        self.data.insert(i, item)

    def pop(self, i: Any = -1) -> Any:
        return self.data.pop(i)

    def remove(self, item: Any) -> None:
        self.data.remove(item)

    def clear(self) -> None:
        self.data.clear()

    def copy(self) -> Any:
        return type(self)(self)

    def count(self, item: Any) -> int:
        return self.data.count(item)

    def index(self, item: Any, *args: Any) -> int:
        return self.data.index(item, *args)

    def reverse(self) -> None:
        self.data.reverse()

    def sort(self, /, *args: Any, **kwds: Any) -> None:
        self.data.sort(*args, **kwds)

    def extend(self, other: Any) -> None:
        self.data.extend(_bare(other))


class UserString(Sequence):  # type: ignore[type-arg]
    def __init__(self, seq: Any) -> None:
        self.data: Any = seq.data[:] if isinstance(seq, UserString) else str(seq)

    def __str__(self) -> Any:
        return self.data

    def __repr__(self) -> str:
        return repr(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __hash__(self) -> int:
        return hash(self.data)

    def __eq__(self, other: Any) -> Any:
        return self.data == _bare(other)

    def __lt__(self, other: Any) -> Any:
        return self.data < _bare(other)

    def __le__(self, other: Any) -> Any:
        return self.data <= _bare(other)

    def __gt__(self, other: Any) -> Any:
        return self.data > _bare(other)

    def __ge__(self, other: Any) -> Any:
        return self.data >= _bare(other)

    def __contains__(self, char: Any) -> bool:
        return _bare(char) in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        return type(self)(self.data[index])

    def __add__(self, other: Any) -> Any:
        return type(self)(self.data + str(_bare(other)))

    def __radd__(self, other: Any) -> Any:
        return type(self)(str(_bare(other)) + self.data)

    def __mul__(self, n: Any) -> Any:
        return type(self)(self.data * n)

    def __rmul__(self, n: Any) -> Any:
        return type(self)(self.data * n)

    def __mod__(self, args: Any) -> Any:
        return type(self)(self.data % args)

    def format(self, /, *args: Any, **kwds: Any) -> Any:
        return self.data.format(*args, **kwds)

    def format_map(self, mapping: Any) -> Any:
        return self.data.format_map(mapping)

    def join(self, seq: Any) -> Any:
        return self.data.join(seq)


def _text_method(name: str, made: bool) -> Any:
    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        found = getattr(self.data, name)(*map(_bare, values), **options)
        return type(self)(found) if made else found

    return method


_MADE = (
    "capitalize casefold center expandtabs ljust lower lstrip removeprefix removesuffix replace rjust rstrip strip "
    "swapcase title translate upper zfill"
)
for _name in _MADE.split():
    setattr(UserString, _name, _text_method(_name, True))
_TOLD = (
    "count encode endswith find index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric "
    "isprintable isspace istitle isupper partition rfind rindex rpartition rsplit split splitlines startswith"
)
for _name in _TOLD.split():
    setattr(UserString, _name, _text_method(_name, False))
