"""The places where cells can run, by name. An implementation is imported when it is asked for."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from rlm_secure.environments.foreign_options import own_options
from rlm_secure.environments.interface import Environment

#: name -> module and class; imported on use, so that a missing SDK concerns only who asks for it.
PLACES: Mapping[str, tuple[str, str]] = {
    "local": ("rlm_secure.environments.local", "LocalEnvironment"),
    "docker": ("rlm_secure.environments.docker", "DockerEnvironment"),
    "daytona": ("rlm_secure.environments.cloud.daytona", "DaytonaEnvironment"),
    "e2b": ("rlm_secure.environments.cloud.e2b", "E2BEnvironment"),
    "modal": ("rlm_secure.environments.cloud.modal", "ModalEnvironment"),
    "prime": ("rlm_secure.environments.cloud.prime", "PrimeEnvironment"),
}


def place(name: str, **kwargs: Any) -> Environment:
    """The environment called `name`. Raises ValueError for an unknown one, MissingExtra for a missing SDK."""
    kwargs = own_options(name, kwargs)
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
