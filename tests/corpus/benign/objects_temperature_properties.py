class Temperature:
    """Keeps kelvin; shows what you ask for."""

    _absolute_zero = -273.15

    def __init__(self, celsius: float = 0.0) -> None:
        self.celsius = celsius

    @property
    def celsius(self) -> float:
        return round(self._kelvin + self._absolute_zero, 2)

    @celsius.setter
    def celsius(self, value: float) -> None:
        if value < self._absolute_zero:
            raise ValueError(f"{value} is below absolute zero")
        self._kelvin = value - self._absolute_zero

    @property
    def fahrenheit(self) -> float:
        return round(self.celsius * 9 / 5 + 32, 2)

    @fahrenheit.setter
    def fahrenheit(self, value: float) -> None:
        self.celsius = (value - 32) * 5 / 9

    @celsius.deleter
    def celsius(self) -> None:
        print("resetting")
        self._kelvin = 0.0


t = Temperature(25)
print(t.celsius, t.fahrenheit)
t.fahrenheit = 212
print(t.celsius)
del t.celsius
print(t.celsius, vars(t))
try:
    t.celsius = -300
except ValueError as e:
    print(e)
t2 = Temperature()
try:
    t2.kelvin
except AttributeError as e:
    print("AttributeError:", e)
print(hasattr(t2, "_kelvin"), hasattr(t2, "rankine"), getattr(t2, "_kelvin", None), Temperature.__doc__)
