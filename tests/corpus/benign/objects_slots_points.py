class Pixel:
    __slots__ = ("x", "y", "_color")

    def __init__(self, x, y, color="black"):
        self.x, self.y, self._color = x, y, color

    @property
    def color(self):
        return self._color

    def __eq__(self, other):
        return isinstance(other, Pixel) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __repr__(self):
        values = ", ".join(f"{name.lstrip('_')}={getattr(self, name)!r}" for name in self.__slots__)
        return f"Pixel({values})"


p, q = Pixel(1, 2), Pixel(1, 2, "red")
print(p, q, p == q, len({p, q}), p is q)
try:
    p.z = 3
except AttributeError as e:
    print("AttributeError", "z" in str(e))
try:
    p.color = "blue"
except AttributeError:
    print("color is read only")
print(hasattr(p, "__dict__"), [getattr(q, n) for n in Pixel.__slots__])
