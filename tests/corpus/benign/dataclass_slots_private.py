from dataclasses import dataclass

@dataclass(slots=True)
class Counter:
    name: str
    _count: int = 0

    def hit(self, by: int = 1) -> "Counter":
        self._count += by
        return self

    @property
    def count(self):
        return self._count

a = Counter("a").hit().hit(5)
print(a, a.count)
try:
    a.other = 1
except AttributeError:
    print("no other attribute")
