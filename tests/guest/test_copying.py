"""deepcopy's memo: what it remembers is held, what cells store stays out of library objects."""

from __future__ import annotations

import pytest

from .cells import Session


def test_a_copy_that_failed_leaves_nothing_behind() -> None:
    printed = Session().run(
        """
from copy import deepcopy
memos = []
class Fails:
    armed = True
    def __deepcopy__(self, memo):
        memos.append(memo)
        if Fails.armed:
            raise ValueError
        return "copied"
for make in (lambda: [1, Fails()], lambda: {"a": 1, "b": Fails()}, lambda: (1, Fails())):
    value, Fails.armed = make(), True
    try:
        deepcopy(value)
    except ValueError:
        pass
    Fails.armed = False
    print(deepcopy(value, memos[-1]))
"""
    )
    assert printed == "[1, 'copied']\n{'a': 1, 'b': 'copied'}\n(1, 'copied')\n"


def test_what_a_hook_stores_stands_for_no_part_of_a_library_object() -> None:
    printed = Session().run(
        """
from copy import deepcopy
from types import SimpleNamespace
class Stores:
    def __deepcopy__(self, memo):
        memo[id(whole.part)] = "another"
        return self
whole = SimpleNamespace(first=Stores(), part=[1])
print(deepcopy(whole).part)
"""
    )
    assert printed == "[1]\n"


def test_a_hook_that_stores_its_own_copy_meets_it_again() -> None:
    printed = Session().run(
        """
from copy import deepcopy
class Node:
    def __deepcopy__(self, memo):
        made = memo[id(self)] = Node()
        made.parts = deepcopy(self.parts, memo)
        return made
node = Node()
node.parts = [node, {"again": node}]
made = deepcopy(node)
print(made is node, made.parts[0] is made, made.parts[1]["again"] is made)
"""
    )
    assert printed == "False True True\n"


@pytest.mark.parametrize("use", ["copy.copy(memo)", "copy.deepcopy(memo)", "copy.deepcopy([memo], memo)"])
def test_a_memo_is_not_copied(use: str) -> None:
    session = Session()
    session.run(
        "import copy\nclass C:\n    def __deepcopy__(self, given):\n        global memo\n        memo = given\ncopy.deepcopy(C())"
    )
    assert session.outcome(use) == "TypeError"


def test_only_functions_of_the_list_rebuild_an_object() -> None:
    printed = Session().run(
        """
import copy, operator, zoneinfo, typing
print(copy.deepcopy(operator.methodcaller("replace", "a", "b"))("aa"))
print(copy.deepcopy(zoneinfo.ZoneInfo("Europe/Paris")), copy.deepcopy(typing.List[int]), list(copy.copy(iter([1, 2]))))
print(copy.deepcopy(str.join) is str.join, copy.copy(object.__repr__) is object.__repr__)
"""
    )
    assert printed == "bb\nEurope/Paris typing.List[int] [1, 2]\nTrue True\n"
