"""lru_cache in Python: the same answers and the same counts as C's, and sound whatever its keys do while compared."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import pytest

from rlm_secure.guest.language.facades import caches

_SIZES = [None, 0, 1, 2, 5, 64, -3, True]


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("maxsize", _SIZES)
def test_it_answers_and_counts_as_the_one_in_c(maxsize: int | None, typed: bool) -> None:
    chosen = random.Random(7)
    called: tuple[list[Any], list[Any]] = ([], [])

    def made(lru_cache: Callable[..., Any], calls: list[Any]) -> Any:
        @lru_cache(maxsize, typed)
        def function(*values: Any, **options: Any) -> Any:
            """The text of it."""
            calls.append((values, options))
            if len(values) == 1 and type(values[0]) is int and values[0] > 6:
                return function(values[0] - 1), len(calls)  # it puts in others, while it is called
            if values == ("again", True):
                return function("again", 1.0)  # without types, the same key
            return len(calls)

        return function

    ours, theirs = made(caches.lru_cache, called[0]), made(functools.lru_cache, called[1])
    for _ in range(2000):
        number = chosen.randrange(12)
        values, options = chosen.choice(
            [((number,), {}), ((float(number),), {}), ((str(number),), {}), ((True,), {}), ((), {}), ((1, 2), {}),
             ((number,), {"b": 1, "a": number}), ((), {"a": number, "b": 1.0}), (((1,),), {}), ((None, "a"), {}),
             ((number % 3, "a"), {})]
        )  # fmt: skip
        assert ours(*values, **options) == theirs(*values, **options)
        assert ours.cache_info() == theirs.cache_info()
        if chosen.random() < 0.005:
            assert ours.cache_clear() is theirs.cache_clear() is None
    assert called[0] == called[1]
    assert type(ours.cache_info()) is type(theirs.cache_info())
    assert ours.cache_parameters() == theirs.cache_parameters()
    assert (ours.__name__, ours.__doc__, ours.__module__) == ("function", "The text of it.", __name__)


def test_the_call_itself_may_put_its_key_in() -> None:
    first: list[Any] = []

    def again(key: str) -> int:
        first.append(key)
        return cached(key) + 1 if len(first) == 1 else 1

    for lru_cache in (caches.lru_cache, functools.lru_cache):
        first.clear()
        cached: Any = lru_cache(3)(again)
        assert (cached("k"), cached("k"), cached.cache_info()) == (2, 1, (1, 2, 3, 1))


def test_the_ways_to_write_it() -> None:
    class Holder:
        @caches.lru_cache
        def plain(self, x: int) -> tuple[Any, int]:
            return self, x

        @staticmethod
        @caches.cache
        def alone(x: int) -> list[int]:
            return [x]

    held = Holder()
    assert held.plain(1) is held.plain(1) and held.plain(1)[0] is held
    assert Holder.plain.cache_info()[:] == (2, 1, 128, 1)
    assert Holder.alone(1) is held.alone(1)
    assert caches.cache(int)("7") == 7
    assert not hasattr(Holder.plain, "__wrapped__")
    with pytest.raises(TypeError, match="maxsize as an int"):
        caches.lru_cache("3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable"):
        Holder.alone([])  # type: ignore[arg-type]


class Key:
    """A key that does what `hook` says while it is compared or hashed."""

    hook: Callable[[Any], Any] = staticmethod(lambda other: None)
    number = 1

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return bool(Key.hook(other))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    yield
    Key.hook = staticmethod(lambda other: None)


@pytest.mark.parametrize("comparison", range(8))
@pytest.mark.parametrize("maxsize", [None, 3])
def test_a_key_that_clears_it_while_one_is_looked_up_or_put_in(maxsize: int | None, comparison: int) -> None:
    cached = caches.lru_cache(maxsize)(lambda key: [key])
    cached(Key())
    cached(Key())
    comparisons = 0

    def clear(_other: Any) -> bool:
        nonlocal comparisons
        comparisons += 1
        if comparisons == comparison + 1:
            cached.cache_clear()
            cached("a")
        return False

    Key.hook = staticmethod(clear)
    new = Key()
    assert cached(new)[0] is new
    assert cached.cache_info().currsize <= 3
    Key.hook = staticmethod(lambda other: None)
    for number in range(20):
        assert cached(number) == [number] and cached(number) is cached(number)
    assert cached.cache_info().currsize <= (maxsize or 40)


def test_a_key_that_is_put_out_while_it_is_found() -> None:
    cached = caches.lru_cache(2)(lambda key: [key])
    first, second = Key(), Key()
    kept = cached(first)
    cached(second)

    def put_out(_other: Any) -> bool:
        Key.hook = staticmethod(lambda other: True)  # second is said to be first
        for number in range(9):
            cached(number)
        return True

    Key.hook = staticmethod(put_out)
    found = cached(second)
    Key.hook = staticmethod(lambda other: None)  # from here on, equal is what is the same
    assert found is kept or found == [second]
    for number in range(9):
        cached(number)
    assert cached.cache_info().currsize == 2


def test_a_key_whose_hash_changes_leaves_nothing_behind() -> None:
    cached = caches.lru_cache(4)(lambda key: None)
    for _ in range(100):
        key = Key()
        cached(key)
        key.number = id(key)
        assert cached.cache_info().currsize <= 4


def fail(_other: Any) -> bool:
    raise KeyError("mine")


def test_a_key_that_raises_while_it_is_put_out() -> None:
    cached = caches.lru_cache(2)(lambda key: [key])
    first, second = Key(), Key()
    for key in (first, second, first):
        cached(key)
    Key.hook = staticmethod(fail)
    with pytest.raises(KeyError, match="mine"):
        cached(5)  # second is put out, and is compared with first before
    Key.hook = staticmethod(lambda other: None)
    for number in range(9):
        assert cached(number) == [number]
        assert cached.cache_info().currsize <= 2


def test_a_key_that_raises_while_it_is_looked_up() -> None:
    cached = caches.lru_cache(2)(lambda key: [key])
    for key in (Key(), Key(), 5):
        cached(key)
    Key.hook = staticmethod(fail)
    for _ in range(5):
        with pytest.raises(KeyError, match="mine"):
            cached(Key())
    Key.hook = staticmethod(lambda other: None)
    for number in range(9):
        assert cached(number) == [number]
        assert cached.cache_info().currsize <= 2


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("maxsize", [None, 1, 3])
def test_keys_that_do_anything(maxsize: int | None, typed: bool) -> None:
    """At the end it holds no more than it may, and counts what it holds."""
    chosen = random.Random(3)
    depth = 0

    def act(*_: Any) -> bool:
        nonlocal depth
        if depth < 4:
            depth += 1
            for _ in range(chosen.randrange(3)):
                step(chosen.randrange(8))
            depth -= 1
        return chosen.random() < 0.3

    def step(kind: int) -> None:
        if kind == 0:
            cached.cache_clear()
        elif kind < 5:
            key = Key()
            key.number = chosen.randrange(3)
            cached(key, **({"k": key} if kind == 1 else {}))
        else:
            cached(kind)

    @caches.lru_cache(maxsize, typed)
    def cached(key: Any, k: Any = None) -> list[Any]:
        act()
        return [key]

    Key.hook = staticmethod(act)
    for _ in range(3000):
        step(chosen.randrange(8))
    Key.hook = staticmethod(lambda other: None)
    for number in range(100, 110):
        cached(number)
    assert cached(109) is cached(109)
    if maxsize is not None:
        assert cached.cache_info().currsize <= maxsize
