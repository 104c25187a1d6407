from abc import ABC, abstractmethod
import math

class Shape(ABC):
    _registry = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Shape._registry.append(cls.__name__)

    @abstractmethod
    def area(self):
        ...

    def describe(self):
        return f"{type(self).__name__} with area {self.area():.2f}"

class Circle(Shape):
    def __init__(self, r):
        self.r = r
    def area(self):
        return math.pi * self.r ** 2

class Square(Shape):
    def __init__(self, a):
        self.a = a
    def area(self):
        return self.a ** 2

print([s.describe() for s in (Circle(1), Square(2))], Shape._registry)
try:
    Shape()
except TypeError as e:
    print("cannot instantiate")
