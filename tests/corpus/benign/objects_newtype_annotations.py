from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NewType, TYPE_CHECKING, cast, overload, Iterable

if TYPE_CHECKING:
    from decimal import Decimal

UserId = NewType("UserId", int)
Predicate = Callable[[Any], bool]


@dataclass
class User:
    id: UserId
    name: str
    friends: list[UserId] | None = None


@overload
def find(users: list[User], by: int) -> User: ...
@overload
def find(users: list[User], by: str) -> User: ...
def find(users, by):
    for user in users:
        if by in (user.id, user.name):
            return user
    raise LookupError(by)


def keep(items: Iterable[Any], test: Predicate) -> list[Any]:
    return [item for item in items if test(item)]


def price(x: Decimal | float) -> str:
    return f"{x:.2f}"


users = [User(UserId(1), "ada", [UserId(2)]), User(UserId(2), "bob")]
print(find(users, 2).name, find(users, "ada").friends, cast(str, 3) + 1)
print(keep(users, lambda u: u.friends))
print(price(3), price.__annotations__, UserId(5) + 1)
try:
    find(users, "eve")
except LookupError as e:
    print("LookupError", e.args)
