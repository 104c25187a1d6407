"""Functions that compute on data, given classes: `type(item)(value)` is a call of a metaclass."""

_ITEMS = """
import abc, statistics
class Answer(abc.ABC):
    pass
class Total:
    def __radd__(self, other):
        return self
    def __add__(self, other):
        return self
    def is_finite(self):
        return False
    def __truediv__(self, count):
        return Answer
    def __mul__(self, other):
        return self
    def __sub__(self, other):
        return self
class Item:
    @classmethod
    def as_integer_ratio(cls):
        return Total(), None
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "mean": _ITEMS + "LOOT = statistics.mean([Item])\n",
    "mean_of_two": _ITEMS + "LOOT = statistics.mean([Item, Item])\n",
}
