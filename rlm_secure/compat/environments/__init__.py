"""Upstream's `rlm.environments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlm_secure.compat.environments.base_env import (
    RESERVED_TOOL_NAMES,
    BaseEnv,
    SupportsCustomTools,
    SupportsPersistence,
    ToolInfo,
    extract_tool_value,
    format_tools_for_prompt,
    parse_custom_tools,
    parse_tool_entry,
    validate_custom_tools,
)
from rlm_secure.compat.environments.daytona_repl import DaytonaREPL
from rlm_secure.compat.environments.docker_repl import DockerREPL
from rlm_secure.compat.environments.e2b_repl import E2BREPL
from rlm_secure.compat.environments.ipython_repl import IPythonREPL
from rlm_secure.compat.environments.local_repl import LocalREPL
from rlm_secure.compat.environments.modal_repl import ModalREPL
from rlm_secure.compat.environments.prime_repl import PrimeREPL
from rlm_secure.compat.environments.repl import UpstreamREPL
from rlm_secure.environments import create_environment

_KINDS: Mapping[str, type[UpstreamREPL]] = {
    kind.environment: kind for kind in (LocalREPL, DockerREPL, ModalREPL, DaytonaREPL, PrimeREPL, E2BREPL)
}


def get_environment(environment: str, environment_kwargs: Mapping[str, Any]) -> UpstreamREPL:
    """Create the environment of that name from upstream's keywords. Raises ValueError for an unknown name."""
    if environment not in _KINDS:
        create_environment(environment)  # its error lists the known names
        raise ValueError(f"upstream has no environment {environment!r}; take rlm_secure.environments.get_environment")
    return _KINDS[environment](**environment_kwargs)


__all__ = [
    "E2BREPL",
    "RESERVED_TOOL_NAMES",
    "BaseEnv",
    "DaytonaREPL",
    "DockerREPL",
    "IPythonREPL",
    "LocalREPL",
    "ModalREPL",
    "PrimeREPL",
    "SupportsCustomTools",
    "SupportsPersistence",
    "ToolInfo",
    "extract_tool_value",
    "format_tools_for_prompt",
    "get_environment",
    "parse_custom_tools",
    "parse_tool_entry",
    "validate_custom_tools",
]
