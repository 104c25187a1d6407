"""Functions that compute call `type(item)(...)` and methods of their items. Of a class that is `type` itself, which of a
class with another metaclass gives the metaclass.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"

_SUM = """
import abc, statistics
class B(abc.ABC):
    pass
class V:
    def __add__(self, other):
        return self
    __radd__ = __sub__ = __mul__ = __rmul__ = __add__
    def __truediv__(self, other):
        return B
    def is_finite(self):
        return False
class A:
    as_integer_ratio = staticmethod(lambda: (V(), None))
"""
ATTACKS = {
    "mean_of_classes": f"""
{_SUM}
LOOT = statistics.mean([A])
""",
    "mean_of_a_generator_of_classes": f"""
{_SUM}
LOOT = statistics.mean(each for each in [A])
""",
    "mean_of_named_tuples_of_classes": f"""
import collections
{_SUM}
LOOT = statistics.mean(collections.namedtuple("P", "x")(A))
""",
    "mean_of_a_lying_list": f"""
{_SUM}
class L(list):
    def __iter__(self):
        return iter([A])
LOOT = statistics.mean(L([1]))
""",
    "pvariance_of_classes": f"""
{_SUM}
class W(V):
    def __pow__(self, other):
        return self
    def __rsub__(self, other):
        return self
A.as_integer_ratio = staticmethod(lambda: (W(), None))
LOOT = statistics.pvariance([A])
""",
}
