"""Methods in C that are called without an object find none; those that are called with one do what they did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the cell of its argument, screened or plain, in a process whose methods nobody else changed.
_PROGRAM = """
import sys
if sys.argv[1] == "plain":
    exec(sys.argv[2], {"__name__": "__main__"})
else:
    from tests.guest.cells import Session
    print(Session().run(sys.argv[2]), end="")
"""


def _said(how: str, cell: str) -> list[str]:
    command = [sys.executable, "-c", _PROGRAM, how, cell]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.splitlines()


#: Each is called so often that the interpreter gives the call an instruction of its own, and says what it raises.
_UNBOUND = {
    "nothing on the stack": """
def call(a, b, c, d, method):
    try:
        method()
    except TypeError as error:
        return str(error)
for method in (list.pop, dict.get, str.split, bytes.hex):
    print({call(1, 2, 3, 4, method) for _ in range(100)})
""",
    "something on the stack": """
def call(x, method):
    (x, x, x, x, x, x)
    try:
        method()
    except TypeError as error:
        return str(error)
for method, x in ((list.pop, [1]), (dict.get, {}), (str.split, "x"), (bytes.hex, b"x"), (list.sort, [1])):
    print({call(x, method) for _ in range(100)}, [x, len(x)])
""",
    "library": """
from collections.abc import MutableSequence, MutableSet
def call(clear, kind):
    try:
        clear(kind)
    except TypeError as error:
        return str(error)
class D(dict):
    pass
for clear in (MutableSequence.clear, MutableSet.clear):
    for kind in (list, dict, D, bytearray):
        print({call(clear, kind) for _ in range(100)})
""",
    "append": """
from collections.abc import MutableSequence
def call(values):
    values.append(1)
def extend(values):
    MutableSequence.extend(values, (1, 2))
for add in (call, extend):
    for _ in range(100):
        add([])
    try:
        add(list)
    except TypeError as error:
        print(error)
""",
}
_EXPECTED = {
    "nothing on the stack": [
        f"{{'unbound method {name}() needs an argument'}}" for name in ("list.pop", "dict.get", "str.split", "bytes.hex")
    ],
    "something on the stack": [
        "{'unbound method list.pop() needs an argument'} [[1], 1]",
        "{'unbound method dict.get() needs an argument'} [{}, 0]",
        "{'unbound method str.split() needs an argument'} ['x', 1]",
        "{'unbound method bytes.hex() needs an argument'} [b'x', 1]",
        "{'unbound method list.sort() needs an argument'} [[1], 1]",
    ],
    "library": [f"{{'unbound method {name}.pop() needs an argument'}}" for name in ("list", "dict", "dict", "bytearray")]
    * 2,
    "append": ["descriptor 'append' for 'list' objects doesn't apply to a 'int' object"] * 2,
}


@pytest.mark.parametrize("how", sorted(_UNBOUND))
def test_nothing_is_taken_for_the_object(how: str) -> None:
    assert _said("screened", _UNBOUND[how]) == _EXPECTED[how]


_BOUND = """
import collections, datetime, decimal, io, re
class L(list):
    def append(self, value):
        super().append(value)
class S(str):
    pass
values, own = [], L()
for number in range(100):
    values.append(number)
    list.append(own, number)
    own.append(number)
add = values.append
add(1)
values.insert(0, 7)
deque, pop = collections.deque("abc"), values.pop
deque.insert(1, "x")
b = bytearray(b"abc")
for call in (
    lambda: values, lambda: own, lambda: [values.pop() for _ in range(20)], lambda: pop(0), lambda: values.index(5, 2),
    lambda: list.pop(values, 1), lambda: values.sort(key=lambda x: -x, reverse=True), lambda: values[:3],
    lambda: "a b".split(), lambda: S("a,b").split(sep=",", maxsplit=1), lambda: ["a b".split() for _ in range(20)][-1],
    lambda: {1: 2}.get(1), lambda: {1: 2}.pop(3, 4), lambda: {}.setdefault(1, 2), lambda: (300).to_bytes(2, "big"),
    lambda: int.from_bytes(b"ab", byteorder="little"), lambda: b"ab".hex("-"), lambda: b.pop(), lambda: deque,
    lambda: io.StringIO("a\\nb").readline(), lambda: re.compile("b").sub("x", "abc"), lambda: decimal.Decimal(2).sqrt(),
    lambda: datetime.date(2000, 1, 2).replace(day=3), lambda: "abc".translate({97: "x"}), lambda: "x".encode("utf-8"),
    lambda: list.append, lambda: list.append.__name__, lambda: list.append.__doc__, lambda: values.append.__name__,
    lambda: list.append is list.append, lambda: list.append == L.append, lambda: hasattr(own, "append"),
    lambda: list.append(), lambda: list.append(values), lambda: list.append(3, 4), lambda: values.append(1, 2),
    lambda: values.append(x=1), lambda: list.pop(3), lambda: [].pop(), lambda: [].pop(1, 2), lambda: "a".split(1),
    lambda: "a".split(x=1), lambda: {}.get(), lambda: [].sort(1), lambda: [].index(1), lambda: next(iter(set())),
):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_they_answer_as_those_of_python() -> None:
    assert _said("screened", _BOUND) == _said("plain", _BOUND)


_LEFT = """
import ctypes, sys, types
from rlm_secure.guest.language import facades, unbound_methods
from tests.guest.cells import ALL, Session
session = Session()
for name in sorted(ALL):
    session.run(f"import {name}")
session.run("import datetime, decimal, statistics, zoneinfo")
session.run("datetime.datetime.strptime('2000', '%Y').strftime('%c'); decimal.Decimal(1).ln(); 10 ** 5000 // 7 ** 3")
fast, slow = [], 0
for kind in unbound_methods._classes(object, set()):
    for name, method in list(vars(kind).items()):
        if type(method) is types.MethodDescriptorType:
            definition = ctypes.c_void_p.from_address(id(method) + 5 * 8).value
            assert ctypes.string_at(ctypes.c_void_p.from_address(definition).value).decode() == method.__name__
            flags = ctypes.c_int.from_address(definition + 16).value
            slow += flags in (0xC0, 0xC2)
            if flags in (0x80, 0x82):
                fast.append(f"{kind.__module__}.{kind.__qualname__}.{name}")
print(fast, slow > 100)
before = len(unbound_methods._kept)
unbound_methods.keep()
print(len(unbound_methods._kept) - before)
"""


def test_no_method_is_left_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LEFT], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=150
    )
    assert done.stdout.splitlines() == ["[] True", "0"], done.stderr[-2000:]
