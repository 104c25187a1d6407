from __future__ import annotations

from typing import Generic, Iterator, TypeVar

T = TypeVar("T")


class Stack(Generic[T]):
    def __init__(self, items: list[T] | None = None) -> None:
        self._items: list[T] = list(items or [])

    def push(self, item: T) -> Stack[T]:
        self._items.append(item)
        return self

    def pop(self) -> T:
        if not self._items:
            raise IndexError("pop from an empty stack")
        return self._items.pop()

    def peek(self) -> T | None:
        return self._items[-1] if self._items else None

    def __iter__(self) -> Iterator[T]:
        yield from reversed(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __repr__(self) -> str:
        return f"Stack({self._items!r})"


numbers: Stack[int] = Stack([1, 2])
numbers.push(3).push(4)
print(numbers, list(numbers), len(numbers), 3 in numbers, numbers.pop(), numbers.peek())
words = Stack[str]()
print(words, bool(words), words.peek())
try:
    words.pop()
except IndexError as e:
    print(f"{e.__class__.__name__}: {e}")
