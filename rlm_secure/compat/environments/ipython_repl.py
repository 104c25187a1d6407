"""Upstream's `rlm.environments.ipython_repl`: not supported; the error says what to use instead."""

from __future__ import annotations

from typing import Any, NoReturn

from rlm_secure.environments import create_environment

__all__ = ["IPythonREPL"]


class IPythonREPL:
    """Raises ValueError, with the message for `environment="ipython"`."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Raises ValueError."""
        create_environment("ipython")
        raise AssertionError("an environment is called 'ipython'")
