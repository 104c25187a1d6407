"""The keys of a policy: one entry per key, derived from the model, with the order that says which of two values
is tighter.

`extends` and `policy diff` use this order; error messages and TEMPLATE.toml describe keys by these entries.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rlm_secure.policy.model import MOST, Policy
from rlm_secure.registry import ENVIRONMENTS


class Order(StrEnum):
    """Which of two values of a key is the tighter one."""

    LOWER = "lower is tighter"
    FEWER = "fewer entries are tighter"
    MORE = "more entries are tighter"
    OFF = "false is tighter"
    RUNTIME = "a runtime with its own kernel is tighter than runc"
    FREE = "neither is tighter"


#: Every key of a policy has a line here; tests/policy/test_keys.py fails for a missing one.
ORDERS: Mapping[str, Order] = {
    "name": Order.FREE,
    "description": Order.FREE,
    "extends": Order.FREE,
    "language.modules": Order.FEWER,
    "language.source_bytes": Order.LOWER,
    "language.ast_nodes": Order.LOWER,
    "guardrails.imports": Order.OFF,
    "guardrails.forbidden_calls": Order.MORE,
    "guardrails.edit": Order.OFF,
    "guardrails.repairs": Order.LOWER,
    "limits.cell_seconds": Order.LOWER,
    "limits.cell_cpu_seconds": Order.LOWER,
    "limits.session_cpu_seconds": Order.LOWER,
    "limits.run_seconds": Order.LOWER,
    "limits.grace_seconds": Order.LOWER,
    "limits.start_seconds": Order.LOWER,
    "limits.exclude_host_time": Order.OFF,  # time spent waiting then counts, so a cell ends sooner
    "limits.memory_bytes": Order.LOWER,
    "limits.processes": Order.LOWER,
    "limits.open_files": Order.LOWER,
    "limits.stdout_bytes": Order.LOWER,
    "limits.result_bytes": Order.LOWER,
    "limits.value_bytes": Order.LOWER,
    "limits.context_bytes": Order.LOWER,
    "limits.files": Order.LOWER,
    "limits.file_bytes": Order.LOWER,
    "limits.cells": Order.LOWER,
    "limits.resumes": Order.LOWER,
    "limits.forks": Order.LOWER,
    "limits.tool_seconds": Order.LOWER,
    "limits.tool_calls": Order.LOWER,
    "limits.abandoned_calls": Order.LOWER,
    "limits.kept_bytes": Order.LOWER,
    "isolation.environments": Order.FEWER,
    **dict.fromkeys((f"isolation.{name}" for name in ENVIRONMENTS), Order.MORE),
    "isolation.others": Order.MORE,  # walls, of each environment
    "isolation.best_effort": Order.FEWER,
    "isolation.checkpoints": Order.OFF,  # they need clone in the seccomp profile, and up to twice the memory
    "isolation.pool": Order.FREE,
    "isolation.docker_runtime": Order.RUNTIME,
    "network.ingress": Order.OFF,
    "lm.models": Order.FEWER,
    "lm.calls": Order.LOWER,
    "lm.tokens": Order.LOWER,
    "lm.cost_usd": Order.LOWER,
    "lm.unpriced": Order.OFF,
    "lm.refusals": Order.LOWER,
    "lm.prompt_bytes": Order.LOWER,
    "lm.reply_bytes": Order.LOWER,
    "lm.batch": Order.LOWER,
    "lm.concurrency": Order.LOWER,
    "lm.depth": Order.LOWER,
    "lm.iterations": Order.LOWER,
    "lm.timeout_seconds": Order.LOWER,
    "lm.retries": Order.LOWER,
    "data.redact": Order.MORE,
    "data.log_context": Order.OFF,
    "data.log_prompts": Order.OFF,
    "data.log_bytes": Order.LOWER,
    "data.log_optional": Order.OFF,  # a run whose log fails then ends, with its answer in the error
    "audit.ignore": Order.FREE,  # hides findings, weakens no wall; never inherited
}


_WALLS = "an array of walls, such as seccomp"
#: Expected values of the keys whose type alone says too little.
_KINDS: Mapping[str, str] = {
    "name": "1 to 64 letters, digits, dots, dashes and underscores, the first a letter or a digit",
    "extends": "the name of a shipped policy, or the relative path of a file that ends in .toml",
    "language.modules": "an array of module names",
    "guardrails.forbidden_calls": "an array of names of calls, such as eval or os.system",
    "isolation.environments": "an array of environments, such as local",
    **{f"isolation.{name}": _WALLS for name in ENVIRONMENTS},
    "isolation.docker_runtime": "the name of a container runtime, such as runc or runsc",
    "lm.models": "an array of model names",
    "data.redact": "an array of at most 100 regular expressions",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its dotted name, what a value must be, its default, what it means, and its order.

    `low` and `high` are the bounds of a number, if it has any; `above` means that `low` itself is too low.
    """

    dotted: str
    kind: str
    default: Any
    meaning: str
    order: Order
    low: float | None = None
    high: float | None = None
    above: bool = False

    @property
    def expected(self) -> str:
        """What a value must be, in words: "a whole number from 1 to 64"."""
        if self.low is None or self.high is None:
            return self.kind
        if self.high == MOST:
            return f"{self.kind} from {_plain(self.low)} up"
        if self.above:
            return f"{self.kind} above {_plain(self.low)} and up to {_plain(self.high)}"
        return f"{self.kind} from {_plain(self.low)} to {_plain(self.high)}"


@functools.cache
def keys() -> Mapping[str, Key]:
    """Every key of a policy, by its dotted name, in the order of the model."""
    found = {key.dotted: key for key in _walk(Policy, "")}
    return types.MappingProxyType(found)


@functools.cache
def sections() -> Mapping[str, str]:
    """The tables of a policy and what each is about, in the order of the model."""
    return types.MappingProxyType(
        {
            name: (field.annotation.__doc__ or "").strip()
            for name, field in Policy.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        }
    )


def value(policy: Policy, dotted: str) -> Any:
    """The effective value of a key."""
    found: Any = policy
    for part in dotted.split("."):
        found = getattr(found, part)
    return found


def _walk(model: type[BaseModel], prefix: str) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        dotted = f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _walk(field.annotation, f"{dotted}.")
        else:
            yield _key(dotted, field)


def _key(dotted: str, field: FieldInfo) -> Key:
    low: Any = None
    high: Any = None
    above = False
    for bound in field.metadata:
        if isinstance(bound, Gt):
            low, above = bound.gt, True
        elif isinstance(bound, Ge):
            low = bound.ge
        elif isinstance(bound, Le):
            high = bound.le
    return Key(
        dotted=dotted,
        kind=_KINDS.get(dotted) or _kind(field.annotation),
        default=field.default,
        meaning=" ".join((field.description or "").split()),
        order=ORDERS[dotted],
        low=low,
        high=high,
        above=above,
    )


def _kind(annotation: Any) -> str:
    if typing.get_origin(annotation) is typing.Annotated:
        return _kind(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) is tuple:
        element = typing.get_args(annotation)[0]
        tables = isinstance(element, type) and issubclass(element, BaseModel)
        return "an array of tables" if tables else "an array of strings"
    if typing.get_origin(annotation) is types.UnionType:
        return _kind(typing.get_args(annotation)[0])
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(annotation, "a string")


def _plain(number: Any) -> str:
    return f"{number:,.10g}" if isinstance(number, float) else f"{number:,}"
