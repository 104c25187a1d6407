from __future__ import annotations

import re
from typing import Callable, Iterable, Iterator, TypeVar, Optional

T = TypeVar("T")
K = TypeVar("K")


def chunks(text: str, size: int, overlap: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (offset, piece) so that pieces overlap."""
    step = size - overlap
    for offset in range(0, max(len(text) - overlap, 1), step):
        yield offset, text[offset : offset + size]


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def first(items: Iterable[T], test: Callable[[T], bool] = bool, default: Optional[T] = None) -> Optional[T]:
    return next((item for item in items if test(item)), default)


pieces = list(chunks(context, 6000, 500))
print([(offset, len(piece)) for offset, piece in pieces])
by_hour = group_by(re.findall(r"^\d{4}-\d\d-(\d\d) (\d\d):", context, re.M), key=lambda t: int(t[1]))
print({hour: len(items) for hour, items in sorted(by_hour.items())})
print(first(context.splitlines(), lambda l: "ERROR" in l)[:40], first([], default="none"))
print(chunks.__doc__, first.__name__)
