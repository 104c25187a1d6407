"""Upstream's `rlm.environments.ipython_repl`, which this package does not have: it says what to take in its place."""

from __future__ import annotations

from typing import Any, NoReturn

from rlm_secure.environments import create_environment

__all__ = ["IPythonREPL"]


class IPythonREPL:
    """Raises ValueError: see the sentence of `environment="ipython"`."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Raises ValueError."""
        create_environment("ipython")
        raise AssertionError("an environment is called 'ipython'")
