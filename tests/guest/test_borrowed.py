"""C code that borrows: what stands in its place does the same, and holds what it works on."""

from __future__ import annotations

import collections
import datetime
import enum
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guest.language.facades import borrowed

from .cells import Session


class _Text(str):
    pass


class _Number(enum.IntEnum):
    ONE = 1


class _Real(float):
    pass


class _Items(list[Any]):
    def __iter__(self) -> Any:
        return iter([7])


_PLAIN: list[Any] = [
    [], {}, (), "é\n", 1, 1.5, True, None, [[1, (2, 3)], {"a": [None, {"b": 1e300}]}], {1: 2, 1.5: 3, None: 4, False: 5, "x": 6},
    [float("nan"), float("inf"), -float("inf")],
]  # fmt: skip
_SHARED = [_PLAIN[:-1]] * 3
_OTHER: list[Any] = [
    _Text("a"), [_Text("a"), {_Text("b"): _Number.ONE}], _Real(1.5), [_Real("nan"), _Real("inf"), -_Real("inf")], [_Items([1])],
    collections.OrderedDict(b=1, a=[2]), {"d": datetime.date(2000, 1, 1)}, [{1}],
]  # fmt: skip


@pytest.mark.parametrize("value", [*_PLAIN, _SHARED, *_OTHER], ids=str)
@pytest.mark.parametrize("options", [{}, {"default": repr}, {"indent": 1}, {"ensure_ascii": False, "separators": (",", ":")}, {"check_circular": False, "default": str}])
def test_json_encodes_as_it_does_in_c(value: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def encoded() -> str:
        try:
            return json.dumps(value, **options)
        except TypeError as error:
            return str(error)

    assert json.encoder.c_make_encoder is borrowed.make_encoder  # type: ignore[attr-defined]
    found = encoded()
    monkeypatch.setattr(json.encoder, "c_make_encoder", borrowed._in_c)
    assert found == encoded()


@pytest.mark.parametrize(
    ("value", "options", "error"),
    [
        ([float("nan")], {"allow_nan": False}, ValueError),
        ([_Real("nan")], {"allow_nan": False}, ValueError),
        ({(1,): 2}, {}, TypeError),
        ({_Items: 2}, {}, TypeError),
        ([{1}], {}, TypeError),
    ],
)
def test_json_refuses_what_it_refuses_in_c(value: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        json.dumps(value, **options)


def test_json_finds_circles_and_skips_and_sorts_keys() -> None:
    circle: list[Any] = [1]
    circle.append({"a": circle})
    with pytest.raises(ValueError, match="Circular"):
        json.dumps(circle)
    with pytest.raises(RecursionError):
        json.dumps(circle, check_circular=False)
    for kind in (str, _Text):
        mixed = {kind("b"): 1, kind("a"): 2}
        assert json.dumps(mixed, sort_keys=True) == '{"a": 2, "b": 1}'
        assert json.dumps({**mixed, (1,): 2}, skipkeys=True) == '{"b": 1, "a": 2}'


def test_nothing_is_collected_between_the_look_and_the_encoding() -> None:
    inside: list[str] = []

    def told(_phase: str, _info: dict[str, int]) -> None:
        frame = sys._getframe(1)
        while frame.f_code.co_name not in ("chunks", "encoded"):
            assert frame.f_back is not None
            frame = frame.f_back
        if frame.f_code.co_name == "encoded" or frame.f_lineno > frame.f_code.co_firstlineno + 3:
            inside.append(frame.f_code.co_name)  # and not where chunks() begins, before gc.disable()

    def encoded(value: Any) -> str:
        made = [[] for _ in range(100)]  # a collection is due, and told() is known to be asked
        text = json.dumps(value)
        del made
        return text

    before = gc.get_threshold()
    gc.callbacks.append(told)
    gc.set_threshold(1)
    try:
        encoded([{"a": [{}, []]}] * 100)
        assert gc.isenabled()
        gc.disable()
        encoded([1])
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.set_threshold(*before)
        gc.callbacks.remove(told)
    assert set(inside) == {"encoded"}


@pytest.mark.parametrize("make", [collections.Counter, type("C", (collections.Counter,), {})])
def test_counter_counts(make: Callable[..., Any]) -> None:
    counter = make("abca")
    counter.update(iter("ab"))
    counter.update({"a": 1.5})
    counter.update(["a"], z=2)
    assert dict(counter) == {"a": 5.5, "b": 2, "c": 1, "z": 2}
    with pytest.raises(TypeError, match="unhashable"):
        counter.update([[]])


def test_a_cell_counts_and_encodes_as_before() -> None:
    found = Session().run(
        "import json\nfrom collections import Counter\nc = Counter('abca')\nc.update(x for x in 'aab' if c[x] < 3)\n"
        "class E(json.JSONEncoder):\n    def default(self, value):\n        return sorted(value)\n"
        "print(json.dumps(c), json.dumps({'s': {2, 1}}, cls=E), E().encode([{1}]), list(E().iterencode([{1}], True)))"
    )
    assert found == '{"a": 3, "b": 2, "c": 1} {"s": [1, 2]} [[1]] ' + "['[', '[1', ']', ']']\n"


def _search(*arguments: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.guest.borrowed", *arguments]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.splitlines()


def test_nothing_that_is_called_borrows_what_it_asks() -> None:
    assert _search("1", "20000") == (0, ["done"])


@pytest.mark.parametrize(("function", "hook"), [("json.dumps", "iter"), ("Counter.update", "add")])
def test_the_search_finds_what_borrows(function: str, hook: str) -> None:
    """The control, in Python as it is."""
    found = _search("1", "4000", "plain", function)[1]
    assert any(each.startswith(f"{function} {hook} ") for each in found), found
