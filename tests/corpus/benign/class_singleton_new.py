class Config:
    _instance = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.values = {}
        return cls._instance

    def set(self, **kwargs):
        self.values.update(kwargs)

a, b = Config(), Config()
a.set(depth=3, name="x")
print(a is b, b.values)

class Celsius(float):
    def __new__(cls, value):
        return super().__new__(cls, round(value, 1))
    def __str__(self):
        return f"{float(self)}C"

print(Celsius(21.456), Celsius(1.04) + 1)
