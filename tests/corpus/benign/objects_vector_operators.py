import math


class Vector:
    def __init__(self, *parts):
        self._parts = tuple(float(p) for p in parts)

    def __iter__(self):
        return iter(self._parts)

    def __len__(self):
        return len(self._parts)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(*self._parts[index])
        return self._parts[index]

    def __abs__(self):
        return math.hypot(*self)

    def __bool__(self):
        return any(self)

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self, other, strict=True)))

    def __neg__(self):
        return Vector(*(-a for a in self))

    def __sub__(self, other):
        return self + -other

    def __mul__(self, k):
        return Vector(*(a * k for a in self))

    __rmul__ = __mul__

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self, other))

    def __eq__(self, other):
        return isinstance(other, self.__class__) and tuple(self) == tuple(other)

    def __hash__(self):
        return hash(self._parts)

    def __format__(self, spec):
        return "<" + ", ".join(format(a, spec or ".1f") for a in self) + ">"

    def __repr__(self):
        return f"{type(self).__name__}{self._parts}"


v, w = Vector(3, 4), Vector(-1, 0.5)
print(v + w, v - w, 2 * v, v @ w, abs(v), bool(Vector(0, 0)))
print(f"{v:.2f} | {w} | {v[0]} | {Vector(1, 2, 3)[1:]!r}")
print(v == Vector(3, 4), v == (3, 4), {v: 1}[Vector(3, 4)], len(v), list(v))
try:
    v + Vector(1, 2, 3)
except ValueError as e:
    print("ValueError")
