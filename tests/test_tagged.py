"""Values with tags: what the guest writes the host reads, and the other way round; nothing else gets through."""

from __future__ import annotations

import datetime
import json
import math
import time
import uuid
from collections import Counter, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure import tagged
from rlm_secure.guest.language import ordered_dict
from rlm_secure.guest.session import tagged as inside
from rlm_secure.tagged import CrowdedValue, MalformedValue, as_json, tag, untag

LIMIT, NODES = 1 << 20, 100_000



def _unfolded(moment: Any) -> Any:
    """ISO 8601 has no fold: a moment arrives as the first of two."""
    return moment.replace(fold=0)


def ordered(items: Any) -> Any:
    """An OrderedDict of the host. The guest, which is loaded here as well, replaces the name in every module."""
    return next(kind for kind in tagged._WRITERS if kind.__name__ == "OrderedDict")(items)


_ZONES = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-9, minutes=-30))])
#: Their parts may have 4,096 bits.
_FRACTIONS = st.fractions().filter(lambda each: max(abs(each.numerator), each.denominator).bit_length() <= 4096)
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(10**1500), 10**1500), st.floats(), st.complex_numbers(),
    st.text(st.characters(exclude_categories=["Cs"])), st.binary(), st.binary().map(bytearray), st.decimals(),
    _FRACTIONS, st.uuids(), st.dates(), st.times(timezones=_ZONES).map(_unfolded), st.datetimes(timezones=_ZONES).map(_unfolded), st.timedeltas(),
    st.builds(range, st.integers(-9, 9), st.integers(), st.integers(1, 9)),
)  # fmt: skip
_KEYS: st.SearchStrategy[Any] = st.one_of(
    st.text("$abc"), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False), st.binary(), st.uuids(),
    _FRACTIONS, st.dates(), st.tuples(st.integers(), st.text("ab")), st.frozensets(st.integers()),
)  # fmt: skip
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.lists(inner).map(deque), st.dictionaries(_KEYS, inner),
        st.dictionaries(st.text("$xy", min_size=1, max_size=2), inner), st.dictionaries(_KEYS, inner).map(ordered),
        st.dictionaries(_KEYS, st.integers()).map(Counter), st.sets(_KEYS), st.frozensets(_KEYS),
    ),
    max_leaves=12,
)  # fmt: skip


def alike(one: Any, other: Any) -> bool:
    """Whether both are of the same classes and equal, NaN included."""
    return shape(one) == shape(other)


def shape(value: Any) -> Any:
    kind = type(value).__name__
    if isinstance(value, dict):
        items = [(shape(key), shape(item)) for key, item in value.items()]
        return kind, items
    if isinstance(value, set | frozenset):
        return kind, sorted((shape(item) for item in value), key=repr)
    if isinstance(value, list | tuple | deque):
        return kind, [shape(item) for item in value]
    return kind, repr(value)


def guest(value: Any) -> Any:
    """`value` as a cell has it: its OrderedDict is another class."""
    if type(value).__name__ == "OrderedDict":
        return ordered_dict.OrderedDict({key: guest(item) for key, item in value.items()})
    if type(value) is dict:
        return {key: guest(item) for key, item in value.items()}
    if type(value) in (list, tuple, deque):
        return type(value)(guest(item) for item in value)
    return value


def sent(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(_VALUES)
def test_what_a_cell_has_arrives_as_what_it_was(value: Any) -> None:
    made = inside.tag(guest(value), LIMIT, NODES)
    written = json.dumps(made.json, ensure_ascii=False, separators=(",", ":")).encode()
    assert len(written) <= made.most
    assert alike(untag(sent(made.json)), value)


@given(_VALUES)
def test_what_the_host_sets_arrives_as_what_it_was(value: Any) -> None:
    assert alike(inside.untag(sent(tagged.tag(value))), guest(value))


@given(_VALUES, st.integers(1, 200))
def test_a_value_is_sent_within_its_limit_or_not_at_all(value: Any, limit: int) -> None:
    size = len(json.dumps(tagged.tag(value), ensure_ascii=False, separators=(",", ":")).encode())
    if size <= limit:
        inside.tag(guest(value), limit, NODES)
        return
    with pytest.raises(inside.TooLarge) as refused:
        inside.tag(guest(value), limit, NODES)
    assert refused.value.size <= size


def test_a_defaultdict_is_a_dict_and_a_zone_its_offset() -> None:
    made = inside.tag(defaultdict(list, {"a": [1]}), LIMIT, NODES).json
    assert alike(untag(made), {"a": [1]})
    assert alike(tagged.tag(defaultdict(list, {1: [1]})), {"$dict": [[1, [1]]]})
    moment = datetime.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    arrived = untag(inside.tag(moment, LIMIT, NODES).json)
    assert (arrived, arrived.utcoffset()) == (moment, datetime.timedelta(hours=2))


class _Text(str):
    __slots__ = ()


class _Zone(datetime.tzinfo):
    def utcoffset(self, _moment: Any) -> datetime.timedelta:
        raise AssertionError("a class of the cell was asked")


class _Hook(dict[str, Any]):
    def items(self) -> Any:
        raise AssertionError("a class of the cell was asked")


_LOOP: list[Any] = []
_LOOP.append(_LOOP)


@pytest.mark.parametrize(
    "value",
    [
        object(), print, int, ..., NotImplemented, _Text("a"), _Hook(a=1), namedtuple("P", "x")(1),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(microseconds=1))),
        datetime.datetime(2024, 1, 1, tzinfo=_Zone()), datetime.time(1, tzinfo=_Zone()), _LOOP, [1, {2: [_Text("b")]}],
        slice(1), memoryview(b"a"), range(1 << 5000), Fraction(1 << 5000),
        Decimal("1" * 65_537), Decimal("NaN" + "1" * 4301), Decimal("1E-1000000000000000000"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_plain_data_is_not_sent_and_not_asked(value: Any) -> None:
    with pytest.raises(inside.NotPlain):
        inside.tag(value, LIMIT, NODES)


@pytest.mark.parametrize("value", [True, 2**128 - 1, 0])
def test_a_uuid_of_any_number_arrives(value: int) -> None:
    assert untag(inside.tag(uuid.UUID(int=value), LIMIT, NODES).json) == uuid.UUID(int=value)


@pytest.mark.parametrize("value", [None, "1", -1, 2**128])
def test_a_uuid_without_a_number_is_not_sent(value: Any) -> None:
    made = uuid.uuid4()
    object.__setattr__(made, "int", value)
    with pytest.raises(inside.NotPlain):
        inside.tag(made, LIMIT, NODES)


def test_both_ends_have_the_same_decimals() -> None:
    assert inside._DECIMAL.pattern == tagged._DECIMAL.pattern


@pytest.mark.parametrize(
    "value",
    [
        object(), print, _Text("a"), _LOOP, {1: object()}, (1, [_Hook()]),
        [datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(microseconds=1)))],
        {1: datetime.time(1, tzinfo=datetime.timezone(datetime.timedelta(microseconds=1)))},
    ],
    ids=repr,
)  # fmt: skip
def test_the_host_sends_no_other_class(value: Any) -> None:
    with pytest.raises(TypeError, match=r"no plain data|nested deeper"):
        tagged.tag(value)


def test_what_is_too_large_is_refused_before_it_is_walked() -> None:
    for value in ([0] * 10_000_000, b"x" * 10_000_000, dict.fromkeys(range(3_000_000)), 1 << 80_000_000):
        with pytest.raises(inside.TooLarge) as refused:
            inside.tag(value, LIMIT, NODES)
        assert refused.value.size > LIMIT
    with pytest.raises(inside.TooLarge):
        inside.tag([[]] * 200, LIMIT, 100)


@pytest.mark.parametrize(
    "hostile",
    [
        {"$unknown": 1}, {"$": 1}, {"$set": 1}, {"$set": {"a": 1}}, {"$set": [[1]]}, {"$tuple": "ab"}, {"$dict": [1]},
        {"$dict": [[1]]}, {"$dict": [[1, 2, 3]]}, {"$dict": [[[1], 2]]}, {"$dict": {"a": 1}}, {"$counter": 1},
        {"$ordered": "ab"}, {"$deque": 5}, {"$bytes": 5}, {"$bytes": "a"}, {"$bytes": "a b="}, {"$bytes": "\u00e9"},
        {"$float": "1.5"}, {"$float": 1}, {"$float": "Infinity"}, {"$float": ["nan"]}, {"$int": "10"}, {"$int": 10},
        {"$int": "0xg"}, {"$int": " 0x1"}, {"$int": "0x1_0"}, {"$complex": [1]}, {"$complex": ["a", 1]},
        {"$complex": [True, 1]}, {"$range": [1, 2]}, {"$range": [1, 2, 0]}, {"$range": [1, 2, 1.0]},
        {"$decimal": 1}, {"$decimal": "a"}, {"$decimal": "1e9999999999999999999"}, {"$decimal": "1\n"},
        {"$decimal": "\u0661"}, {"$fraction": [1, 0]}, {"$fraction": ["1", 2]}, {"$fraction": [1.5, 2]},
        {"$uuid": "x"}, {"$uuid": "0" * 99}, {"$uuid": 1}, {"$date": "yesterday"}, {"$date": 1}, {"$date": "2024-13-01"},
        {"$time": "25:00"}, {"$datetime": "x"}, {"$datetime": "2024-01-01T00:00" + "0" * 99}, {"$timedelta": [1, 2]},
        {"$timedelta": [10**12, 0, 0]}, {"$timedelta": [True, 0, 0]}, [{"$set": [{"$tuple": [[]]}]}],
        {"$set": [{"$int": hex(number * (2**61 - 1))} for number in range(40)]},
        {"$dict": [[number * (2**61 - 1), 0] for number in range(40)]},
        {"$fraction": [{"$int": hex(3**10_000)}, 2]}, {"$range": [0, {"$int": hex(1 << 4096)}, 1]},
    ],
    ids=lambda value: json.dumps(value)[:50],
)  # fmt: skip
def test_what_a_tag_does_not_promise_is_malformed(hostile: Any) -> None:
    with pytest.raises(MalformedValue):
        untag(hostile)


def _long(known: int) -> dict[str, str]:
    """An integer of many digits, whose hash is `known`."""
    return {"$int": hex((1 << 4200) * (2**61 - 1) + known)}


def _alike(depth: int, number: int = 0) -> Any:
    """Sets in sets, of which those of a level have equal hashes."""
    if not depth:
        return number * (2**61 - 1)
    return {"$frozenset": [_alike(depth - 1, each) for each in (*range(1, 8), 8 + number)]}


@pytest.mark.parametrize(
    "crowded",
    [
        {"$set": [each * (2**61 - 1) for each in range(33)]},
        {"$set": [{"$decimal": "5"}, _long(5)]},
        {"$dict": [[{"$tuple": [0, _long(5)]}, 1], [{"$tuple": [0, {"$decimal": "5"}]}, 2]]},
        {"$set": [_alike(2, each) for each in range(3)]},
        {"$counter": [[{"$tuple": [_alike(1, each)]}, 1] for each in range(2)]},
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_keys_that_take_long_to_compare_are_refused(crowded: Any) -> None:
    with pytest.raises(CrowdedValue, match="same hash"):
        untag([crowded])


@pytest.mark.parametrize(
    "value",
    [{"\ud800": 1, "\\ud800": 2}, {"\ud800", "\\ud800"}, {("\ud83d\ude00",), ("\U0001f600",)}],
    ids=ascii,
)
def test_keys_that_are_one_on_the_host_do_not_arrive_as_one(value: Any) -> None:
    """As a frame has them: surrogate pairs are joined, and lone ones are escapes."""
    written = json.dumps(inside.tag(value, LIMIT, NODES).json, ensure_ascii=False)
    joined = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    read = json.loads(joined.encode("utf-8", "backslashreplace").decode().replace(r"\\", "\\").replace("\\", r"\\"))
    with pytest.raises(CrowdedValue, match="would be the same"):
        untag(read)


def test_every_nan_is_another_member() -> None:
    one, other = float("nan"), float("nan")
    for value in ({one, other}, {one: 1, other: 2}, frozenset({(one,), (other,)})):
        assert len(untag(sent(inside.tag(value, LIMIT, NODES).json))) == 2


@pytest.mark.parametrize(
    "value",
    [
        {-1, -2, 2**5000},
        {2**5000, 2**5061},
        {(-1, 2): 1, (-2, 2): 2},
        {frozenset({-1, 5}), frozenset({-2, 5})},
        {Decimal(-1), -2, 2**5000},
    ],
)
def test_a_few_keys_of_equal_hash_arrive(value: Any) -> None:
    assert untag(tag(value)) == value


def test_sets_of_equal_hash_in_each_other_take_no_time() -> None:
    hostile = {"$set": [_alike(5, each) for each in range(8)]}
    began = time.process_time()
    with pytest.raises(CrowdedValue):
        untag(hostile)
    assert time.process_time() - began < 2


def _counters(depth: int) -> Any:
    return {"$counter": [["a", _counters(depth - 1)]]} if depth else 1


@pytest.mark.parametrize(
    "slow",
    [
        [_counters(19), _counters(19)],
        [_long(5), {"$decimal": "5"}],
        [[_long(5)], [{"$decimal": "5"}]],
        [{"$tuple": [_long(5)]}, {"$tuple": [{"$decimal": "5"}]}],
        [_long(5), 1],
    ],
    ids=lambda value: json.dumps(value)[:50],
)
def test_counts_that_repr_compares_are_soon_compared(slow: list[Any]) -> None:
    """repr() of a Counter sorts it."""
    with pytest.raises(CrowdedValue, match="counts with"):
        untag([{"$counter": [[key, count] for key, count in enumerate(slow)]}])
    numbers: Counter[Any] = Counter(a=Decimal(1), b=True, c=0.5, d=Fraction(1, 3), e=2**4095, f=Decimal("sNaN"))
    assert str(dict(untag(tag(numbers)))) == str(dict(numbers))


_NAMES = [*tagged._READERS, "$unknown", "plain"]
_HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("0x1.eNa-:T"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=2),
    max_leaves=20,
)


@settings(max_examples=500)
@given(_HOSTILE)
def test_any_json_is_a_value_or_malformed(hostile: Any) -> None:
    try:
        untag(hostile)
    except MalformedValue:
        pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, {2}, frozenset({3}), deque([4])), [1, [2], [3], [4]]),
        ({1: "a", 2.5: "b", "c": Counter("x")}, {"1": "a", "2.5": "b", "c": {"x": 1}}),
        (Decimal("1.5"), 1.5),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (datetime.time(1, 2), "01:02:00"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (math.nan, None),
        ([1 << 4095, -(1 << 4095)], [1 << 4095, -(1 << 4095)]),
        ([1 << 20_000], None),
        (Decimal("1e999999999999999999"), None),
        (Decimal("sNaN"), None),
        (Decimal("Infinity"), None),
        (Decimal("1E+999"), None),
        (1 << 4095, 1 << 4095),
        ([1 << 4096], None),
        (b"bytes", None),
        ({(1, 2): 3}, None),
        ({True: 3}, None),
        (Fraction(1, 2), None),
    ],
)
def test_a_value_as_json(value: Any, plain: Any) -> None:
    assert as_json(value) == plain
