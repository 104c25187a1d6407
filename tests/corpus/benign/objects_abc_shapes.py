from abc import ABC, abstractmethod
from dataclasses import dataclass
import math


class Shape(ABC):
    @property
    @abstractmethod
    def area(self) -> float: ...

    @abstractmethod
    def scale(self, k: float) -> "Shape": ...

    def __lt__(self, other: "Shape") -> bool:
        return self.area < other.area

    def describe(self) -> str:
        return f"{self.__class__.__name__.lower():<10} {self.area:8.3f}"


@dataclass(frozen=True)
class Circle(Shape):
    radius: float

    @property
    def area(self):
        return math.pi * self.radius ** 2

    def scale(self, k):
        return Circle(self.radius * k)


@dataclass(frozen=True)
class Rectangle(Shape):
    width: float
    height: float

    @property
    def area(self):
        return self.width * self.height

    def scale(self, k):
        return Rectangle(self.width * k, self.height * k)


class Blob(Shape):
    pass


shapes = [Rectangle(2, 3), Circle(1), Rectangle(1, 1).scale(3)]
for shape in sorted(shapes):
    print(shape.describe(), shape)
for cls in (Shape, Blob):
    try:
        cls()
    except TypeError as e:
        print(cls.__name__, "is abstract:", "abstract" in str(e))
print(issubclass(Circle, Shape), isinstance(shapes[0], Shape))
