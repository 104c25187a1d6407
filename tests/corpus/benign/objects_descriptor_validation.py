class Positive:
    def __set_name__(self, owner, name):
        self.public = name
        self.private = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return getattr(instance, self.private, 0)

    def __set__(self, instance, value):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{self.public} must be a number, not {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{self.public} must be positive, not {value}")
        setattr(instance, self.private, value)


class Box:
    width = Positive()
    height = Positive()

    def __init__(self, width, height):
        self.width, self.height = width, height

    @property
    def area(self):
        return self.width * self.height


box = Box(3, 4)
box.width *= 2
print(box.area, vars(box))
for name, value in [("width", -1), ("height", "tall"), ("width", True)]:
    try:
        setattr(box, name, value)
    except (TypeError, ValueError) as e:
        print(f"{type(e).__name__}: {e}")
print(box.width, type(Box.width).__name__)
