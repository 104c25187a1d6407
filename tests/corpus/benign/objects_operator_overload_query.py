class Field:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return Condition(lambda row: row.get(self.name) == other, f"{self.name} == {other!r}")

    def __gt__(self, other):
        return Condition(lambda row: row.get(self.name, 0) > other, f"{self.name} > {other!r}")

    def isin(self, values):
        return Condition(lambda row: row.get(self.name) in values, f"{self.name} in {values!r}")

    __hash__ = None


class Condition:
    def __init__(self, test, text):
        self.test, self.text = test, text

    def __and__(self, other):
        return Condition(lambda r: self.test(r) and other.test(r), f"({self.text} and {other.text})")

    def __or__(self, other):
        return Condition(lambda r: self.test(r) or other.test(r), f"({self.text} or {other.text})")

    def __invert__(self):
        return Condition(lambda r: not self.test(r), f"not {self.text}")

    def __repr__(self):
        return self.text


rows = [{"city": "Bern", "pop": 134}, {"city": "Thun", "pop": 44}, {"city": "Biel", "pop": 55}, {"city": "Genf", "pop": 203}]
city, pop = Field("city"), Field("pop")
for query in ((pop > 50) & ~(city == "Biel"), (city == "Thun") | (pop > 200), city.isin(["Bern", "Basel"])):
    print(query, "->", [r["city"] for r in rows if query.test(r)])
try:
    {city: 1}
except TypeError as e:
    print("TypeError:", e)
