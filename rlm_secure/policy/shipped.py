"""The shipped policies without their model: pydantic takes longer to import than the first session takes to start.

`policy` reads the same TOML, and only where it is byte for byte what was tested: for that, each effective value is
equal to the model's (tests/policy/test_shipped.py). Any other policy, and whatever is asked beyond plain values, is the
model's, which is imported then.

Guards: that a policy which is read without its model has the model's values
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, cast

from rlm_secure.errors import PolicyError
from rlm_secure.guarantees import Wall
from rlm_secure.policy import derived, toml
from rlm_secure.registry import ENVIRONMENTS
from rlm_secure.resources import policies_dir
from rlm_secure.sha256 import sha256

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

#: sha256 of the text of each shipped policy. One that somebody has edited is read by the model, which checks it.
TESTED: Final[Mapping[str, str]] = {
    "data": "1ffcec31ba5b1943bab3b643650884b7da41906b7a9d8cfaf20ca22e451e9f0e",
    "research": "aed8e4c9ff50e18d8bab48fb9aa5092ff94aecc259a532f16d915f0c6312592d",
    "standard": "1bfb6a49f2d9f8f5b89f4a95bf19d8030a87fd6e4bb33360e41aefcd677f2e20",
    "strict": "95ee8b4522d4929209c914cdc064dc87a0c75f5e256710c6360c27a476af7e1f",
}

#: Writes out every value, and is the default of every key: what another shipped policy leaves out is as here.
_BASE: Final = "strict"


def resolved(ref: Policy | str | Path | Mapping[str, Any]) -> Policy:
    """As load_policy, but a shipped policy may be one of this module. Raises PolicyError."""
    given: object = ref
    if type(given) is _Policy:
        return cast("Policy", ref)
    return policy(ref) if isinstance(ref, str) and ref in TESTED else _load(ref)


@functools.cache
def policy(name: str) -> Policy:
    """The shipped policy `name`, without the model where its file is as tested. Raises PolicyError."""
    values, base = _tested(name), _tested(_BASE)
    if values is None or base is None:
        return _load(name)
    whole = {"name": values["name"], "description": values["description"], "extends": None}
    for table, written in base.items():
        if isinstance(written, dict):
            model = functools.partial(_table_of, name, table)
            whole[table] = _KINDS.get(table, _Values)(model, _table(table, written | values.get(table, {}), model))
    return cast("Policy", _Policy(functools.partial(_model_of, name), whole))


def _load(ref: Any) -> Policy:
    from rlm_secure.policy.load import load_policy  # with pydantic

    return load_policy(ref)


@functools.cache
def _model_of(name: str) -> Policy:
    """The model of a policy that was read without it. Raises PolicyError if its file has other values by now."""
    made = _load(name)
    if _tested(name) is None or _tested(_BASE) is None:
        raise PolicyError(f"the file of the policy {name} was changed while it is in use; start the program again")
    return made


def _table_of(name: str, table: str) -> Any:
    return getattr(_model_of(name), table)


def _tested(name: str) -> dict[str, Any] | None:
    """What the file of the shipped policy `name` writes; None unless it is the one that was tested."""
    try:
        data = (policies_dir() / f"{name}.toml").read_bytes()
    except OSError:
        return None  # the model's loader says what is wrong
    return toml.loads(data.decode()) if sha256(data).hexdigest() == TESTED.get(name) else None


def _table(table: str, written: Mapping[str, Any], model: Callable[[], Any]) -> dict[str, Any]:
    """The values of a table as the model has them. `model` returns the model's table."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in written.items()}
    if table == "isolation":
        for key in ENVIRONMENTS:
            values[key] = tuple(Wall(name) for name in values[key])
        values["best_effort"] = tuple(
            _Values(functools.partial(_entry, model, at), {**entry, "wall": Wall(entry["wall"])})
            for at, entry in enumerate(values["best_effort"])
        )
    return values


def _entry(isolation: Callable[[], Any], at: int) -> Any:
    return isolation().best_effort[at]


class _Values:
    """One table of a policy. What is not among its values is the model's, and so is its class for isinstance()."""

    def __init__(self, model: Callable[[], Any], values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)
        self.__dict__[_MODEL] = model

    def __getattr__(self, name: str) -> Any:
        return getattr(_model(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_model(self), name, value)  # raises the model's error: it is frozen

    def __delattr__(self, name: str) -> None:
        delattr(_model(self), name)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(_model(self) == (_model(other) if isinstance(other, _Values) else other))

    def __hash__(self) -> int:  # the model's: what has one of them as a key finds it by the other
        values = tuple(value for name, value in self.__dict__.items() if name != _MODEL)
        return hash(values[0] if len(values) == 1 else values)

    def __repr__(self) -> str:
        return repr(_model(self))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return _model(self).__reduce_ex__(protocol)  # a copy is the model, with its values: never a name to be read

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # nobody may set it
        return type(_model(self))


def _model(values: _Values) -> Any:
    return values.__dict__[_MODEL]()


class _Language(_Values):
    modules: tuple[str, ...]

    @property
    def packages(self) -> tuple[str, ...]:
        return derived.packages(self.modules)


class _Isolation(_Values):
    best_effort: tuple[Any, ...]

    def required(self, environment: str, own: tuple[Wall, ...] = ()) -> tuple[Wall, ...]:
        listed = self.__dict__[environment] if environment in ENVIRONMENTS else _model(self).listed(environment)
        return derived.required(environment, listed, own, (entry.wall for entry in self.best_effort))


class _Policy(_Values):
    pass


_KINDS: Final[Mapping[str, type[_Values]]] = {"language": _Language, "isolation": _Isolation}
_MODEL: Final = " model"  # no name of an attribute
