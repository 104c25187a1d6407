"""Upstream's `rlm.environments.prime_repl`."""

from rlm_secure.compat.environments.base_env import IsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["PrimeREPL"]


@IsolatedEnv.register
class PrimeREPL(UpstreamREPL):
    """Cells in a Prime Intellect sandbox."""

    environment = "prime"
    leading = ("name", "docker_image", "timeout_minutes")
