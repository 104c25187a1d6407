"""Where cells run. `get_environment` gives a REPL, as upstream names it; `create_environment` the environment alone."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.late import importer

if TYPE_CHECKING:
    from rlm_secure.environments.interface import AuditSink, CallFailed, Environment, HostCalls, Session
    from rlm_secure.environments.registry import create_environment
    from rlm_secure.environments.repl import REPL
    from rlm_secure.registry import EnvironmentType

#: Imported on first use: a local session's process is started before its host imports the rest (local/launch.py).
_FROM: Final = {
    **dict.fromkeys(
        ("AuditSink", "CallFailed", "Environment", "HostCalls", "Session"), "rlm_secure.environments.interface"
    ),
    "create_environment": "rlm_secure.environments.registry",
    "REPL": "rlm_secure.environments.repl",
    "EnvironmentType": "rlm_secure.registry",
}
__getattr__ = importer(__name__, _FROM)

@functools.cache
def _options() -> frozenset[str]:
    """What REPL takes itself."""
    import inspect

    from rlm_secure.environments.repl import REPL

    return frozenset(inspect.signature(REPL).parameters)


def get_environment(name: EnvironmentType | str, kwargs: Mapping[str, Any]) -> REPL:
    """A started REPL in the environment called `name` (upstream's entry point).

    `kwargs` holds REPL's own options and those of the environment; the loop adds `reservation`, so that the runs of
    one tree may share sandboxes. Raises ValueError for an unknown name.
    """
    from rlm_secure.environments.registry import create_environment
    from rlm_secure.environments.repl import REPL

    own = _options()
    options = {key: value for key, value in kwargs.items() if key in own}
    rest = {key: value for key, value in kwargs.items() if key not in own}
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
