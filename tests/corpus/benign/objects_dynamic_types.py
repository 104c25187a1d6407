from collections import namedtuple
from dataclasses import make_dataclass, field, asdict

Row = namedtuple("Row", ["name", "qty", "price"])
rows = [Row("pen", 3, 1.2), Row._make(["ink", 1, 7.5])]
print(rows, rows[0]._fields, sum(r.qty * r.price for r in rows))

Point = make_dataclass("Point", [("x", int), ("y", int, field(default=0))])
p = Point(3)
print(p, asdict(p), p == Point(3, 0))

Animal = type("Animal", (), {"legs": 4, "describe": lambda self: f"{type(self).__name__} with {self.legs} legs"})
Bird = type("Bird", (Animal,), {"legs": 2})
print(Animal().describe(), Bird().describe(), issubclass(Bird, Animal), Bird.__name__)
