from typing import Any, Callable, Dict, List, Literal, Optional, Protocol, Tuple, TypedDict, TypeVar, Union

T = TypeVar("T")
Mode = Literal["fast", "slow"]

class Movie(TypedDict, total=False):
    title: str
    year: int

class HasArea(Protocol):
    def area(self) -> float: ...

class Square:
    def __init__(self, side: float) -> None:
        self.side = side
    def area(self) -> float:
        return self.side ** 2

def total(shapes: List[HasArea]) -> float:
    return sum(s.area() for s in shapes)

def first(items: List[T], default: Optional[T] = None) -> Union[T, None]:
    return items[0] if items else default

def apply(f: Callable[[int], Any], mode: Mode = "fast") -> Tuple[str, Any]:
    return mode, f(3)

movie: Movie = {"title": "Heat", "year": 1995}
lookup: Dict[str, int] = {movie["title"]: movie["year"]}
print(total([Square(2), Square(3)]), first([]), first("ab"), apply(lambda n: n * n), lookup)
