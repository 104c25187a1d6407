"""Where cells run. `get_environment` gives a REPL by upstream's names; `place` gives the environment alone."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from rlm_secure.environments.interface import Audit, CallFailed, Environment, HostCalls, Session
from rlm_secure.environments.repl import REPL

#: name -> module and class; imported on use, so that a missing SDK concerns only who asks for it.
PLACES: Mapping[str, tuple[str, str]] = {
    "local": ("rlm_secure.environments.local", "LocalEnvironment"),
}


def place(name: str, **kwargs: Any) -> Environment:
    """The environment called `name`. Raises ValueError for an unknown one, MissingExtra for a missing SDK."""
    if name not in PLACES:
        raise ValueError(f"unknown environment {name!r}; known: {', '.join(sorted(PLACES))}")
    module, attribute = PLACES[name]
    kind: type[Environment] = getattr(importlib.import_module(module), attribute)
    known = inspect.signature(kind).parameters
    for key in kwargs:
        if key not in known:
            offered = ", ".join(sorted(known)) or "none"
            raise TypeError(f"environment {name!r} has no option {key!r}; its options: {offered}")
    return kind(**kwargs)


def get_environment(name: str, kwargs: Mapping[str, Any]) -> REPL:
    """A started REPL in the environment called `name` (upstream's entry point).

    `kwargs` holds REPL's own options and those of the environment. Raises ValueError for an unknown name.
    """
    own = inspect.signature(REPL).parameters
    options = {key: value for key, value in kwargs.items() if key in own}
    rest = {key: value for key, value in kwargs.items() if key not in own}
    return REPL(place(name, **rest), **options)


__all__ = ["PLACES", "REPL", "Audit", "CallFailed", "Environment", "HostCalls", "Session", "get_environment", "place"]
