"""Facades: what cells import. Each name is decided, none leads out, and what is there works as in plain Python."""

from __future__ import annotations

import builtins
import importlib
import json
import os
import random
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guest.language import facades, library, registry
from rlm_secure.guest.language.facades import binary, late, times
from rlm_secure.guest.session import values

from .cells import plain
from .walk import complaint, shared_containers, walk

ROOT = Path(__file__).parents[2]

facades.preload()


def load(name: str) -> Any:
    return facades.load(name)


def run(source: str, **names: object) -> dict[str, Any]:
    """Run `source` as plain Python whose functions and classes count as a cell's."""
    table = {name: value for name, value in vars(builtins).items() if name not in ("open", "__import__", "eval")}
    namespace: dict[str, Any] = {"__name__": registry.CELL, "load": load, **names}
    registry.register_globals(namespace)

    def build_class(*values: Any, **options: Any) -> Any:
        return registry.register(builtins.__build_class__(*values, **options), namespace)

    namespace["__builtins__"] = late.Builtins(table | {"__build_class__": build_class})
    exec(compile(textwrap.dedent(source), registry.FILENAME, "exec", dont_inherit=True), namespace)
    return namespace


def raised(function: Callable[[], object], kind: type[BaseException] = Exception) -> BaseException:
    with pytest.raises(kind) as caught:
        function()
    return caught.value


# ---- what exists ------------------------------------------------------------------------------------------------


def test_names_are_exact() -> None:
    for name in ("posix", "gc", "json.tool", "json.decoder", "os.posix", "importlib", "builtins", "collections.ab", ""):
        with pytest.raises(KeyError):
            facades.load(name)


def test_load_gives_the_same_object_every_time() -> None:
    assert facades.load("json") is facades.load("json")
    assert load("collections").abc is facades.load("collections.abc")
    assert load("urllib").parse is facades.load("urllib.parse")


@pytest.mark.parametrize("name", sorted(facades.NAMES - {"urllib"}))
def test_every_public_name_of_the_module_is_decided(name: str) -> None:
    """A new Python version that adds a name fails here until somebody has looked at it."""
    module = importlib.import_module(name)
    public = [
        word
        for word in getattr(module, "__all__", None) or dir(module)
        if not word.startswith("_") and not isinstance(getattr(module, word), types.ModuleType)
    ]
    made = facades.load(name)
    undecided = set(public) - set(facades.members(made)) - set(facades.left_out(made)) - library.further(name)
    assert undecided == set()


@pytest.mark.parametrize("name", sorted(facades.NAMES))
def test_every_reason_is_a_phrase_without_a_full_stop(name: str) -> None:
    for why in facades.left_out(facades.load(name)).values():
        assert len(why) > 6 and not why.endswith("."), why


# ---- nothing leads out ------------------------------------------------------------------------------------------


def results() -> dict[str, object]:
    """What calls of facade members give: instances, iterators, errors, made classes."""
    re, functools, collections, enum = load("re"), load("functools"), load("collections"), load("enum")
    io, csv, typing, dataclasses = load("io"), load("csv"), load("typing"), load("dataclasses")
    datetime, difflib, itertools = load("datetime"), load("difflib"), load("itertools")
    made = dataclasses.make_dataclass("Made", [("x", int), ("y", list, dataclasses.field(default_factory=list))])
    color, bits = enum.Enum("Color", "RED BLUE"), enum.IntFlag("Bits", "A B")

    @functools.lru_cache(maxsize=3)
    def cached(x: int) -> int:
        return x

    @load("contextlib").contextmanager
    def context() -> Any:
        yield 1

    cached(3)
    return {
        "match": re.match("(a)", "a"), "pattern": re.compile("a(?P<x>b)"), "scanner": re.compile("a").scanner("a"),
        "finditer": re.finditer("a", "a"), "re.error": raised(lambda: re.compile("(")),
        "partial": functools.partial(len, "x"), "cached": cached, "cache_info": cached.cache_info(),
        "cached partial": functools.cache(functools.partial(len)), "cached_property": functools.cached_property(cached),
        "cmp_to_key": functools.cmp_to_key(cached)(3), "namedtuple": collections.namedtuple("P", "x y")(1, 2),
        "Counter": collections.Counter("abc"), "elements": collections.Counter("abc").elements(),
        "defaultdict": collections.defaultdict(list),
        "ChainMap": collections.ChainMap({}), "deque": collections.deque(),
        "OrderedDict": collections.OrderedDict(),
        "JSONDecodeError": raised(lambda: load("json").loads("{")), "decoder": load("json").JSONDecoder(),
        "encoder": load("json").JSONEncoder(), "chunks": load("json").JSONEncoder().iterencode([1]),
        "TextWrapper": load("textwrap").TextWrapper(),
        "getcontext": load("decimal").getcontext(), "localcontext": load("decimal").localcontext(),
        "Decimal": load("decimal").Decimal("1.5"), "DecimalTuple": load("decimal").Decimal("1.5").as_tuple(),
        "getstate": load("random").getstate(), "Random": load("random").Random(1),
        "NormalDist": load("statistics").NormalDist(0, 1),
        "regression": load("statistics").linear_regression([1, 2], [3, 4]),
        "SequenceMatcher": difflib.SequenceMatcher(None, "ab", "ac"), "unified_diff": difflib.unified_diff("ab", "ac"),
        "blocks": difflib.SequenceMatcher(None, "ab", "ac").get_matching_blocks(), "Differ": difflib.Differ(),
        "now": datetime.datetime.now(datetime.timezone.utc), "isocalendar": datetime.date.today().isocalendar(),
        "zoned": datetime.datetime.now(load("zoneinfo").ZoneInfo("Europe/Paris")),
        "struct_time": load("time").localtime(), "clock": load("time").get_clock_info("time"),
        "TextCalendar": load("calendar").TextCalendar(), "dates": load("calendar").Calendar().itermonthdates(2024, 1),
        "sha256": load("hashlib").sha256(b"x"), "md5": load("hashlib").new("md5"),
        "compressobj": load("zlib").compressobj(), "decompressobj": load("zlib").decompressobj(),
        "StringIO": io.StringIO("a,b\n1,2\n"), "BytesIO": io.BytesIO(b"x"), "reader": csv.reader(["a,b"]),
        "DictReader": csv.DictReader(["a,b"]), "writer": csv.writer(io.StringIO()),
        "DictWriter": csv.DictWriter(io.StringIO(), ["a"]), "sniffed": csv.Sniffer().sniff("a,b\n1,2\n"),
        "dialect": csv.get_dialect("excel"), "uuid4": load("uuid").uuid4(),
        "urlparse": load("urllib.parse").urlparse("http://a/b"), "urlsplit": load("urllib.parse").urlsplit("http://a/b"),
        "dataclass": made(1), "fields": dataclasses.fields(made), "asdict": dataclasses.asdict(made(1)),
        "field": dataclasses.field(), "Color": color, "Color.RED": color.RED, "Bits": bits.A | bits.B, "auto": enum.auto(),
        "List[int]": typing.List[int], "Optional": typing.Optional[int], "TypeVar": typing.TypeVar("T"),
        "NewType": typing.NewType("X", int), "ForwardRef": typing.get_args(typing.List["x"]),
        "origins": [typing.get_origin(getattr(typing, n)[int]) for n in ("List", "Type", "Set", "Deque", "Optional")],
        "Callable": typing.Callable[[int], str], "arguments": typing.get_args(typing.Callable[[int], str]),
        "NamedTuple": typing.NamedTuple("P", [("x", int)])(1), "TypedDict": typing.TypedDict("TD", {"x": int}),
        "Annotated": typing.Annotated[int, "x"], "Literal": typing.Literal[1], "context": context(), "maker": context,
        "ExitStack": load("contextlib").ExitStack(), "suppress": load("contextlib").suppress(ValueError),
        "attrgetter": load("operator").attrgetter("x"), "methodcaller": load("operator").methodcaller("x"),
        "iterators": [itertools.chain("a"), itertools.count(), itertools.groupby("a"), itertools.tee("a")],
        "PrettyPrinter": load("pprint").PrettyPrinter(), "namespace": load("types").SimpleNamespace(x=1),
        "proxy": load("types").MappingProxyType({}), "generator": (x for x in "a"), "facade class": type(load("math")),
        "missing": raised(lambda: load("math").nothing),
    }  # fmt: skip


@pytest.mark.parametrize("roots", ["facades", "results"])
def test_nothing_that_is_reachable_leads_out(roots: str) -> None:
    start = {name: facades.load(name) for name in facades.NAMES} if roots == "facades" else results()
    shared = shared_containers()
    reached = list(walk(start, shared))
    assert len(reached) > 3000
    assert [(path, why) for path, value in reached if (why := complaint(value, shared))] == []


def test_the_walk_finds_what_real_modules_lead_to() -> None:
    """The control: the same walk from the members of real modules finds what it must not find in facades."""
    start = {
        f"{name}.{word}": value
        for name in ("json", "json.encoder", "statistics", "typing", "types")
        for word, value in vars(importlib.import_module(name)).items()
        if not word.startswith("_")
    }
    shared = shared_containers()
    found = {path: why for path, value in walk(start, shared) if (why := complaint(value, shared))}
    assert {
        "json.codecs": "is a module",
        "json.encoder.ESCAPE_DCT": "is the mutable json.encoder.ESCAPE_DCT",
        "statistics.sys": "is a module",
        "types.FunctionType": "is FunctionType",
        "types.ModuleType": "is ModuleType",
        "typing.NamedTupleMeta": "is a metaclass",
    }.items() <= found.items()


def calls(*arguments: str) -> list[str]:
    script = str(Path(__file__).with_name("calls.py"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=280
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines()


def test_no_call_of_anything_within_reach_gives_or_changes_what_it_must_not() -> None:
    *findings, last = calls("1", "30")
    assert findings == []
    assert int(last.split()[0]) > 100_000


def test_calling_everything_finds_planted_holes() -> None:
    """The control."""
    findings = calls("1", "10", "planted")[:-1]
    assert "hands_out_classes gave something that is type" in findings
    assert "writes_on_anything changed a host object" in findings


# ---- the object itself ------------------------------------------------------------------------------------------


def test_a_facade_cannot_be_changed() -> None:
    math = load("math")
    for change in (
        lambda: setattr(math, "pi", 3),
        lambda: setattr(math, "new", 3),
        lambda: delattr(math, "pi"),
        lambda: object.__getattribute__(math, "__dict__"),
    ):
        raised(change, AttributeError)
    assert math.pi > 3.14


def test_a_facade_cannot_be_subclassed_or_made() -> None:
    kind: Any = type(load("math"))
    raised(lambda: type("Mine", (kind,), {}), TypeError)
    raised(kind, TypeError)


def test_a_facade_looks_like_a_module() -> None:
    math = load("math")
    assert repr(math) == "<module 'math'>"
    assert repr(type(math)) == "<class 'module'>"
    assert not isinstance(math, types.ModuleType)
    assert dir(load("bisect")) == ["bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right"]


def test_a_facade_copies_as_itself_and_serialises_as_nothing() -> None:
    math = load("math")
    assert load("copy").deepcopy([math])[0] is math
    raised(lambda: math.__reduce_ex__(2), TypeError)


@pytest.mark.parametrize(
    ("module", "name", "sentence"),
    [
        (
            "json",
            "codecs",
            ("json.codecs is not in the json facade (a module, and json.codecs.open opens files); available: "
            "JSONDecodeError, JSONDecoder, JSONEncoder, dumps, loads, dump, load."),
        ),
        ("math", "sqr", "math.sqr is not in the math facade; close to it: sqrt, isqrt."),
        ("math", "zzzzz", f"math.zzzzz is not in the math facade; dir(math) lists the {len(dir(load('math')))} names that are."),
        (
            "typing",
            "get_type_hints",
            "typing.get_type_hints is not in the typing facade: it evaluates annotations that are strings.",
        ),
    ],
)  # fmt: skip
def test_a_missing_name_is_answered_in_one_sentence(module: str, name: str, sentence: str) -> None:
    assert str(raised(lambda: getattr(facades.load(module), name), AttributeError)) == sentence
    assert not hasattr(facades.load(module), name)


# ---- the same answers as plain Python ---------------------------------------------------------------------------

SAME = [
    "load('math').sqrt(2) + load('math').comb(10, 3) + load('math').fsum([.1] * 10)",
    "load('cmath').polar(1j)",
    "load('statistics').quantiles([1, 2, 3, 4, 5]), load('statistics').stdev([1, 2, 4])",
    "load('decimal').Decimal('1.10') + 1, load('fractions').Fraction(3, 6)",
    "load('random').Random(7).sample(range(100), 5)",
    "load('re').sub(r'(\\d+)', r'<\\1>', 'a1b22'), load('re').compile('a|b', load('re').I).findall('AbC')",
    "load('re').compile(r'(a)').sub(r'\\1\\1', 'aa'), load('re').match('(a)', 'a').expand(r'\\1')",
    "load('json').dumps({'b': [1, None, 'é'], 'a': 1.5}, indent=2, sort_keys=True, ensure_ascii=False)",
    "load('json').loads('[1, 2.5, {\"a\": null}]', parse_float=str)",
    "load('json').JSONDecoder().raw_decode('{\"a\": 1} rest')",
    "load('ast').literal_eval(\"{'a': [1, -2.5, (None, True)], 'b': {3}, 'c': b'x'}\")",
    "load('string').capwords('a b'), load('string').digits",
    "load('textwrap').fill('some words to wrap ' * 5, width=20), load('textwrap').dedent('  a\\n  b')",
    "load('textwrap').TextWrapper(width=10).wrap('a\\tb c d e f g h')",
    "load('unicodedata').name('é'), load('unicodedata').normalize('NFKC', 'ﬁ')",
    "list(load('difflib').unified_diff(['a'], ['b'], lineterm='')), load('difflib').get_close_matches('appel', ['apple'])",
    "load('collections').Counter('abracadabra').most_common(2)",
    "load('collections').namedtuple('P', 'x, y', defaults=[2])(1), load('collections').namedtuple('P', ['x'])(1)._asdict()",
    "load('collections').namedtuple('P', 'x def x _y', rename=True)._fields",
    "list(load('itertools').pairwise('abc')), list(load('itertools').groupby([1, 1, 2]))[0][0]",
    "load('functools').reduce(lambda a, b: a * b, range(1, 6)), load('functools').partial(int, base=2)('101')",
    "sorted([3, 1, 2], key=load('functools').cmp_to_key(lambda a, b: b - a))",
    "sorted([{'a': 2}, {'a': 1}], key=load('operator').itemgetter('a'))",
    "load('operator').attrgetter('real', 'imag')(1 + 2j), load('operator').methodcaller('split', ',')('a,b')",
    "load('heapq').nlargest(2, [1, 5, 3]), list(load('heapq').merge([1, 3], [2]))",
    "load('bisect').bisect([1, 2, 3], 2)",
    "load('datetime').datetime.strptime('2024-02-29 10:11', '%Y-%m-%d %H:%M') + load('datetime').timedelta(days=1)",
    "load('datetime').date(2024, 2, 29).strftime('%d %b %Y'), f\"{load('datetime').date(2024, 2, 29):%A}\"",
    "load('calendar').month(2024, 2), load('calendar').day_name[:2], load('calendar').monthrange(2024, 2)",
    "load('time').strftime('%Y', load('time').gmtime(0)), load('time').strptime('2024', '%Y').tm_year",
    "str(load('datetime').datetime(2024, 7, 1, 12, tzinfo=load('zoneinfo').ZoneInfo('America/New_York')))",
    "load('datetime').datetime(2024, 7, 1, tzinfo=load('datetime').timezone.utc).astimezone(load('zoneinfo').ZoneInfo('Asia/Tokyo'))",
    "load('zoneinfo').ZoneInfo('Europe/Paris')",
    "load('datetime').datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=load('zoneinfo').ZoneInfo('Europe/Paris')).utcoffset()",
    "load('hashlib').sha256(b'x').hexdigest(), load('hashlib').new('sha1', b'x').hexdigest()",
    "load('base64').b64encode(b'abc'), load('binascii').hexlify(b'abc'), load('zlib').crc32(b'abc')",
    "load('zlib').decompress(load('zlib').compress(b'abc' * 100))",
    (
        "(lambda b: (b.read(2), b.readline(), list(b), b.seek(0), b.write(b'X'), b.getvalue(), b.closed, b.close(), b.closed))"
        "(load('io').BytesIO(b'ab\\ncd\\nef'))"
    ),
    "list(load('csv').DictReader(load('io').StringIO('a,b\\n1,2\\n')))",
    "load('copy').deepcopy({'a': [1, (2, [3])]}), load('copy').copy([1, 2])",
    "load('pprint').pformat({'b': list(range(30)), 'a': 'x' * 90})",
    "load('uuid').uuid5(load('uuid').NAMESPACE_DNS, 'example.org')",
    "load('html').unescape('&lt;a&gt; &amp;'), load('html').escape('<')",
    "load('urllib.parse').urlparse('https://a.b/c?d=1#e').netloc, load('urllib.parse').quote('a b/ü')",
    "load('urllib.parse').parse_qs('a=1&a=2'), load('urllib.parse').urlencode({'a': 'ü b'})",
    "load('types').SimpleNamespace(a=1), dict(load('types').MappingProxyType({'a': 1}))",
    "load('typing').get_origin(load('typing').List[int]), load('typing').get_args(load('typing').Dict[str, int])",
    "load('typing').Optional[int], load('typing').cast(int, 'a')",
    "load('numbers').Integral, isinstance(3, load('numbers').Real)",
    "isinstance([], load('collections.abc').Sequence), isinstance({}, load('collections').abc.Mapping)",
    "load('enum').Enum('Color', 'RED BLUE').BLUE, list(load('enum').IntEnum('N', [('A', 5)]))",
]


@pytest.mark.parametrize("expression", SAME)
def test_a_facade_answers_as_the_module_does(expression: str) -> None:
    ours = run(f"result = ({expression})")["result"]
    plain: dict[str, Any] = {"load": importlib.import_module, "__name__": "__main__"}
    exec(f"result = ({expression})", plain)
    assert repr(ours) == repr(plain["result"])


CELLS = {
    "dataclasses": """
        from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass
        from typing import ClassVar, List
        @dataclass(order=True)
        class Point:
            x: int
            y: "int" = 0
            tags: List[str] = field(default_factory=list, compare=False)
            _hidden: int = 1
            kind: "ClassVar[str]" = "p"
            def norm(self):
                return self.x ** 2 + self.y ** 2
        @dataclass(frozen=True, slots=True)
        class Line:
            a: Point
            b: Point
        p = Point(1, tags=["t"])
        line = Line(p, replace(p, x=5))
        result = [repr(p), asdict(line), astuple(line), [f.name for f in fields(Point)], is_dataclass(p),
                  sorted([Point(2), Point(1)]), Point(1) == Point(1), p.norm(), line]
        try:
            line.a = 3
        except AttributeError as error:
            result.append(repr(error))
        """,
    "nested asdict": """
        from dataclasses import dataclass, asdict
        from collections import namedtuple, OrderedDict
        N = namedtuple("N", "a b")
        @dataclass
        class Leaf:
            v: object
        @dataclass
        class Tree:
            items: list
        result = asdict(Tree([Leaf({"a": Leaf([1])}), N(Leaf(1), 2), OrderedDict(a=Leaf(0)), (Leaf(3),), {1, 2}]))
        """,
    "enum": """
        from enum import Enum, IntEnum, StrEnum, Flag, IntFlag, auto, unique
        @unique
        class Color(Enum):
            RED = 1
            BLUE = auto()
            @property
            def pretty(self):
                return self.name.title()
            @classmethod
            def _missing_(cls, value):
                return cls.RED
        class N(IntEnum):
            ONE = 1
        class S(StrEnum):
            A = auto()
        class P(Flag):
            R = auto()
            W = auto()
        class Q(IntFlag):
            R = 1
            W = 2
        class Planet(Enum):
            EARTH = (1, 2)
            def __init__(self, mass, radius):
                self.mass = mass
        result = [Color(2), Color["RED"], Color(99), Color.RED.pretty, list(Color), N.ONE + 1, S.A, P.R | P.W, Q.R | Q.W,
                  Planet.EARTH.mass, Planet((1, 2)), Color.RED in Color, f"{S.A}", f"{N.ONE}", len(Color), {Color.RED: 1}]
        """,
    "functools": """
        from functools import lru_cache, wraps, total_ordering, cache, cached_property
        def twice(f):
            @wraps(f)
            def inner(*a):
                return f(*a) * 2
            return inner
        @twice
        def add(a, b):
            "Adds."
            return a + b
        @lru_cache(maxsize=None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        @lru_cache
        def one(): return 1
        @cache
        def two(x): return x
        @total_ordering
        class V:
            def __init__(self, v): self.v = v
            def __eq__(self, o): return self.v == o.v
            def __lt__(self, o): return self.v < o.v
            @cached_property
            def big(self): return self.v * 100
        result = [add(1, 2), add.__name__, add.__doc__, fib(80), fib.cache_info(), one(), two(3), V(1) <= V(2), V(3).big]
        """,
    "contextlib": """
        from contextlib import contextmanager, suppress, nullcontext, ExitStack, closing, ContextDecorator
        log = []
        @contextmanager
        def tag(name):
            log.append("<" + name)
            try:
                yield name
            except KeyError as error:
                log.append(repr(error))
            finally:
                log.append(name + ">")
        with tag("a") as a, suppress(ValueError):
            int("x")
        with tag("b"):
            raise KeyError("k")
        with ExitStack() as stack:
            stack.enter_context(tag("c"))
            stack.callback(log.append, "called")
        @tag("d")
        def decorated():
            log.append("body")
        decorated()
        with nullcontext(3) as three:
            log.append(three)
        result = log
        """,
    "typing": """
        from typing import NamedTuple, TypedDict, Generic, TypeVar, Protocol, Optional, Union, Callable, Any, Literal
        from typing import runtime_checkable, overload, final, List, Dict
        T = TypeVar("T")
        class P(NamedTuple):
            x: int
            y: int = 2
            def total(self): return self.x + self.y
        class TD(TypedDict, total=False):
            a: int
        class Stack(Generic[T]):
            def __init__(self) -> None: self.items: List[T] = []
            def push(self, item: T) -> None: self.items.append(item)
        @runtime_checkable
        class Sized(Protocol):
            def size(self) -> int: ...
        class Box:
            def size(self): return 1
        @final
        class Last: pass
        @overload
        def f(a: int) -> int: ...
        def f(a): return a
        s = Stack[int](); s.push(1)
        result = [P(1), P(1).total(), TD(a=1), s.items, isinstance(Box(), Sized), isinstance(3, Sized), f(1), P._fields]
        """,
    "copying": """
        from copy import copy, deepcopy
        from collections import OrderedDict, Counter, deque, defaultdict, ChainMap
        from datetime import datetime, timezone
        from decimal import Decimal
        from fractions import Fraction
        from types import SimpleNamespace
        from enum import Enum
        import re
        class Color(Enum):
            RED = [1]
        class Node:
            def __init__(self, v): self.v, self.kids = v, []
        class Slotted:
            __slots__ = ("a", "_b")
            def __init__(self): self.a, self._b = [1], 2
        class Hooked:
            def __copy__(self): return "copied"
            def __deepcopy__(self, memo): return "deep"
        class MyList(list): pass
        class MyDict(dict): pass
        class Failure(ValueError):
            def __init__(self, m): super().__init__(m); self.extra = [m]
        n = Node(1); n.kids.append(Node([2])); n.me = n
        d = deepcopy(n); c = copy(n)
        loop = []; loop.append((loop,)); l2 = deepcopy(loop)
        s = deepcopy(Slotted())
        m = MyList([[1]]); m.x = 1
        e = deepcopy(Failure("f"))
        shared = [1]; both = deepcopy([shared, shared])
        result = [d.v, d.kids[0].v, d.me is d, d.kids is not n.kids, c.kids is n.kids, l2[0][0] is l2, s.a, s._b,
                  copy(Hooked()), deepcopy(Hooked()), deepcopy(m), deepcopy(m).x, type(deepcopy(MyDict(a=[1]))).__name__,
                  e.extra, str(e), both[0] is both[1], deepcopy(Color.RED) is Color.RED, copy(Color.RED) is Color.RED]
        for value in (OrderedDict(a=[1]), Counter("aab"), deque([[1]], 3), defaultdict(list, a=[1]), ChainMap({1: [2]}),
                      datetime(2024, 1, 1, tzinfo=timezone.utc), Decimal("1.5"), Fraction(1, 3),
                      SimpleNamespace(a=[1]), {1, 2}, frozenset([3]), bytearray(b"x"), b"y", 1 + 2j, re.compile("a"), slice(1),
                      range(3), len, (1, [2]), ValueError("v", [1])):
            for made in (copy(value), deepcopy(value)):
                result.append([type(made).__name__, repr(made)])
        for hopeless in ((x for x in "a"),):
            for make in (copy, deepcopy):
                try:
                    make(hopeless)
                except TypeError as error:
                    result.append(str(error))
        """,
}


def as_facades(source: str) -> str:
    """`source` with its imports turned into loads, as the compiler does it."""
    lines = []
    for line in textwrap.dedent(source).splitlines():
        words = line.split()
        if words[:1] == ["from"]:
            lines.extend(
                f"{name.strip()} = load({words[1]!r}).{name.strip()}" for name in line.split("import")[1].split(",")
            )
        elif words[:1] == ["import"]:
            lines.append(f"{words[1]} = load({words[1]!r})")
        else:
            lines.append(line)
    return "\n".join(lines)


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_cell_gives_what_plain_python_gives(name: str) -> None:
    expected = plain(textwrap.dedent(CELLS[name]))[1]["result"]
    assert repr(run(as_facades(CELLS[name]))["result"]) == repr(expected)


# ---- our replacements -------------------------------------------------------------------------------------------

LYING_STR = """
class Lying(str):
    def isidentifier(self): return True
    def replace(self, *a): return self
    def split(self, *a): return [self]
    def startswith(self, *a): return False
    def __str__(self): return self
"""


@pytest.mark.parametrize(
    "source",
    [
        "load('collections').namedtuple('P', [Lying('x=evil()')])",
        "load('collections').namedtuple(Lying('P'), 'x')",
        "load('collections').namedtuple('P', Lying('x=evil()'))",
        "load('collections').namedtuple('P', 'x=evil()')",
        "load('collections').namedtuple('P', '＿cls')",
        "load('collections').namedtuple('P', 'x', module='os')",
        "load('dataclasses').make_dataclass('D', [Lying('x:int=evil()')])",
        "load('dataclasses').make_dataclass('D', [(Lying('x=evil()'), int)])",
        "load('dataclasses').make_dataclass(Lying('D'), ['x'])",
        "load('dataclasses').make_dataclass('D', ['__class__'])",
        "load('dataclasses').make_dataclass('D', ['x'], namespace={'__text_signature__': '(x=evil)'})",
        "load('dataclasses').make_dataclass('D', ['x'], bases=[object])",
        "load('dataclasses').make_dataclass('D', ['x'], bases=(load('pprint').PrettyPrinter,))",
        "load('io').BytesIO.write(load('pprint').PrettyPrinter(), b'x')",
        "load('enum').Enum('E', {'__getattribute__': evil})",
        "load('enum').Enum('E', {'_x_': evil})",
        "load('enum').Enum('E', 'A', module='os')",
        "load('enum').Enum('E', 'A', type=int)",
        "load('enum').Enum(Lying('E'), 'A')",
        "load('enum').Enum('E', [Lying('A')])",
        "load('operator').attrgetter('__class__')",
        "load('operator').attrgetter('real.__class__')",
        "load('operator').attrgetter('gi_frame')",
        "load('operator').attrgetter('x.mro')",
        "load('operator').attrgetter(Lying('__class__'))",
        "load('operator').methodcaller('__subclasses__')",
        "load('operator').methodcaller('format', evil)",
        "load('operator').methodcaller(Lying('__class__'))",
        "load('json').dumps(1, cls=evil)",
        "load('json').loads('1', cls=evil)",
        "load('ast').literal_eval('__import__(\"os\")')",
        "load('ast').literal_eval('evil()')",
        "load('ast').literal_eval(Lying('1'))",
        "load('functools').total_ordering(load('json').JSONEncoder)",
        "load('dataclasses').dataclass(load('json').JSONEncoder)",
        "load('dataclasses').dataclass(Poser())",
        "load('dataclasses').fields(Poser())",
        "load('dataclasses').asdict(Poser())",
        "load('contextlib').contextmanager(Poser())",
        "load('io').BytesIO(b'x').getbuffer()",
        "load('time').sleep(60)",
        "load('hashlib').new('md4')",
        "load('zoneinfo').ZoneInfo('../../etc/passwd')",
        "load('zoneinfo').ZoneInfo(Lying('Europe/Paris'))",
    ],
)
def test_a_replacement_refuses(source: str) -> None:
    poser = """
class Poser:
    def __getattr__(self, name):
        if name == "__annotations__": return {"x=evil()": int}
        if name == "__dataclass_fields__": return {"x": self}
        if name == "__mro__": return (object,)
        if name == "name": return "__globals__"
        raise AttributeError(name)
def evil(*a, **k): raise AssertionError("ran")
"""
    namespace = run(LYING_STR + poser)
    with pytest.raises(
        (TypeError, ValueError, AttributeError, KeyError, load("zoneinfo").ZoneInfoNotFoundError, OSError)
    ):
        exec(source, namespace)


def test_wraps_leaves_foreign_functions_alone() -> None:
    dumps = load("json").dumps
    before = dumps.__name__
    assert load("functools").wraps(len)(dumps) is dumps
    assert dumps.__name__ == before


def test_annotations_of_a_dataclass_are_checked_again() -> None:
    """A class body only gives identifiers; a dict of annotations that was changed afterwards might not."""
    namespace = run("class C:\n    x: int = 0\nC.__annotations__['y=evil()'] = int")
    raised(lambda: load("dataclasses").dataclass(namespace["C"]), ValueError)


def test_dataclass_never_asks_for_a_signature() -> None:
    made = run("""
        @load('dataclasses').dataclass(init=False)
        class C:
            __text_signature__ = "(x=__import__('os'))"
            x: int = 0
        """)["C"]
    assert made.__doc__ == "C"


REDUCE = [
    "def __reduce_ex__(self, protocol): return (victim, (), (None, {'default': 1}))",
    "def __reduce__(self): return (victim, (), {'default': 1})",
    "def __getstate__(self): return {'default': 1}",
    "def __setstate__(self, state): raise AssertionError('ran')",
    "def __getnewargs__(self): return (1,)",
]


@pytest.mark.parametrize("hook", REDUCE)
@pytest.mark.parametrize("call", ["copy(Evil())", "deepcopy(Evil())", "deepcopy([Evil()])", "asdict(Holder(Evil()))"])
def test_copies_run_no_reduce_hooks_of_cells(hook: str, call: str) -> None:
    source = f"""
copy, deepcopy = load('copy').copy, load('copy').deepcopy
asdict, dataclass = load('dataclasses').asdict, load('dataclasses').dataclass
class Target: pass
target = Target()
def victim(): return target
class Evil:
    {hook}
@dataclass
class Holder:
    value: object
"""
    namespace = run(source)
    assert "copy does not run __" in str(raised(lambda: exec(call, namespace), TypeError))
    assert vars(namespace["target"]) == {}


@pytest.mark.parametrize(
    "body",
    [
        "def __new__(cls, *a): return target",
        "def __getattribute__(self, name): return {'default': 1} if name == '__dict__' else object.__getattribute__(self, name)",
        "def __getattribute__(self, name):\n        return (lambda: (None, {'__class__': Other})) if name == '__getstate__' else object.__getattribute__(self, name)",
    ],
)
def test_copies_only_write_to_a_fresh_instance_of_the_same_class(body: str) -> None:
    namespace = run(f"""
class Target: pass
class Other: pass
target = Target()
class Evil:
    {body}
maker = Evil.__dict__.get('__new__')
evil = object.__new__(Evil)
""")
    for name in ("copy", "deepcopy"):
        try:
            made = getattr(load("copy"), name)(namespace["evil"])
        except TypeError:
            continue
        assert type(made) is namespace["Evil"]
    assert vars(namespace["target"]) == {}


def test_a_reduce_hook_does_steer_the_standard_copy() -> None:
    """The control: with the real module the same class writes an attribute onto any object."""
    namespace = run("""
class Target: pass
target = Target()
class Evil:
    def __reduce_ex__(self, protocol): return (lambda: target, (), (None, {'default': 1}))
""")
    importlib.import_module("copy").copy(namespace["Evil"]())
    assert namespace["target"].default == 1


def test_replace_makes_the_same_class_or_nothing() -> None:
    if sys.version_info < (3, 13):
        assert not hasattr(load("copy"), "replace")
        return
    namespace = run("""
date, SimpleNamespace = load('datetime').date, load('types').SimpleNamespace
replace = load('copy').replace
class Other(SimpleNamespace):
    armed = False
    def __new__(cls, *a, **k): return 5 if cls.armed else super().__new__(cls)
other = Other(a=1)
Other.armed = True
P = load('collections').namedtuple('P', 'x y')
result = [replace(P(1, 2), x=3), replace(date(2024, 1, 1), year=2023), replace(SimpleNamespace(a=1), a=2)]
""")
    assert repr(namespace["result"]) == "[P(x=3, y=2), datetime.date(2023, 1, 1), namespace(a=2)]"
    raised(lambda: load("copy").replace(namespace["other"], a=2), TypeError)
    raised(lambda: load("copy").replace([1]), TypeError)
    raised(lambda: load("copy").replace(int), TypeError)


@pytest.mark.parametrize("name", ["Mapping", "Sequence", "Iterable", "Callable"])
def test_registering_a_class_with_an_abc_does_not_change_what_the_guest_reports(name: str) -> None:
    """register() is a plain call that changes isinstance() in this process; results rest on exact types."""
    namespace = run("class Own:\n    def __iter__(self): raise AssertionError\n    __call__ = __len__ = __iter__")
    kind = getattr(load("collections.abc"), name)
    assert kind.register(namespace["Own"]) is namespace["Own"]
    assert isinstance(namespace["Own"](), kind)
    assert values.describe(namespace["Own"](), 1000) == {"type": "Own", "repr": "<Own object>"}


def test_decompression_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "DECOMPRESSED_BYTES", 10_000)
    zlib = load("zlib")
    bomb, fine = zlib.compress(bytes(10_001)), zlib.compress(b"x" * 10_000)
    assert zlib.decompress(fine) == b"x" * 10_000
    assert "more than 10000 bytes" in str(raised(lambda: zlib.decompress(bomb), zlib.error))
    assert "incomplete" in str(raised(lambda: zlib.decompress(fine[:-5]), zlib.error))
    stream = zlib.decompressobj()
    assert stream.decompress(bomb, 10) == bytes(10)
    raised(lambda: stream.flush(), zlib.error)
    again = zlib.decompressobj()
    assert again.decompress(fine + b"tail") + again.flush() == b"x" * 10_000
    assert (again.eof, again.unused_data, again.unconsumed_tail) == (True, b"tail", b"")


def test_sleep_is_bounded_and_says_so() -> None:
    load("time").sleep(0)
    assert "at most 1 second per call" in str(raised(lambda: load("time").sleep(times.SLEEP_SECONDS + 0.1), ValueError))


def test_the_random_facade_has_a_generator_of_its_own() -> None:
    state = random.getstate()
    load("random").seed(3)
    first = load("random").random()
    load("random").seed(3)
    assert load("random").random() == first
    assert random.getstate() == state
    facades.reseed()
    assert load("random").random() != first


def test_json_takes_an_encoder_that_derives_from_the_facade_s() -> None:
    namespace = run("""
class E(load('json').JSONEncoder):
    def default(self, o):
        return sorted(o)
result = load('json').dumps({1: {3, 2}}, cls=E)
stream = load('io').StringIO()
load('json').dump([1], stream)
stream.seek(0)
back = load('json').load(stream)
""")
    assert (namespace["result"], namespace["back"]) == ('{"1": [2, 3]}', [1])


# ---- after sealing ----------------------------------------------------------------------------------------------


def test_cells_builtins_have_no_import_and_c_code_has_one() -> None:
    made = late.Builtins({"len": len})
    assert vars(made) == {"len": len}
    assert "__import__" not in vars(made)
    namespace = {"__builtins__": made, "d": load("datetime").date(2024, 1, 1)}
    exec("text = d.strftime('%Y')", namespace)
    assert namespace["text"] == "2024"
    raised(lambda: exec("import os", namespace), ImportError)
    raised(lambda: exec("__import__", namespace), NameError)
    assert late.loaded("os") is None
    raised(lambda: late.loaded("antigravity"), ImportError)


def test_strftime_needs_the_stand_in() -> None:
    """The control: with a plain dict of builtins C finds no __import__."""
    raised(lambda: exec("d.strftime('%Y')", {"__builtins__": {}, "d": load("datetime").date(2024, 1, 1)}), KeyError)


SEALED = """
import resource, sys
from rlm_secure.guest.language import facades
from rlm_secure.guest.session import values
facades.preload()
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event in ("open", "os.listdir", "ctypes.dlopen") else None)
load = facades.load
results = [
    load("datetime").datetime.strptime("2024-03-01", "%Y-%m-%d").strftime("%A"),
    load("time").strftime("%Z", load("time").localtime()), load("time").strptime("2024 1 Jan", "%Y %d %b").tm_yday,
    str(load("datetime").datetime(2024, 7, 1, tzinfo=load("zoneinfo").ZoneInfo("Europe/Paris"))),
    *("\\xe4".encode(name).decode(name) for name in ("latin-1", "cp1252", "utf-16", "utf-8-sig", "iso8859-15", "idna")),
    "\\u3042".encode("shift_jis").decode("shift_jis"), "x".encode("gb18030"),
    *(load("hashlib").new(name).digest_size for name in sorted(load("hashlib").algorithms_guaranteed)),
    load("pprint").pformat({"a": 1}), load("uuid").uuid4().version, load("copy").deepcopy(load("collections").ChainMap({1: [2]})),
    load("statistics").median([1, 2]), load("html").unescape("&eacute;"), load("csv").Sniffer().sniff("a;b").delimiter,
    load("decimal").Decimal(2).sqrt(), load("difflib").get_close_matches("a", ["a"]), load("base64").b85encode(b"x"),
    10**50_000 // (10**20_000 + 1) > 0, load("unicodedata").name("a"), load("re").compile("(a)").sub(r"\\1", "a"),
]
try:
    "x".encode("no-such-codec")
except LookupError:
    pass
assert results[1] == "UTC", results[1]
print([path for path in opened if not str(path).endswith("no_such_codec")])
"""


def test_after_preload_no_facade_opens_a_file() -> None:
    # What measures branches writes a file when it ends.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SEALED], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.strip().splitlines()[-1:] == ["[]"], json.dumps(done.stdout)
