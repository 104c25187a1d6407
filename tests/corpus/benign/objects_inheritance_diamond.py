class Base:
    def __init__(self, **kwargs):
        self.trace = ["Base"]
        for key, value in kwargs.items():
            setattr(self, key, value)

    def hello(self):
        return ["Base.hello"]


class Left(Base):
    def __init__(self, left=1, **kwargs):
        super().__init__(**kwargs)
        self.left = left
        self.trace.append("Left")

    def hello(self):
        return ["Left.hello"] + super().hello()


class Right(Base):
    def __init__(self, right=2, **kwargs):
        super().__init__(**kwargs)
        self.right = right
        self.trace.append("Right")

    def hello(self):
        return ["Right.hello"] + super().hello()


class Bottom(Left, Right):
    def hello(self):
        return ["Bottom.hello", *super().hello()]


b = Bottom(left=10, right=20, extra="x")
print(b.trace, b.left, b.right, b.extra)
print(b.hello())
print([c.__name__ for c in Bottom.__mro__], [c.__name__ for c in Bottom.__bases__])
print(isinstance(b, Right), issubclass(Left, Right), type(b) is Bottom, b.__class__.__name__)
print(sorted(vars(b)), b.__dict__["extra"], b.__module__)
