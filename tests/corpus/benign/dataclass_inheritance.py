from dataclasses import dataclass, field, fields, is_dataclass

@dataclass
class Shape:
    name: str
    color: str = "red"

@dataclass
class Circle(Shape):
    radius: float = 1.0
    history: list = field(default_factory=list, repr=False, compare=False)

    def grow(self, factor):
        self.history.append(self.radius)
        self.radius *= factor
        return self

c = Circle("c", radius=2.0).grow(1.5).grow(2)
print(c, c.history)
print([f.name for f in fields(Circle)], is_dataclass(c))
