"""Library code that computes gets data: no hook of a cell's object is called by it, and none of its tables is lent."""

from __future__ import annotations

import contextlib
import datetime
import enum
import functools
import gc
import re
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from rlm_secure.guest.language import facades
from rlm_secure.guest.language.facades.data import data
from rlm_secure.guest.language.registry import own_class

from .cells import Session
from .test_facades import results
from .walk import walk

#: Every function of every facade that computes on its arguments, by what it takes in its first place.
COMPUTING = {
    "base64": "b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode b85decode b85encode "
    "a85decode a85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode "
    "urlsafe_b64encode",
    "calendar": "calendar isleap month monthcalendar monthrange setfirstweekday timegm weekday weekheader",
    "difflib": "context_diff get_close_matches ndiff restore unified_diff",
    "html": "escape unescape",
    "re": "compile escape findall finditer fullmatch match search split sub subn",
    "statistics": "correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median "
    "median_grouped pstdev pvariance quantiles stdev variance",
    "string": "capwords",
    "textwrap": "dedent fill indent shorten wrap",
    "time": "sleep strptime",
    "urllib.parse": "parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes "
    "urldefrag urlencode urljoin urlparse urlsplit urlunparse urlunsplit",
    "uuid": "uuid3 uuid5",
}
FUNCTIONS = [(module, name) for module, listed in COMPUTING.items() for name in listed.split()]

#: A class whose every attribute is a hook, and a class.
POSER = """
called = []
class Poser:
    def __getattr__(self, name):
        called.append(name)
        return (lambda *values, **options: called.append(name) or self)
    def __eq__(self, other):
        called.append("__eq__")
        return True
    def __hash__(self):
        called.append("__hash__")
        return 1
    def __gt__(self, other):
        called.append("__gt__")
        return False
    def __len__(self):
        called.append("__len__")
        return 1
class Klass:
    as_integer_ratio = staticmethod(lambda: (1, 1))
poser = Poser()
"""


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[f"{module}.{name}" for module, name in FUNCTIONS])
def test_a_computing_function_calls_no_hook(module: str, name: str) -> None:
    session = Session()
    session.run(POSER)
    session.run(f"import {module} as module\nfunction = module.{name}")
    for value in ("poser", "Klass", "len"):
        for call in (f"{value}", f"{value}, {value}", f"{value}, 'a', 'a'", f"[{value}]", f"[{value}], [1, 2]"):
            outcome = session.outcome(f"list(function({call}) or [1])" if name == "unified_diff" else f"function({call})")
            assert outcome != "ran" or (module, value) == ("re", "len"), call
    assert session.space["called"] == []


Point = namedtuple("Point", "x y")


class Level(enum.IntEnum):
    HIGH = 3


class Named(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None), (1, 1), (True, True), (2.5, 2.5), (1j, 1j), ("x", "x"), (b"x", b"x"), (range(3), range(3)),
        (Decimal("1.5"), Decimal("1.5")), (Fraction(1, 2), Fraction(1, 2)), (bytearray(b"x"), bytearray(b"x")),
        ([1, [2.5, ("a",)]], [1, [2.5, ("a",)]]), ({1, 2}, {1, 2}), (frozenset("ab"), frozenset("ab")),
        (deque([1, 2]), deque([1, 2])), ({"a": {"b": [1]}}, {"a": {"b": [1]}}), (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}), (OrderedDict(a=1), {"a": 1}), (Point(1, 2), (1, 2)), ([Point(1, 2)], [(1, 2)]),
        ([Level.HIGH, 1], [3, 1]), (Named("x"), "x"), ([Named("x")], ["x"]), ({Named("k"): 1}, {"k": 1}),
        ((x * x for x in range(3)), [0, 1, 4]), (map(str, [1, 2]), ["1", "2"]), ({"a": 1}.values(), [1]), (iter([1]), [1]),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 1)),
        (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
    ],
    ids=repr,
)  # fmt: skip
def test_data_is_copied_to_exact_types(value: Any, plain: Any) -> None:
    found = data(value, "f")
    assert (type(found), found) == (type(plain), plain)
    if type(found) in (list, dict, set, deque, bytearray):
        assert found is not value
    if type(found) is list:
        assert [type(item) for item in found] == [type(item) for item in plain]


class Zone(datetime.tzinfo):
    pass


class Money(float):
    pass


@pytest.mark.parametrize(
    "value",
    [int, Level, object(), len, [int], [object()], {"a": object()}, {Point: 1}, [[object()]], Money(1), [Money(1)], re,
     datetime.datetime(2024, 1, 1, tzinfo=Zone()), (int for _ in range(1)), [iter([1])]],
    ids=repr,
)  # fmt: skip
def test_what_is_no_data_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^f takes numbers, text and containers of them, not \w+; pass its values instead\.$"):
        data(value, "f")


def test_data_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="at most 16 levels"):
        data(loop, "f")


def test_a_fraction_is_data_when_its_parts_are() -> None:
    made = object.__new__(Fraction)
    made._numerator, made._denominator = 1, 2  # type: ignore[attr-defined]
    assert data(made, "f") == Fraction(1, 2)
    made._numerator = Money(1)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        data([made], "f")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        # what is changed after the call is not what the library reads
        ("import difflib\nlines = ['a']\nd = difflib.unified_diff(lines, ['b'])\nlines[0] = 'zz'\nprint('zz' in ''.join(d))", "False\n"),
        # a zone is never lent its inside
        (
            ("import datetime, zoneinfo\ngot = []\nclass D(datetime.datetime):\n    def replace(self, **how):\n"
            "        got.append(how)\n        return super().replace(**how)\n"
            "tz = zoneinfo.ZoneInfo('UTC')\nprint(tz.fromutc(D(2024, 1, 1, tzinfo=tz)), got)"),
            "2024-01-01 00:00:00+00:00 []\n",
        ),
        # merge goes by its own iterators
        (
            ("import heapq, json\nclass I:\n    def __init__(self): self.items = iter([2])\n    def __iter__(self): return self\n"
            "    def __next__(self): return next(self.items)\n"
            "i = I()\ni.__dict__['__next__'] = json.JSONDecoder().parse_constant\nprint(list(heapq.merge(i)))"),
            "[2]\n",
        ),
        # a decorator copies no __dict__
        (
            ("import contextlib, collections\nclass M(contextlib.ContextDecorator):\n    def __enter__(self): pass\n"
            "    def __exit__(self, *d): pass\nclass F:\n    def __init__(self): self.secret = 1\n"
            "    def __call__(self): return 2\nf = M()(F())\nprint(f(), hasattr(f, 'secret'))"),
            "2 False\n",
        ),
        # a Fraction keeps no cell's object
        (
            ("import fractions, numbers\nclass N:\n    numerator = denominator = property(lambda self: self)\n"
            "try:\n    numbers.Rational.register(N)\nexcept Exception:\n    pass\n"
            "try:\n    print(type(fractions.Fraction(N()).numerator))\nexcept TypeError as e:\n    print(e)"),
            "Fraction takes numbers, text and containers of them, not N; pass its values instead.\n",
        ),
        # attrgetter has nothing that could be written again
        (
            ("import operator\ng = operator.attrgetter('real')\n"
            "for name in ('_paths', 'x'):\n    try:\n        setattr(g, name, (('imag',),))\n    except Exception as e:\n"
            "        print(type(e).__name__)\nprint(g(3j), hasattr(g, '_paths'), hasattr(g, '__dict__'))"),
            "AttributeError\nAttributeError\n0.0 False False\n",
        ),
        ("import time\nclass T(float):\n    def __gt__(self, other): return False\ntry:\n    time.sleep(T(9))\nexcept TypeError as e:\n    print(e)", "time.sleep takes seconds as a plain number, not T.\n"),
        ("import difflib, textwrap\ntry:\n    difflib.SequenceMatcher.set_seq1(1, 2)\nexcept TypeError as e:\n    print(e)", "SequenceMatcher.set_seq1 takes an instance of its class as self.\n"),
        ("import zlib\nd = zlib.decompressobj()\nclass L:\n    def __lt__(self, o): return True\n    __gt__ = __lt__\n    def __index__(self): return 10**12\ntry:\n    d.decompress(b'', L())\nexcept TypeError as e:\n    print(e)", "decompress takes max_length as a plain int, not L.\n"),
    ],
)  # fmt: skip
def test_library_code_lends_a_cell_nothing(source: str, said: str) -> None:
    assert Session().run(source) == said


def test_the_hash_of_a_fraction_cannot_be_forged() -> None:
    session = Session()
    session.run("import fractions\nclass N(int):\n    def __hash__(self): return 0\n    def __eq__(self, other): return True")
    assert session.outcome("hash(fractions.Fraction(N(7), N(3)))") == "TypeError"
    assert hash(Fraction(1, 2)) == hash(0.5)


def test_every_function_that_is_not_c_was_decided_on() -> None:
    """A facade's plain Python function either takes data, or is ours, or is here with the reason."""
    decided = {
        "calendar.firstweekday": "takes nothing", "difflib.IS_CHARACTER_JUNK": "`in` alone", "difflib.IS_LINE_JUNK": "calls what it is given",
        "heapq.nlargest": "orders", "heapq.nsmallest": "orders", "pprint.isreadable": "repr", "pprint.isrecursive": "repr",
        "pprint.pformat": "repr", "pprint.pp": "repr", "pprint.pprint": "repr", "pprint.saferepr": "repr", "re.purge": "nothing",
        "statistics.median_high": "orders", "statistics.median_low": "orders", "statistics.mode": "counts",
        "statistics.multimode": "counts", "uuid.uuid4": "takes nothing",
    }  # fmt: skip
    undecided = []
    for module in sorted(facades.NAMES - {"typing", "types", "enum", "dataclasses", "abc"}):
        made = facades.load(module)
        for name in facades.members(made):
            value = getattr(made, name)
            code = getattr(value, "__code__", None)
            if code is not None and "rlm_secure" not in code.co_filename and f"{module}.{name}" not in decided:
                undecided.append(f"{module}.{name}")
    assert undecided == []


def test_no_named_tuple_of_a_library_has_defaults_that_a_cell_could_fill() -> None:
    roots: dict[str, object] = {name: facades.load(name) for name in facades.NAMES}
    found = [
        path
        for path, value in walk(roots | results(), {}, depth=4)
        if isinstance(value, type)
        and issubclass(value, tuple)
        and type(getattr(value, "_field_defaults", None)) is dict
        and not own_class(value)
    ]
    assert found == []


def _enums(kind: type) -> Iterator[Any]:
    for each in type.__subclasses__(kind):
        yield each
        yield from _enums(each)


class Number(int):
    """A cell's number, which is what a flag and it come to, and equal to nothing."""

    def __hash__(self) -> int:
        return 10

    def __eq__(self, other: object) -> bool:
        return False

    def __ror__(self, other: object) -> Number:
        return self

    __rxor__ = __ror__


def test_no_enum_of_a_library_keeps_a_number_of_a_cell() -> None:
    asked = []
    for kind in _enums(enum.Enum):
        if not kind._member_map_ or kind.__module__ not in facades.NAMES:
            continue
        asked.append(kind)
        member = next(iter(kind._member_map_.values()))
        for number in (Number(2), Number(1 << 40), Number(-3)):
            for ask in (kind, member.__class__, lambda x, m=member: m | x, lambda x, m=member: m ^ x):
                with contextlib.suppress(TypeError, ValueError):
                    ask(number)
        kept = [*kind._value2member_map_, *(each._value_ for each in kind._value2member_map_.values())]
        assert not [each for each in kept if type(each) is Number], kind
    assert re.RegexFlag in asked


_CACHE = type(functools.lru_cache(len))
_FEEDING = """
import typing
from fractions import Fraction
class K(int):
    def __call__(self):
        pass
    def __hash__(self):
        return int.__hash__(self)
    def __eq__(self, other):
        return True
class F(Fraction):
    _numerator = property(lambda self: K(7), lambda self, value: None)
    _denominator = property(lambda self: K(3), lambda self, value: None)
class G(typing.Generic[typing.TypeVar("T")]):
    pass
hash(F(7, 3))
for kind in (G, *(getattr(typing, name) for name in dir(typing))):
    for item in (K(1), (int, K(2)), ([K(3)], K(4))):
        try:
            kind[item]
        except Exception:
            pass
"""


def _held(value: object, depth: int = 5) -> Iterator[object]:
    yield value
    if depth:
        for each in gc.get_referents(value):
            if type(each) is not types.ModuleType and not isinstance(each, type | types.FunctionType):
                yield from _held(each, depth - 1)


def test_no_cache_of_a_library_holds_what_a_cell_made() -> None:
    session = Session()
    session.run(_FEEDING)
    kind = session.space["K"]

    gc.unfreeze()  # what is frozen is in no list

    def holding() -> list[str]:
        caches = [each for each in gc.get_objects() if type(each) is _CACHE]
        assert len(caches) > 10
        return [
            each.__qualname__
            for each in caches
            for table in gc.get_referents(each)
            if type(table) is dict
            for part in _held(list(table))
            if type(part) is kind
        ]

    assert holding() == []
    control = functools.lru_cache(lambda value: 1)
    control(kind(5))
    assert set(holding()) == {control.__qualname__}
