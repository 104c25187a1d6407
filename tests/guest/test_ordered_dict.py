"""The OrderedDict of cells: it does what the one in C does, and survives what that does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the cell of its argument, screened or plain, in a process whose OrderedDict nobody else changed.
_PROGRAM = """
import sys
if sys.argv[1] == "plain":
    exec(sys.argv[2], {"__name__": "__main__"})
else:
    from tests.guest.cells import Session
    print(Session().run(sys.argv[2]), end="")
"""
_CELL = """
import copy, json, typing, pprint, collections.abc
from collections import ChainMap, Counter, OrderedDict
class Held(OrderedDict):
    seen = []
    def __setitem__(self, key, value):
        self.seen.append(key)
        super().__setitem__(key, value)
class LRU(OrderedDict):
    def __init__(self, capacity=2):
        super().__init__()
        self.capacity = capacity
        self._private = 1
    def get(self, key):
        self.move_to_end(key)
        return self[key]
    def put(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.capacity:
            self.popitem(last=False)
class OrderedCounter(Counter, OrderedDict):
    pass
class Keyed:
    def keys(self):
        return ["x", "y"]
    def __getitem__(self, key):
        return key * 2
def made(kind=OrderedDict):
    return kind({"a": 1, "b": 2, "c": 3})
def after(change, kind=OrderedDict):
    od = made(kind)
    return change(od), list(od.items()), list(reversed(od)), od
def lru():
    c = LRU()
    c.put("a", 1); c.put("b", 2); c.get("a"); c.put("c", 3)
    return c, c._private, copy.copy(c).capacity, copy.deepcopy(c) == c, c.copy()
def drained(number):
    od, first = OrderedDict.fromkeys(range(number)), []
    while od:
        first.append(od.popitem(last=False)[0])
    return first == list(range(number))
def recursive():
    od = OrderedDict()
    od["me"] = od
    return od
def matched(od):
    match od:
        case OrderedDict(a=1):
            return 1
        case {"a": 1, **rest}:
            return rest
def attributes():
    od = made(Held)
    od.note = [1]
    return vars(od), copy.copy(od).note is od.note, copy.deepcopy(od).note, od.copy() == od, hasattr(od.copy(), "note")
def from_json():
    return json.loads('{"b": 1, "a": {"c": 2}}', object_pairs_hook=OrderedDict), json.dumps(made())
def joined(left, right):
    left |= right
    return left
for kind in OrderedDict, Held:
    for call in (
        lambda od: od.popitem(), lambda od: od.popitem(last=False), lambda od: od.popitem(False), lambda od: od.pop("b"),
        lambda od: od.pop("z", 5), lambda od: od.pop("z", default=5), lambda od: od.pop("z"), lambda od: od.move_to_end("a"),
        lambda od: od.move_to_end("c", last=False), lambda od: od.move_to_end("b", False), lambda od: od.move_to_end("z"),
        lambda od: od.move_to_end("z", last=False), lambda od: od.setdefault("a", 9), lambda od: od.setdefault("z"),
        lambda od: od.setdefault("z", default=4), lambda od: od.clear(), lambda od: od.update(a=7, q=8), lambda od: od.update(Keyed()),
        lambda od: od.update([("k", 1), "xy"]), lambda od: od.update({"k": 1}, r=2), lambda od: od.copy(), lambda od: od | {"z": 1},
        lambda od: {"z": 1} | od, lambda od: od | made(), lambda od: joined(od, {"a": 0}), lambda od: joined(od, [("t", 1)]),
        lambda od: od == made(), lambda od: od == OrderedDict(c=3, b=2, a=1), lambda od: od == {"c": 3, "b": 2, "a": 1},
        lambda od: {"c": 3, "b": 2, "a": 1} == od, lambda od: od != made(), lambda od: od != OrderedDict(c=3, b=2, a=1),
        lambda od: od == 3, lambda od: od != 3, lambda od: made(Held) == od, lambda od: repr(od), lambda od: pprint.pformat(od),
        lambda od: pprint.pformat(od, width=10), lambda od: copy.copy(od), lambda od: copy.deepcopy(od), lambda od: f"{od} {od!r}",
        lambda od: list(od), lambda od: list(od.keys()), lambda od: sorted(od.keys() | {"a"}), lambda od: list(reversed(od.items())),
        lambda od: list(od.values()), lambda od: od.items() == made().items(), lambda od: type(od), lambda od: isinstance(od, dict),
        lambda od: isinstance(od, collections.abc.MutableMapping), lambda od: typing.OrderedDict[str, int], lambda od: kind[str, int],
        lambda od: ChainMap(od, {}), lambda od: matched(od), lambda od: kind.fromkeys("ab", 2), lambda od: kind([("a", 1)], b=2),
        lambda od: kind(Keyed()), lambda od: type(od | {}), lambda od: type({} | od), lambda od: json.dumps(od), lambda od: dict(od), lambda od: {**od},
        lambda od: hash(od), lambda od: dict.update(od, a=2), lambda od: dict.pop(od, "z", 1),
    ):
        try:
            print(after(call, kind))
        except Exception as error:
            print(type(error).__name__, error if type(error) is KeyError else "")
        Held.seen.clear()
for call in (
    lambda: OrderedDict(), lambda: Held(), lambda: OrderedDict().popitem(), lambda: OrderedDict().popitem(last=False), lambda: lru(),
    lambda: drained(0), lambda: drained(5000), recursive, attributes, from_json, lambda: OrderedCounter("abracadabra"),
    lambda: OrderedDict(3), lambda: OrderedDict({}, {}), lambda: OrderedDict([(1, 2, 3)]), lambda: OrderedDict([([], 1)]), lambda: Held(a=1).seen,
    lambda: OrderedDict({1: 2}) | 3, lambda: 3 | OrderedDict(), lambda: typing.OrderedDict is OrderedDict, lambda: typing.OrderedDict({"a": 1}),
    lambda: OrderedDict.__name__, lambda: issubclass(OrderedDict, dict), lambda: isinstance({}, OrderedDict), lambda: issubclass(Held, typing.OrderedDict),
):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error if type(error) is KeyError else "")
"""


def _said(how: str) -> list[str]:
    command = [sys.executable, "-c", _PROGRAM, how, _CELL]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=150, check=True)
    return done.stdout.splitlines()


def test_it_answers_as_the_one_in_c() -> None:
    assert _said("screened") == _said("plain")


_TRAP = """
from collections import OrderedDict
from collections.abc import MutableMapping
def quiet(call):
    try:
        call()
    except (KeyError, RuntimeError):
        pass
def take():
    kept.extend([bytearray(64) for _ in range(300)])
class Taken(OrderedDict):
    def __getitem__(self, key):
        dict.clear(self)
        OrderedDict.clear(self)
        take()
        return 1
class Key:
    def __init__(self, number):
        self.number = number
    def __hash__(self):
        return self.number
    def __eq__(self, other):
        r.clear()
        take()
        return True
class Shown:
    def __repr__(self):
        r.clear()
        take()
        return "shown"
kept = []
r = OrderedDict((str(n), n) for n in range(60))
d = Taken(r)
"""


@pytest.mark.parametrize(
    "cell",
    [
        "quiet(lambda: d.copy()); quiet(lambda: d == Taken(r)); quiet(lambda: repr(d)); quiet(lambda: d | d)",
        "dict.clear(r); take(); quiet(lambda: r.popitem()); quiet(lambda: r.popitem(last=False))",
        "dict.clear(r); take(); quiet(lambda: MutableMapping.clear(r)); r['a'] = 1; dict.pop(r, 'a'); quiet(r.popitem)",
        "dict.clear(r); r['1'] = 1; quiet(r.popitem); quiet(lambda: r.move_to_end('1')); [quiet(r.popitem) for _ in range(80)]",
        "r['x'] = Shown(); r['y'] = 1; quiet(lambda: repr(r))",
        "r = OrderedDict((Key(n), n) for n in range(30)); s = OrderedDict(r); quiet(lambda: r == s); quiet(lambda: r == r.copy())",
        "r = OrderedDict((Key(n), n) for n in range(30)); quiet(lambda: r.keys() & {Key(3)}); quiet(lambda: r.keys() ^ {Key(3)})",
        "r = OrderedDict([(Key(1), 1), (2, 2)]); quiet(lambda: r.move_to_end(Key(1), last=False)); quiet(lambda: r.popitem(False))",
    ],
)
def test_no_hook_and_no_method_of_dict_takes_its_memory(cell: str) -> None:
    command = [sys.executable, "-c", _PROGRAM, "screened", _TRAP + cell + "\nprint('alive', len(list(r)) <= 90)"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=150)
    assert (done.returncode, done.stdout) == (0, "alive True\n"), done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "OrderedDict.copy(int)", "OrderedDict.copy({})", "OrderedDict.update([0], {0: 1})", "OrderedDict.setdefault([0], 1)",
        "OrderedDict.popitem({1: 2})", "OrderedDict.move_to_end({1: 2}, 1)", "OrderedDict.pop([1], 0)", "OrderedDict.fromkeys.__func__",
        "OrderedDict.copy.__globals__", "OrderedDict.copy.__closure__", "OrderedDict.__repr__.__wrapped__", "OrderedDict.__repr__(int)",
        "OrderedDict.__or__(int, {})", "OrderedDict.__init__([0], {0: 1})", "OrderedDict.__ior__([0], {0: 1})", "OrderedDict()._private",
        "setattr(OrderedDict, 'copy', 1)", "setattr(OrderedDict(), 'copy', 1)", "OrderedDict.__module__.x", "OrderedDict.__mro__[0].__dict__",
    ],
)  # fmt: skip
def test_its_methods_take_its_instances_and_lead_nowhere(call: str) -> None:
    from .cells import Session

    assert Session().outcome(f"from collections import OrderedDict\nprint({call})") in (
        "TypeError", "AttributeError", "dunder-attribute", "private-attribute", "attribute-store", "underscore-name", "private-name",
    )  # fmt: skip


def test_methods_reached_by_super_take_its_instances() -> None:
    from .cells import Session

    session = Session()
    session.run("""
from collections import OrderedDict
class D(OrderedDict):
    def reach(self, name):
        return getattr(super(), name)
    def of_class(name):
        return getattr(super(D, D), name)
found = []
values = [1]
for name, given in (
    ("copy", (int,)), ("__or__", (int, {})), ("__ror__", ([], {})), ("__ior__", (values, {0: 2})), ("__init__", (values, {0: 2})),
    ("update", (values, {0: 2})), ("setdefault", (values, 0)), ("__repr__", (int,)),
):
    try:
        result = D.of_class(name)(*given)
        if result is not NotImplemented:
            found.append((name, result))
    except TypeError:
        pass
    except Exception as error:
        if type(error).__name__ != "RuleViolation":
            raise
""")
    assert session.space["found"] == [] and session.space["values"] == [1]


def test_a_class_with_the_memory_of_another_makes_such_instances() -> None:
    from .cells import Session

    session = Session()
    session.run("""
from collections import OrderedDict, defaultdict
class D(OrderedDict, defaultdict):
    def __new__(cls, *values):
        return made or super().__new__(cls)
made = None
d = D()
made = OrderedDict(a=1)
""")
    assert session.outcome("defaultdict.copy(d)") == "TypeError"
    assert session.outcome("OrderedDict.copy(d)") == "TypeError"


def test_many_are_taken_from_the_front_in_good_time() -> None:
    from rlm_secure.guest.language.ordered_dict import OrderedDict

    items = OrderedDict.fromkeys(range(300_000))
    assert [items.popitem(last=False)[0] for _ in range(300_000)] == list(range(300_000))  # minutes, if gaps were left


def test_no_module_keeps_the_one_in_c() -> None:
    from rlm_secure.guest.language import ordered_dict

    ordered_dict.keep()
    kept = {name for name, module in list(sys.modules.items()) for value in vars(module).values() if value is ordered_dict._C}
    assert kept == {"rlm_secure.guest.language.ordered_dict"}
