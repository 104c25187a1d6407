"""Upstream's `rlm.environments.daytona_repl`."""

from rlm_secure.compat.environments.base_env import IsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["DaytonaREPL"]


@IsolatedEnv.register
class DaytonaREPL(UpstreamREPL):
    """Cells in a Daytona sandbox."""

    environment = "daytona"
    leading = (
        "api_key",
        "target",
        "name",
        "timeout",
        "cpu",
        "memory",
        "disk",
        "auto_stop_interval",
        "image",
    )
