from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int

def describe(value):
    match value:
        case Point(x=0, y=0):
            return "origin"
        case Point(x, 0):
            return f"on x axis at {x}"
        case Point():
            return "point"
        case {"type": "circle", "radius": r, **rest}:
            return f"circle {r} {rest}"
        case [1, 2, *others]:
            return f"starts 1, 2 then {others}"
        case (int() | float()) as number if number > 100:
            return f"big {number}"
        case str(text):
            return f"text {text!r}"
        case None | True | False:
            return "singleton"
        case _:
            return "something else"

for value in (Point(0, 0), Point(5, 0), Point(1, 1), {"type": "circle", "radius": 2, "id": 7}, [1, 2, 3], 500, "hi", None, 5):
    print(describe(value))
