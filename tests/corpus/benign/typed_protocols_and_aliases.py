from typing import Protocol, TypedDict, runtime_checkable, Optional, Union, Callable, Any, Literal, Final, ClassVar, Generic, TypeVar, overload, cast, get_args, get_origin, Annotated, NewType, Self
@runtime_checkable
class Speaks(Protocol):
    def speak(self) -> str: ...
class Dog:
    def speak(self) -> str: return "woof"
class Movie(TypedDict, total=False):
    title: str
    year: int
m: Movie = {"title": "Alien", "year": 1979}
T = TypeVar("T")
class Stack(Generic[T]):
    limit: ClassVar[int] = 3
    def __init__(self) -> None: self._items: list[T] = []
    def push(self, item: T) -> Self:
        if len(self._items) >= self.limit: raise OverflowError("full")
        self._items.append(item); return self
    def pop(self) -> T: return self._items.pop()
    def __len__(self) -> int: return len(self._items)
s: Stack[int] = Stack()
s.push(1).push(2)
print(isinstance(Dog(), Speaks), isinstance(3, Speaks), m["title"], s.pop(), len(s), Movie.__annotations__.keys())
UserId = NewType("UserId", int)
Mode = Literal["r", "w"]
MAX: Final = 10
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x): return x * 2
print(f(2), f("a"), UserId(5), get_args(Mode), get_origin(list[int]), cast(int, "x"), Optional[int], Union[int, str])
print(Callable[[int], str], Annotated[int, "meta"].__metadata__, Stack.__name__, MAX)
