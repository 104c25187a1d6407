from collections import namedtuple
from typing import NamedTuple

Point = namedtuple("Point", "x y")

class Segment(NamedTuple):
    start: Point
    end: Point
    label: str = "segment"

    @property
    def length(self):
        return ((self.start.x - self.end.x) ** 2 + (self.start.y - self.end.y) ** 2) ** 0.5

s = Segment(Point(0, 0), Point(3, 4))
print(s, s.length)
print(s._asdict()["label"], s._replace(label="side").label, Point._fields, Point._make([7, 8]))
x, y = s.end
print(x * y, s.end[0], len(s.end), Point(1, 2) < Point(1, 3))
