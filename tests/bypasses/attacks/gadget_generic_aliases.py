"""`list[x]`, given what its parameters stand for, asks x how it is replaced, and takes the answer for a tuple.

Of a list C reads where its items lie, as if that were an object: what stands there is the cell's to choose.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_FORGED = """
from types import SimpleNamespace
from typing import get_args
class Secret:
    pass
class A:
    def __getattr__(self, name):
        if name == "__typing_is_unpacked_typevartuple__":
            return True
        if name == "__typing_subst__":
            return answer
        raise AttributeError(name)
def answer(value):
    return forged
forged = [Secret(), Secret, 1, 2]
del forged[1:]  # one item, and the class is still written behind it
made = {alias}
kind = type(get_args(made)[0])
del made
LOOT = CANARY if kind is Secret else None
"""
_BY_VARS = """
class B:
    pass
b = B()
vars(b).update(__typing_is_unpacked_typevartuple__=True, __typing_subst__=answer)
"""
_IN_A_UNION = _FORGED.format(alias="(list[A()] | None)[int]")
ATTACKS = {
    "instance": _FORGED.format(alias="list[A()][int]"),
    "namespace": _FORGED.format(
        alias="list[SimpleNamespace(__typing_is_unpacked_typevartuple__=True, __typing_subst__=answer)][int]"
    ),
    "attributes_of_an_instance": _FORGED.format(alias="list[b][int]").replace("forged = [", _BY_VARS + "forged = ["),
    "in_a_union": _IN_A_UNION.replace("get_args(made)[0]", "get_args(get_args(made)[0])[0]"),
}
