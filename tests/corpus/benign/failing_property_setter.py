class Circle:
    def __init__(self, r):
        self._r = r

    @property
    def diameter(self):
        return self._r * 2


c = Circle(2)
print(c.diameter)
c.diameter = 10
print(c._r)
