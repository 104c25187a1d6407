"""Upstream's `rlm.environments.local_repl`."""

from rlm_secure.compat.environments.base_env import NonIsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["LocalREPL"]


@NonIsolatedEnv.register
class LocalREPL(UpstreamREPL):
    """Cells in a sealed process on this machine."""

    environment = "local"
