"""The cost of a model call when the provider does not report it: a dated table, and prices given by the caller.

A name must match exactly, except that its provider may precede it ("openai/gpt-4o") and the date or version of a
snapshot may follow it ("gpt-4o-2024-08-06", "claude-haiku-4-5@20251001", "gemini-2.5-pro-001"). Nothing else
matches: the price of "gpt-4o" does not apply to "gpt-4o-mini", to a fine-tuned model, or to "gpt-4o-latest", which
may be another model tomorrow. A snapshot with its own entry has its own price. An unknown price is None, never a
guess.

Not covered: what a provider adds for batches, priority, regions, cached prompts, its own tools (search, code),
images and sound; discounts of an account; a request that was cut off and repeated, which a provider may charge
twice. A reply that reports its cost is charged that cost.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

_TABLE: Final = Path(__file__).with_name("prices.toml")
_MILLION: Final = 1_000_000
#: The date or version of a snapshot, at the end of a name.
SNAPSHOT: Final = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-\d{3})\Z")
#: Tokens that a chat format may add to a prompt, in addition to one for each byte of its text.
_FORMAT_TOKENS: Final = 64


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. A call with more than `above` input tokens costs the long prices."""

    input: float
    output: float
    above: int | None = None
    long_input: float = 0.0
    long_output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """The cost in US dollars of a call with this many input and output tokens."""
        long = self.above is not None and input_tokens > self.above
        read, written = (self.long_input, self.long_output) if long else (self.input, self.output)
        return (input_tokens * read + output_tokens * written) / _MILLION

    def most(self, prompt_bytes: int, max_output_tokens: int) -> float:
        """The maximum cost of a call in US dollars: no tokenizer makes more than one token per byte."""
        return self.cost(prompt_bytes + _FORMAT_TOKENS, max_output_tokens)


#: In `prices`: trust the provider's own figure; under a cost limit, no call is made after a reply without one.
Reported: TypeAlias = Literal["reported"]
REPORTED: Final = "reported"


class Prices:
    """The table, with entries replaced or added by `given`: model name -> a Price, a pair, or "reported".

    A pair is (input, output), in US dollars per million tokens; the attribute `given` holds the parsed entries. Raises
    ValueError for anything else.
    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.given: dict[str, Price | Reported] = {name: _given(name, value) for name, value in (given or {}).items()}

    def of(self, model: str) -> Price | Reported | None:
        """The price of `model`; None if unknown."""
        return self.given[model] if model in self.given else _in_table(model)


def taken() -> date:
    """The day on which the bundled prices were looked up."""
    day = tomllib.loads(_TABLE.read_text("utf-8"))["taken"]
    assert isinstance(day, date)
    return day


def _given(name: str, value: Any) -> Price | Reported:
    if value == REPORTED or isinstance(value, Price):
        return value  # type: ignore[no-any-return]  # one of the two
    pair = list(value) if isinstance(value, tuple | list) else []
    numbers = [each for each in pair if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not all(math.isfinite(each) and each >= 0 for each in numbers):
        raise ValueError(
            f"prices[{name!r}] is no price; give (input, output) in US dollars per million tokens, a Price, or "
            '"reported" where the provider says what each call cost'
        )
    return Price(float(numbers[0]), float(numbers[1]))


@functools.lru_cache(maxsize=256)
def _in_table(model: str) -> Price | None:
    names = {model}
    provider, slash, rest = model.partition("/")
    for prefixes, models in _table():
        for name in (names | {rest}) if slash and provider in prefixes else names:
            if name in models:
                return models[name]
            base = SNAPSHOT.sub("", name)
            if base != name and base in models:
                return models[base]
    return None


@functools.cache
def _table() -> tuple[tuple[frozenset[str], Mapping[str, Price]], ...]:
    document = tomllib.loads(_TABLE.read_text("utf-8"))
    providers = [entry for entry in document.values() if isinstance(entry, dict)]
    return tuple(
        (
            frozenset(entry["prefixes"]),
            MappingProxyType({name: Price(**price) for name, price in entry["models"].items()}),
        )
        for entry in providers
    )
