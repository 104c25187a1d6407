"""Calls everything that a cell can reach through facades, with hostile arguments, and looks at what comes of it.

Run as a script: `calls.py SEED ROUNDS` prints one line per finding, and at last how many calls were made. This is how
Counter.copy(int), which was `type`, and deepcopy's memo, which held private state, were found. With `planted` as a third
argument, two functions with such holes are among those that are called.
"""

from __future__ import annotations

import csv
import io
import itertools
import random
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from rlm_secure.guest.language import classes, compiler, facades, guards  # noqa: E402
from tests.bypasses import arena, host  # noqa: E402
from tests.guest import test_facades  # noqa: E402
from tests.guest.walk import shared_containers, walk  # noqa: E402

#: Own classes and functions that answer to everything, keep what they are given, and hand on what they have.
CELL = """
import abc, collections, dataclasses, enum, json
def own(*a, **k):
    if len(kept) < 100: kept.append((a, k))
    return a[0] if a else None
def gen(*a):
    own(*a)
    yield record
class Poser:
    x = 1
    _y = 2
    def __init__(self, *a, **k): self.a = a
    def __call__(self, *a, **k): return own(*a, **k)
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return own
    def __getitem__(self, key):
        if key == 3: raise IndexError
        return record
    def __len__(self): return 2
    def __iter__(self): return iter((record, helper))
    def __eq__(self, other): own(other); return True
    def __hash__(self): return 1
    def __lt__(self, other): own(other); return True
    def __str__(self): return "_secret"
    def __enter__(self): return self
    def __exit__(self, *a): own(*a); return True
    def __format__(self, spec): return spec
    def __get__(self, *a): own(*a); return self
    def __set__(self, *a): own(*a)
    def __set_name__(self, *a): own(*a)
class Holder:
    maps = ((), {"__getattr__": own})
    data = {}
    a = b = args = func = keywords = gen = kwds = template = fieldnames = line_num = 1
    numerator = denominator = _numerator = _denominator = 2
    default_factory = list
    _fields = ("x",)
class Lying(str):
    def startswith(self, *a): return False
    def isidentifier(self): return True
@dataclasses.dataclass
class Data:
    public: object = 1
    _secret: object = 2
class Kind(enum.Enum):
    A = 1
class Encoder(json.JSONEncoder): pass
class Decoder(json.JSONDecoder): pass
class Abstract(abc.ABC): pass
Pair = collections.namedtuple("Pair", "x public")
things = [own, gen, Poser(), Poser, Holder, Holder(), Data, Data(), Kind, Kind.A, Encoder, Encoder(), Decoder, Pair,
          Pair(1, 2), Abstract, Lying("_secret"), Lying("__globals__")]
"""
KEYWORDS = (
    "default key cls default_factory object_hook names module type bases namespace dict_factory memo factory fget updated "
    "assigned stream dialect func maxsize typed start parse_float fields rename defaults restkey public _secret"
).split()
BUILTINS = (
    "getattr setattr hasattr delattr vars dir isinstance issubclass map filter sorted min max sum zip super property "
    "classmethod staticmethod iter next type repr format hash reversed enumerate callable"
).split()
#: Waiting, counting without end, and reseeding are not what is tried here.
LEFT_OUT = ("sleep", ".count", "getrandbits", "randbytes", ".seed", ".setstate", "print", "prcal", "prmonth")


def half_made() -> list[type]:
    """Types of C whose instances, where they can be made without their function, are null inside: reading one ends the
    interpreter (CPython 3.11.2; 3.11.7 refuses to make them). A cell that does so loses its worker, and no more."""
    kinds = [type(csv.reader([])), type(csv.writer(io.StringIO()))]
    for kind in tuple(kinds):
        try:
            kind()
        except TypeError:
            kinds.remove(kind)
    return kinds


class OutOfTime(BaseException):
    """A call took too long."""


running = False


def out_of_time(*_: object) -> None:
    if running:
        raise OutOfTime


def pool(space: dict[str, Any]) -> list[Any]:
    """Values to call with."""
    record, helper = space["record"], space["helper"]
    return [
        *space["things"], record, helper, type(record), classes.Kind, facades.load("json"), ValueError, int, str, object,
        dict, list, AttributeError("x", name="a", obj=1), "_secret", "__globals__", "public", "x", "x y", "{0._secret}",
        "{0.__globals__}", {"public": 1}, {"_secret": 2}, {"x": int}, [record], [1, 2], [("_secret", int)], (helper,), 1, 0,
        2.5, b"x", None, True, (x for x in [record]), iter([record]), io.StringIO("a,b"),
    ]  # fmt: skip


def callables(space: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function, method and class within reach."""
    crashing = {id(kind) for kind in half_made()}
    roots = {name: facades.load(name) for name in facades.NAMES} | test_facades.results() | {"own": space["things"]}
    for path, value in walk(roots, shared_containers(), depth=5):
        owner = value.__self__ if isinstance(value, types.BuiltinMethodType) else None
        if id(value) in crashing or id(type(owner)) in crashing or any(word in path for word in LEFT_OUT):
            continue
        if callable(value):
            yield path, value
    builtins = vars(space["__builtins__"])
    yield from ((name, builtins[name]) for name in BUILTINS)


def arguments(choice: random.Random, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    picked = [choice.choice(values) for _ in range(choice.choice((0, 1, 1, 2, 2, 3, 4)))]
    named = choice.sample(KEYWORDS, choice.choice((1, 2))) if choice.random() < 0.25 else []
    # Fresh containers, so that one call's results are not the next one's loot.
    fresh = [dict(x) if type(x) is dict else list(x) if type(x) is list else x for x in picked]
    return fresh, {name: choice.choice(values) for name in named}


def state(space: dict[str, Any]) -> tuple[Any, ...]:
    """What no call may change."""
    record, helper = space["record"], space["helper"]
    return (
        dict(vars(record)),
        dict(vars(type(record))),
        dict(vars(helper)),
        helper.__defaults__,
        helper.__kwdefaults__,
        helper.__code__,
        type(record),
    )


def attempt(function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> list[Any]:
    """Everything that the caller sees of one call."""
    seen: list[Any] = []
    try:
        seen.append(function(*args, **named))
        if hasattr(type(seen[0]), "__next__"):
            seen.extend(itertools.islice(seen[0], 3))
    except OutOfTime:
        raise
    except BaseException as error:
        seen.extend(error.args)
    return seen


def bounded(function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> list[Any] | None:
    """`attempt`, or None after half a second."""
    global running
    try:
        running = True
        signal.setitimer(signal.ITIMER_REAL, 0.5, 0.1)
        seen = attempt(function, args, named)
        running = False
        return seen
    except OutOfTime:
        return None
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)


def hands_out_classes(value: object = None) -> object:
    """A hole, as Counter.copy was one."""
    return value.__class__


def writes_on_anything(value: Any = None) -> None:
    """A hole, as abc.abstractmethod was one."""
    value.marked = True


def main(seed: int, rounds: int, planted: bool) -> None:
    facades.preload()
    kept: list[Any] = []
    space: dict[str, Any] = guards.build_globals(facades.NAMES, lambda *values, **options: None)
    space.update(host.names(), kept=kept)
    compiler.run(compiler.compile_cell(CELL, source_bytes=1 << 20, ast_nodes=100_000), space)
    shared = shared_containers()
    values, choice, calls = pool(space), random.Random(seed), 0
    foreign = {
        value: dict(vars(value))
        for _, value in walk({name: facades.load(name) for name in facades.NAMES}, shared, depth=4)
        if isinstance(value, type)
    }
    record = space["record"]
    facades.load("copy").copy(record)  # copyreg keeps a note of its own on the class,
    getattr(type(record), "__annotations__", None)  # and so does the interpreter
    before = state(space)
    signal.signal(signal.SIGALRM, out_of_time)
    findings = set()
    holes = [(each.__name__, each) for each in (hands_out_classes, writes_on_anything)] * 40 if planted else []
    for path, function in [*callables(space), *holes]:
        for _ in range(rounds):
            kept.clear()
            args, named = arguments(choice, values)
            seen = bounded(function, args, named)
            if seen is None:
                break
            calls += 1
            try:
                why = arena.worth([*seen, list(kept)], shared, depth=4)
            except Exception:
                continue  # a poser that cannot even be looked at
            if why:
                findings.add(f"{path} gave something that {why}")
            if state(space) != before:
                findings.add(f"{path} changed a host object")
                before = state(space)
    for kind, members in foreign.items():
        changed = {name for name, value in vars(kind).items() if members.get(name) is not value} | (
            members.keys() - vars(kind).keys()
        )
        if changed - {"_abc_impl", "__slotnames__", "__annotations__"}:
            findings.add(f"{kind.__name__} was changed: {sorted(changed)}")
    for finding in sorted(findings):
        print(finding, file=sys.__stdout__)
    print(f"{calls} calls", file=sys.__stdout__, flush=True)  # at its end Python flushes sys.stdout alone


if __name__ == "__main__":
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()  # where calls write
    main(int(sys.argv[1]), int(sys.argv[2]), planted=sys.argv[3:] == ["planted"])
