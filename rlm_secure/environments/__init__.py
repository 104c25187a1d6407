"""Where cells run. `get_environment` gives a REPL, as upstream names it; `create_environment` the environment alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from rlm_secure.environments.interface import AuditSink, CallFailed, Environment, HostCalls, Session
from rlm_secure.environments.registry import create_environment
from rlm_secure.environments.repl import REPL
from rlm_secure.registry import EnvironmentType

#: What REPL takes itself.
_OPTIONS: Final = frozenset(inspect.signature(REPL).parameters)


def get_environment(name: EnvironmentType | str, kwargs: Mapping[str, Any]) -> REPL:
    """A started REPL in the environment called `name` (upstream's entry point).

    `kwargs` holds REPL's own options and those of the environment; the loop adds `reservation`, so that the runs of
    one tree may share sandboxes. Raises ValueError for an unknown name.
    """
    options = {key: value for key, value in kwargs.items() if key in _OPTIONS}
    rest = {key: value for key, value in kwargs.items() if key not in _OPTIONS}
    reservation = rest.pop("reservation", None)
    environment = create_environment(name, **rest)
    if reservation is not None:
        environment.share(reservation, rest)
    return REPL(environment, **options)


__all__ = [
    "REPL",
    "AuditSink",
    "CallFailed",
    "Environment",
    "HostCalls",
    "Session",
    "create_environment",
    "get_environment",
]
