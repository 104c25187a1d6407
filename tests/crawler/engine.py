"""The crawler: everything that a cell can reach is called with recorders, breadth first, and then again where it led on.

A call is written down as data (`Step`): what is called, with which values, and what the hooks answer one after the
other (the tape). A call that reaches a new sequence of hooks is kept, and tried again with one thing changed: so a
chain of five answers is found one answer at a time. Sessions are forks: what one changes, no other meets.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import json
import mmap
import os
import random
import resource
import select
import signal
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rlm_secure.guest.language import compiler, guards, names
from rlm_secure.guest.session import changes, repl, values
from tests.bypasses import host

from . import packages, recorders
from .kinds import Kinds, State, sealed

DEPTH = 4  # attributes of attributes of a member of a module
STEPS = 3000  # calls of one session
SECONDS = 0.3  # for one call
SESSION_SECONDS = 30  # of the processor
PATIENCE = 300  # seconds by the clock, of those in which this machine runs
MEMORY = 300 << 20  # bytes, beside what the process holds already: what was seen grows by the hour
_NO_MEMORY = 12  # ENOMEM
_EXTRA = tuple(sorted(names.READABLE | set(recorders.POSED) | names.CLOSED))
_LEAVES = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented)})
_PLAIN = _LEAVES | {list, tuple, dict, set, frozenset, bytearray, types.FunctionType, property, range, slice}
_BOUND = (types.BuiltinMethodType, types.MethodType, types.MethodWrapperType)
#: They wait, never end, or print: nothing comes of them.
LEFT_OUT = ("sleep", "breakpoint", "prcal", "prmonth")
ENDLESS = ("itertools.count", "itertools.cycle", "itertools.repeat")
KEYWORDS = (
    "default key cls default_factory object_hook names module type bases namespace dict_factory memo factory fget updated "
    "assigned stream dialect func maxsize typed start parse_float fields rename defaults restkey x initial n data file "
    "tuple_factory object_pairs_hook parse_int parse_constant sort_keys indent frozen slots order init repr eq"
).split()
_members = type.__dict__["__dict__"].__get__
_order = type.__dict__["__mro__"].__get__

#: `__name__` of cells' globals, and so `__module__` of their classes.
CELL = guards.build_globals(frozenset(), lambda *values: None)["__name__"]
Spec = tuple[Any, ...]


#: Of a bytearray for which there is no memory: its count of users is read before it is set, and it has no buffer.
#: Plain CPython 3.11 and 3.13 print this for `bytearray(b"x") * (1 << 40)`. Source: Objects/bytearrayobject.c,
#: PyByteArray_FromStringAndSize.
NEVER_MADE = "deallocated bytearray object has exported buffers"

#: What a process does, for the one that finds it dead.
crumbs = mmap.mmap(-1, 32 << 20)


def drop(text: str, *, first: bool = False) -> None:
    """Say what comes next."""
    if first:
        crumbs.seek(0)
    data = text.encode("utf-8", "replace").replace(b"\n", b" ") + b"\n"
    if crumbs.tell() + len(data) + 1 < len(crumbs):
        crumbs.write(data + b"\0")
        crumbs.seek(-1, os.SEEK_CUR)


def last_lines() -> list[str]:
    """What a dead process said."""
    return crumbs[: crumbs.find(b"\0")].decode("utf-8", "replace").splitlines()


def last_words() -> str:
    """What a dead process said last, but for its hooks."""
    return next((line for line in reversed(last_lines()) if not line.startswith("hook ")), "")


class OutOfTime(BaseException):
    """A call took too long."""


class Tripped(BaseException):
    """The interpreter was about to do what no cell may have done."""


@dataclass(frozen=True)
class Step:
    """One call: ("n", expression) is a name of the start, ("v", number) the result of an earlier step."""

    function: Spec
    args: tuple[Spec, ...]
    named: tuple[tuple[str, Spec], ...] = ()
    tape: tuple[int, ...] = ()


@dataclass
class Figures:
    """What was done."""

    reached: int = 0
    called: int = 0
    calls: int = 0
    given: int = 0
    kinds: int = 0
    sessions: int = 0
    lost: int = 0
    refused: int = 0

    def __str__(self) -> str:
        return (
            f"{self.reached} callables reached, {self.called} of them called, {self.calls} calls; hooks were given "
            f"{self.given} values of {self.kinds} kinds; {self.sessions} sessions, {self.lost} of them lost; "
            f"{self.refused} recorders refused"
        )


def write(spec: Spec) -> str:
    """The expression of a cell that gives what `spec` stands for."""
    kind, *rest = spec
    if kind == "n":
        return str(rest[0])
    if kind == "v":
        return f"v{rest[0]}"
    if kind == "c":
        return repr(rest[0])
    if kind == "a":
        return f"getattr({write(rest[0])}, {rest[1]!r})"
    inner = [write(each) for each in rest[0]] if kind != "d" else []
    if kind == "l":
        return f"[{', '.join(inner)}]"
    if kind == "t":
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    if kind == "i":
        return f"iter([{', '.join(inner)}])"
    return "{" + ", ".join(f"{key!r}: {write(value)}" for key, value in rest[0]) + "}"


def line(step: Step) -> str:
    """The call, as a cell would write it."""
    args = [write(each) for each in step.args] + [f"{name}={write(each)}" for name, each in step.named]
    return f"{write(step.function)}({', '.join(args)})  # {step.tape}"


@dataclass
class Found:
    """What a session reports: what is wrong, where, and the steps that led there."""

    what: str
    where: str
    steps: list[Step]
    picks: list[list[tuple[str, int]]] = field(default_factory=list)


def from_crumbs() -> Found:
    """The calls of a session that died, from what it said."""
    found = Found("", "", [])
    for text in last_lines():
        if text.startswith("hook "):
            _, hook, number = text.split(" ")
            found.picks[-1].append((hook, int(number)))
        else:
            found.steps.append(Step(*ast.literal_eval(text)))
            found.picks.append([])
    found.where = line(found.steps[-1])
    return found


class World:
    """One session's globals with all that is called, and the watch over it."""

    def __init__(self, modules: frozenset[str], planted: dict[str, Any] | None = None) -> None:
        self.out = io.StringIO()
        self.space: dict[str, Any] = guards.build_globals(modules, self._print)
        self.space.update(host.names(), note=self.note)
        for name in ("stop", "CANARY"):
            del self.space[name]
        self.modules = modules
        self.planted = planted or {}
        self.space.update(self.planted)
        self.refused: list[str] = []
        self.preamble: list[str] = []
        self.kinds: Kinds
        self.hooks: list[tuple[str, int]] = []
        self.complaints: list[tuple[str, str]] = []
        self.seen_kinds: set[type] = set()
        self.given = 0
        self.watching = False
        self.building = False
        self.running = False
        for name in sorted(modules):
            self._cell(f"import {name}")
        for source in recorders.cells():
            self._cell(source)
        for name, (source, _arity) in recorders.forms().items():
            self._cell(source)
        self.sizes = {name: len(table) for name, table in self.space["FIT"].items()}
        self.any = len(self.space["ANY"])
        self.kinds = Kinds(self.space)
        self.builtins = vars(self.space["__builtins__"])
        self.getattr = self.builtins["getattr"]
        sys.addaudithook(self._audit)
        sys.unraisablehook = unraisable

    def _print(self, *items: object, **options: Any) -> None:
        if type(options.get("file")) is not type(None):
            print(*items, **options)

    def _cell(self, source: str) -> None:
        try:
            compiler.run(compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=200_000), self.space)
            self.preamble.append(source)
        except Exception as error:
            if not isinstance(error, ImportError):
                self.refused.append(f"{source[:60]!r}: {error}"[:200])

    # The watch

    def note(self, hook: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Called by every hook."""
        if self.building:
            self.complaints.append((f"code of the cell ran while its result was built: {hook}", hook))
            return
        if not self.watching:
            return
        at = len(self.hooks)
        tape = self.space["tape"]
        number = tape[at] if at < len(tape) and type(tape[at]) is int else 0
        number %= self.sizes.get(hook, self.any)
        self.hooks.append((hook, number))
        drop(f"hook {hook} {number}")
        self.given += len(given) + len(named)
        if why := self.kinds.given(hook, given, named):
            self.complaints.append((why, f"given to {hook}"))
        for value in given:
            kind = type(value)
            if kind not in self.seen_kinds and kind not in _LEAVES:
                self.seen_kinds.add(kind)
                if is_own(kind):
                    continue
                self._attributes(value, f"given to {hook}")

    def _attributes(self, value: Any, where: str) -> None:
        """What the attributes of a value are that a cell had not met."""
        watching, self.watching = self.watching, False
        try:
            for name, found in self.readable(value):
                if why := self.kinds.complaint(found, 2):
                    self.complaints.append((why, f".{name} of a {type(value).__name__} {where}"))
        finally:
            self.watching = watching

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.running:
            return
        if event == "exec":
            if _trips(args[0]):
                self.complaints.append(("code of a hook ran inside generated code", "exec"))
                raise Tripped
        elif event in ("open", "function.__new__", "code.__new__", "marshal.loads", "pickle.find_class") or event.startswith(
            ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "pty.", "sys.settrace", "sys.setprofile", "gc.", "mmap.", "signal.")
        ):
            if event == "os.urandom" or event == "os.putenv":
                return
            self.complaints.append((f"the interpreter was made to {event}", f"{args!r:.80}"))
            raise Tripped(event)

    # What is there

    def readable(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Every attribute that the guards let a cell read."""
        kind = type(value)
        holder = value if type in _order(kind) else kind
        found = set(_EXTRA)
        for each in _order(holder):
            found.update(name for name in _members(each) if type(name) is str)
        if kind is types.MethodType:  # it has what its function has
            found.update(name for name in _members(type(value.__func__)) if type(name) is str)
        if holder is not value:
            with contextlib.suppress(Exception):
                found.update(name for name in object.__getattribute__(value, "__dict__") if type(name) is str)
        for name in sorted(found):
            try:
                yield name, self.getattr(value, name)
            except OutOfTime:
                raise
            except BaseException:
                continue

    def attempt(self, function: Any, args: Any, named: Any, tape: Any) -> list[Any]:
        """Call it as a cell does; the result, or the exception, and what it yields."""
        seen: list[Any] = []
        self.hooks = []
        self.watching = self.running = True
        try:
            seen.append(self.space["run"](function, args, named, tape))
            if hasattr(type(seen[0]), "__next__"):
                seen.append(self.space["drain"](seen[0]))
        except (OutOfTime, Tripped):
            raise
        except BaseException as error:
            error.__traceback__ = error.__context__ = None
            seen.append(error)
        finally:
            self.watching = self.running = False
        return seen

    def described(self, value: Any) -> None:
        """Build a result out of `value`: code of the cell must not run."""
        self.building = True
        try:
            values.describe(value, 65536)
            made = object.__new__(repl.Repl)
            made.namespace, made.final, made._result_bytes, made._value_bytes = {"answer": value, "x": value}, None, 1 << 20, 65536
            made._hidden, made._scaffold, made._given = frozenset(), {}, {}
            made.changes = changes.Changes(made.namespace)
            made.answer()
            made.variables()
            made.namespace = {"answer": {"content": value, "ready": True}}
            made.answer()
        except Exception:
            return
        finally:
            self.building = False


def unraisable(_: Any) -> None:
    """As in a worker: Python's own opens the source that it quotes."""


def _trips(code: Any) -> bool:
    if type(code) is not types.CodeType or code.co_filename == compiler.FILENAME:
        return False
    return recorders.TRIPWIRE in code.co_names or any(map(_trips, code.co_consts))


def is_class(value: Any) -> bool:
    """Whether `value` is a class; isinstance() would run the hooks of a recorder."""
    return type in _order(type(value))


def is_own(value: Any) -> bool:
    """Whether `value` is a recorder or a class or function of one."""
    kind = type(value)
    if kind is types.FunctionType:
        return bool(value.__globals__.get("__name__") == CELL)
    return _members(value if is_class(value) else kind).get("__module__") == CELL


def identity(value: Any) -> Any:
    """What makes `value` another one than those met before."""
    kind = type(value)
    if kind in _BOUND:
        owner = value.__self__
        function = value.__func__ if kind is types.MethodType else None
        of = next(each for each in _order(owner if is_class(owner) else type(owner)) if not is_own(each))
        return (kind, of, is_class(owner), id(function) if function else value.__name__)
    if kind is types.FunctionType and not is_own(value) and "<locals>" in value.__qualname__:
        inner = [cell.cell_contents for cell in value.__closure__ or ()]
        return (id(value.__code__), *(id(each) for each in inner if type(each) in (types.FunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)))
    return id(value)


class Reach:
    """Everything that expressions of a cell give, without calls of more than one step."""

    def __init__(self, world: World, crashing: frozenset[str] = frozenset(), *, thorough: bool = False) -> None:
        """`thorough`: call each function with all that there is to try, and not with the first that it takes."""
        self.world, self.thorough = world, thorough
        self._crashing = crashing
        self.pool: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        self.findings: list[Found] = []
        self._seen: set[Any] = set()
        self._types: set[type] = set()
        self._expanded: set[type] = set()
        self._counts: dict[type, int] = {}
        self._codes: dict[str, types.CodeType] = {}
        self._grow()
        buckets: dict[Any, list[str]] = {}
        mine: dict[Any, list[str]] = {}
        for name, value in self.pool.items():
            kind = type(value)
            if is_own(value) or "instances[" in name:
                mine.setdefault(name if is_class(value) else kind, []).append(name)
            else:
                if any(each in name for each in ENDLESS):
                    continue
                buckets.setdefault(kind, []).append(name)
        self.buckets = [tuple(each) for each in buckets.values()]
        self.mine = [tuple(each) for each in mine.values()]
        self.common = [name for name in (
            "rec", "Rec", "bare", "Bare", "asked", "Asked", "Asked", "askedall", "AskedAll", "AskedAll", "free", "mapping", "number", "data", "Data", "Maker", "pair", "proxy",
            "proxyrec", "descriptor", "error", "bound", "slots", "Sub", "sub", "object", "text", "Held", "type", "record", "helper", "int", "dict", "str", "type(record)",
        ) if name in self.pool or name == "type(record)"]  # fmt: skip

    def _grow(self) -> None:
        world = self.world
        level: list[tuple[str, Any]] = []
        for name in sorted(world.modules):
            level.append((name, eval_name(world, name)))
        level += [(name, value) for name, value in world.builtins.items() if name.isidentifier() and not names.is_dunder(name)]
        for name, value in list(world.space.items()):
            if guards.is_internal(name) or name in ("run", "drain", "note", "tape", "state", "pick", "hook", "poser", "ANY", "FIT", "instances") or name.isupper():
                continue
            level.append((name, value))
        for title, made in world.space["instances"].items():
            level += [(f"instances[{title!r}][{at}]", value) for at, value in enumerate(made)]
        level = self._walk(level, DEPTH)
        made = list(self._results(list(self.functions.items())))
        world.space.pop("called_", None)
        self._walk(made, 2)

    def _walk(self, level: list[tuple[str, Any]], depth: int) -> list[tuple[str, Any]]:
        _EXPANDED = self._expanded
        for depth_left in range(depth, 0, -1):
            deeper: list[tuple[str, Any]] = []
            for expression, value in level:
                key = identity(value)
                if key in self._seen or expression in self._crashing or any(word in expression for word in LEFT_OUT):
                    continue
                drop(expression, first=True)
                self._seen.add(key)
                if why := self.world.kinds.complaint(value):
                    self.findings.append(Found(why, expression, [Step(("n", "free"), (("n", expression),))]))
                    continue
                self.pool[expression] = value
                if callable(value) and (is_class(value) or not is_own(value.__func__ if type(value) is types.MethodType else value)):
                    self.functions[expression] = value
                kind = type(value)
                if kind in _EXPANDED or (is_own(value) and depth_left < depth):
                    continue
                if kind in _PLAIN:
                    _EXPANDED.add(kind)
                elif not is_class(value) and kind in self._counts and self._counts[kind] > 3:
                    continue
                self._counts[kind] = self._counts.get(kind, 0) + 1
                for name, found in self.world.readable(value):
                    if is_own(value) and is_own(found):
                        continue
                    written = f"{expression}.{name}" if not name.startswith("_") else f"getattr({expression}, {name!r})"
                    deeper.append((written, found))
            level = deeper
        return level

    def _results(self, functions: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """What comes of calling each with something simple: instances, iterators, made classes."""
        tries = (
            "", "1", "'x'", "[1, 2]", "rec", "free", "Rec", "mapping", "1, 2", "'a', 'b'", "free, [1]", "'X', 'a b'", "{'x': 1}",
            "datetime.datetime(2000, 1, 1)", "b'x'", "['a', 'b'], ['a', 'c']", "'X', int",
        )  # fmt: skip
        if packages.active():
            tries = packages.TRIES
        for expression, function in functions:
            if any(word in expression for word in (*LEFT_OUT, "register", "seed", "setstate", "setcontext", *ENDLESS)):
                continue
            if is_own(function) and not is_class(function):
                continue
            if type(function) in _BOUND and expression.count(".") > 2:
                continue
            call = self._call(expression)
            for text in tries:
                written = f"{expression}({text})"
                made = self._tried(written, call(text))
                if made is not None:
                    yield written, made
                    if not self.thorough:
                        break
            if is_class(function) or expression.startswith("typing."):
                for text in ("int", "rec", "Rec"):
                    written = f"{expression}[{text}]"
                    made = self._tried(written, lambda written=written: _compiled(f"result_ = {written}"), always=True)
                    if made is not None:
                        yield written, made
                        break

    def _call(self, expression: str) -> Callable[[str], Callable[[], types.CodeType]]:
        """What gives the code of a call of `expression` with the arguments of a text.

        Only a call of a bare name is compiled as one of that name (transformer.py): all others are the same code, of
        the call of a variable, which is bound once as a cell binds it. To compile each took most of the time.
        """
        if expression.isidentifier():
            return lambda text: lambda: _compiled(f"result_ = {expression}({text})")
        try:
            with alarm():
                compiler.run(_compiled(f"called_ = {expression}"), self.world.space)
        except BaseException:
            return lambda text: lambda: _compiled(f"result_ = {expression}({text})")
        return lambda text: lambda: self._of_a_variable(text)

    def _of_a_variable(self, text: str) -> types.CodeType:
        if text not in self._codes:
            self._codes[text] = _compiled(f"result_ = called_({text})")
        return self._codes[text]

    def _tried(self, written: str, code: Callable[[], types.CodeType], always: bool = False) -> Any:
        world = self.world
        if written in self._crashing:
            return None
        drop(written, first=True)
        try:
            made_of = code()
            world.hooks, world.watching = [], packages.active()  # what is given to a function of the cell
            with alarm():
                world.space["tape"][:] = ()
                world.space["state"][0] = 0
                compiler.run(made_of, world.space)
        except BaseException:
            return None
        finally:
            world.watching = False
        made = world.space.pop("result_")
        if packages.active() and (why := world.kinds.complaint(made)):
            self.findings.append(Found(why, written, []))
            return None
        kind = type(made)
        if kind in _LEAVES or kind in (list, dict, tuple, set) or (kind in self._types and not always):
            return None
        self._types.add(kind)
        return made


def _compiled(source: str) -> types.CodeType:
    return compiler.compile_cell(source, source_bytes=10_000, ast_nodes=1000)


def eval_name(world: World, name: str) -> Any:
    """What `import a.b` makes of `a.b`."""
    value = world.space[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


@contextlib.contextmanager
def alarm(seconds: float = SECONDS) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


_ringing = False
#: Code that the interpreter calls. It quotes the source of what is raised there, and so opens it: the alarm rings again.
UNDISTURBED = {World._audit.__code__, _trips.__code__, unraisable.__code__}


def out_of_time(_number: int, frame: types.FrameType | None) -> None:
    if _ringing and (frame is None or frame.f_code not in UNDISTURBED):
        raise OutOfTime


UNDISTURBED.add(out_of_time.__code__)


class Session:
    """A few thousand calls in one process, each able to use what the ones before gave."""

    def __init__(self, reach: Reach, seed: str, focus: list[str], corpus: list[Step]) -> None:
        self.world, self.reach = reach.world, reach
        self.dice = random.Random(seed)
        self.focus = focus
        self.kept: dict[Spec, list[Step]] = {}
        for step in corpus:
            self._keep(step)
        self.steps: list[Step] = []
        self.picks: list[list[tuple[str, int]]] = []
        self.results: list[tuple[int, Any]] = []
        self.extra: list[Spec] = []
        self.signatures: set[Any] = set()
        self.fresh: list[Step] = []
        self.found: list[Found] = []
        self.told: set[str] = set()
        self.kinds_met: Counter[type] = Counter()
        self.called: set[str] = set()
        self.buckets, self.mine, self.common = reach.buckets, reach.mine, reach.common
        starts = tuple({each.partition(".")[0] + "." for each in focus})
        self.focused = sorted(name for name in reach.pool if name.startswith(starts)) or self.common
        self.forms = {name: arity for name, (_, arity) in recorders.forms().items() if name in self.world.space}
        self.form_names = sorted(self.forms)

    # Making steps

    def value(self, depth: int = 0) -> Spec:
        dice = self.dice
        roll = dice.random()
        if roll < 0.36:
            return ("n", dice.choice(self.common))
        if depth == 0 and roll > 0.97:  # classes as data, which answer for what library code asks data
            return ("l", (("n", dice.choice(("Asked", "AskedAll"))),) * dice.choice((1, 2)))
        if roll < 0.48:
            return ("n", dice.choice(dice.choice(self.mine)))
        if roll < 0.58:
            return ("n", dice.choice(dice.choice(self.buckets)))
        if roll < 0.66:
            return ("n", dice.choice(self.focused))
        if roll < 0.72 and self.results:
            return ("v", dice.choice(self.results)[0])
        if roll < 0.86 and depth < 2:
            kind = dice.choice("lllttid")
            inner = [self.value(depth + 1) for _ in range(dice.choice((1, 1, 2, 2, 3)))]
            if kind == "d":
                keys = ("x", "__init__", "_secret", 1, "__class__", "A")
                return ("d", tuple((dice.choice(keys), each) for each in inner))
            return (kind, tuple(inner))
        return ("c", dice.choice((1, 0, 2, "x", "", "_x", "__class__", "{0._secret}", "x y", None, True, 2.5, "%Y", "x: TRIPWIRE = 0", "TRIPWIRE()", "a,b", "__init__", "maps", "X", -1)))

    def tape(self) -> tuple[int, ...]:
        dice = self.dice
        return tuple(0 if dice.random() < 0.3 else dice.randrange(self.world.any) for _ in range(dice.choice((2, 4, 6, 10))))

    def new_step(self, function: Spec | None = None) -> Step:
        dice = self.dice
        if function is None:
            roll = dice.random()
            if roll < 0.62 and self.focus:
                function = ("n", dice.choice(self.focus))
            elif roll < 0.82:
                function = ("n", dice.choice(self.form_names))
            elif roll < 0.92 and self.extra:
                function = dice.choice(self.extra)
            else:
                function = ("n", dice.choice(self.reach_names))
        arity = self.forms.get(function[1]) if function[0] == "n" else None
        if arity is None:
            arity = dice.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4))
        args = tuple(self.value() for _ in range(arity))
        named: tuple[tuple[str, Spec], ...] = ()
        if dice.random() < 0.15:
            known = self._parameters(function) or KEYWORDS
            named = tuple((name, self.value()) for name in dice.sample(known, min(len(known), dice.choice((1, 2)))))
        return Step(function, args, named, self.tape())

    @property
    def reach_names(self) -> list[str]:
        names_ = self.__dict__.get("_names")
        if names_ is None:
            names_ = self.__dict__["_names"] = sorted(self.reach.functions)
        return names_

    def _parameters(self, function: Spec) -> list[str]:
        value = self.reach.functions.get(function[1]) if function[0] == "n" else None
        value = getattr(value, "__func__", value) if type(value) is types.MethodType else value
        if is_class(value):
            value = _members(value).get("__init__")
        if type(value) is not types.FunctionType:
            return []
        code = value.__code__
        return [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name not in ("self", "cls")]

    def changed(self, step: Step) -> Step:
        dice = self.dice
        roll = dice.random()
        tape = list(step.tape)
        if roll < 0.65 or not step.args:
            # What came last decides how it goes on: one of the last answers is another one, and what follows is new.
            at = max(len(tape) - 1 - min(int(dice.expovariate(0.7)), 5), 0)
            if tape and dice.random() < 0.85:
                tape[at] = dice.randrange(self.world.any)
                if dice.random() < 0.3:
                    del tape[at + 1 :]
            tape += self.tape()
            return Step(step.function, step.args, step.named, tuple(tape[:16]))
        args = list(step.args)
        if roll < 0.9:
            args[dice.randrange(len(args))] = self.value()
        elif roll < 0.95:
            dice.shuffle(args)
        else:
            return Step(("n", dice.choice(self.focus or self.form_names)), step.args, step.named, step.tape)
        return Step(step.function, tuple(args), step.named, tuple(tape))

    # Taking them

    def resolve(self, spec: Spec) -> Any:
        kind, *rest = spec
        if kind == "n":
            return self.reach.pool[rest[0]] if rest[0] in self.reach.pool else type(self.world.space["record"]) if rest[0] == "type(record)" else self.world.space[rest[0]]
        if kind == "v":
            return self.values[rest[0]]
        if kind == "c":
            return rest[0]
        if kind == "a":
            return self.world.getattr(self.resolve(rest[0]), rest[1])
        if kind == "d":
            return {key: self.resolve(value) for key, value in rest[0]}
        inner = [self.resolve(each) for each in rest[0]]
        return inner if kind == "l" else tuple(inner) if kind == "t" else iter(inner)

    def take(self, step: Step) -> None:
        global _ringing
        world = self.world
        number = len(self.steps)
        self.steps.append(step)
        drop(repr((step.function, step.args, step.named, step.tape)), first=not number)
        self.picks.append([])
        world.complaints.clear()
        seen: list[Any] = []
        ended = "result"
        try:
            _ringing = True
            signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.05)
            try:
                function = self.resolve(step.function)
                args = tuple(self.resolve(each) for each in step.args)
                named = {name: self.resolve(each) for name, each in step.named}
                seen = world.attempt(function, args, named, step.tape)
            finally:
                _ringing = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except OutOfTime:
            ended = "time"
        except Tripped:
            ended = "tripped"
        except BaseException as error:
            error.__traceback__ = None
            ended = type(error).__name__
        world.watching = world.running = world.building = False
        self.picks[-1] = list(world.hooks)
        self.values[number] = seen[0] if seen else None
        for value in seen:
            if BaseException in _order(type(value)):
                ended = type(value).__name__
                value = list(BaseException.args.__get__(value))
            if why := world.kinds.complaint(value):
                world.complaints.append((why, "result"))
        if seen:
            self._learn(number, seen[0])
        for what, where in world.complaints:
            self.tell(what, f"{write(step.function)}: {where}")
        self._look_at_what_c_code_printed(step, ended)
        if step.function[0] == "n":
            self.called.add(step.function[1])
        signature = (step.function, tuple(hook for hook, _ in world.hooks[:16]), ended)
        if world.hooks and signature not in self.signatures:
            self.signatures.add(signature)
            used = Step(step.function, step.args, step.named, tuple(index for _, index in world.hooks[:14]))
            self._keep(used)
            if not _local(step):
                self.fresh.append(used)

    def _learn(self, number: int, value: Any) -> None:
        kind = type(value)
        if kind in _LEAVES:
            return
        self.kinds_met[kind] += 1
        if self.kinds_met[kind] > 3 or (kind is type and self.kinds_met[kind] > 40):
            return
        self.results.append((number, value))
        if len(self.results) > 200:
            del self.results[self.dice.randrange(100)]
        if self.kinds_met[kind] == 1 and kind not in (list, tuple, dict, set):
            self.world.described(value)
            if is_own(kind) and len(self.kinds_met) > 60:
                return
            for name, found in self.world.readable(value):
                if why := self.world.kinds.complaint(found, 2):
                    self.world.complaints.append((why, f".{name} of the result"))
                elif callable(found):
                    self.extra.append(("a", ("v", number), name))

    def _look_at_what_c_code_printed(self, step: Step, ended: str) -> None:
        """Tell of an exception that C code could only print, as that of a buffer which is freed while it is in use."""
        printed = vars(sys).pop("last_value", None)
        for name in ("last_type", "last_traceback"):
            vars(sys).pop(name, None)
        said = str(printed) if type(printed) is SystemError else ""
        if printed is not None and not (ended == "MemoryError" and said == NEVER_MADE):
            self.tell(f"C code printed {type(printed).__qualname__}: {said}", write(step.function))

    def tell(self, what: str, where: str) -> None:
        key = what.partition("(")[0]
        if key not in self.told:
            self.told.add(key)
            self.found.append(Found(what, where, list(self.steps), [list(each) for each in self.picks]))

    def _keep(self, step: Step) -> None:
        self.kept.setdefault(step.function, []).append(step)

    def _kept(self) -> Step:
        """A call that led on: mostly one of those in focus, mostly a late one."""
        dice = self.dice
        mine = [spec for name in self.focus if (spec := ("n", name)) in self.kept] if dice.random() < 0.7 else []
        steps = self.kept[dice.choice(mine or list(self.kept))]
        return steps[-1 - min(int(dice.expovariate(0.1)), len(steps) - 1)] if dice.random() < 0.6 else dice.choice(steps)

    def go(self, count: int, state: State, canaries: list[tuple[str, Any, Any]]) -> None:
        self.values: dict[int, Any] = {}
        each = max(4, count // (4 * max(len(self.focus), 1)))
        todo = [name for name in self.focus for _ in range(min(each, 25))]
        for at in range(count):
            if at < len(todo):
                step = self.new_step(("n", todo[at]))
            elif self.kept and self.dice.random() < 0.65:
                step = self.changed(self._kept())
            else:
                step = self.new_step()
            if _has_word(step.function):
                continue
            self.take(step)
            if at % 100 == 99:
                for name, value, before in canaries:
                    if sealed(value) != before:
                        self.tell(f"the private side of {name} was changed", write(step.function))
        for name in state.changes():
            self.tell(f"shared state was changed: {name}", "session")


def _local(step: Step) -> bool:
    return "('v', " in repr((step.function, step.args, step.named))


def _has_word(spec: Spec) -> bool:
    return spec[0] == "n" and any(word in spec[1] for word in LEFT_OUT)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def limits() -> None:
    """Of a process in which anything may happen."""
    with open("/proc/self/statm") as statm:
        held = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (SESSION_SECONDS, SESSION_SECONDS + 5))  # SIGXCPU, and not SIGKILL


#: How the last process ended that said nothing.
lost_by = ""


def in_fork(work: Any) -> Any:
    """What `work()` returns as JSON, from a process of its own; the signal's number when it crashed; None when it hung or met a limit, see `lost_by`."""
    global lost_by
    reader, writer = os.pipe()
    gc.collect()
    gc.freeze()  # the world is there for all processes, and looked through by none
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            limits()
            signal.signal(signal.SIGALRM, out_of_time)
            dump, send = json.dumps, os.write
            data = dump(work()).encode()
            while data:
                data = data[send(writer, data) :]
        except MemoryError:
            os._exit(_NO_MEMORY)
        except BaseException as error:
            if os.environ.get("CRAWLER_DEBUG"):
                import traceback

                os.write(writer, json.dumps({"broken": "".join(traceback.format_exception(error))[-3000:]}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    data, left = b"", PATIENCE
    while left:
        ready, _, _ = select.select([reader], [], [], 1)
        if not ready:  # a second, or hours in which the machine stood still, and the other process as well
            left -= 1
            continue
        piece = os.read(reader, 1 << 16)
        if not piece:
            break
        data += piece
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    try:
        return json.loads(data)
    except ValueError:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        limits_ = {signal.SIGXCPU: f"after {SESSION_SECONDS} s of the processor", signal.SIGKILL: "killed from outside"}
        word = f"with {MEMORY >> 20} MiB more than it began with" if status == _NO_MEMORY << 8 else "without a word"
        lost_by = limits_.get(number, word) if left else f"after {PATIENCE} s"
        crashed = number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
        return number if crashed else None
