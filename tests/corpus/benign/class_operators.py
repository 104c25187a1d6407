class Vector:
    def __init__(self, *components):
        self.components = tuple(components)

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.components, other.components)))

    def __sub__(self, other):
        return self + -other

    def __neg__(self):
        return Vector(*(-a for a in self.components))

    def __mul__(self, k):
        if isinstance(k, Vector):
            return sum(a * b for a, b in zip(self.components, k.components))
        return Vector(*(a * k for a in self.components))

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, Vector) and self.components == other.components

    def __hash__(self):
        return hash(self.components)

    def __abs__(self):
        return (self * self) ** 0.5

    def __len__(self):
        return len(self.components)

    def __getitem__(self, index):
        return self.components[index]

    def __iter__(self):
        return iter(self.components)

    def __bool__(self):
        return any(self.components)

    def __repr__(self):
        return "Vector(" + ", ".join(map(str, self.components)) + ")"

v, w = Vector(3, 4), Vector(1, -2)
print(v + w, v - w, v * w, 2 * v, abs(v), -v)
print(v == Vector(3, 4), len({v, Vector(3, 4)}), v[0], v[-1], list(w), bool(Vector(0, 0)))
v += w
print(v)
