class Temperature:
    def __init__(self, celsius=0.0):
        self.celsius = celsius

    @property
    def celsius(self):
        return self.__celsius

    @celsius.setter
    def celsius(self, value):
        if value < -273.15:
            raise ValueError("below absolute zero")
        self.__celsius = float(value)

    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value - 32) * 5 / 9

    @staticmethod
    def describe(value):
        return "warm" if value > 20 else "cold"

    @classmethod
    def from_text(cls, text):
        return cls(float(text.rstrip("C")))

t = Temperature.from_text("25.5C")
print(t.celsius, t.fahrenheit, Temperature.describe(t.celsius))
t.fahrenheit = 14
print(round(t.celsius, 2), t.describe(t.celsius))
t.celsius += 5
print(t.celsius)
try:
    t.celsius = -300
except ValueError as e:
    print(e)
