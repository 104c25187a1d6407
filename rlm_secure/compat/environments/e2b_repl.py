"""Upstream's `rlm.environments.e2b_repl`."""

from rlm_secure.compat.environments.base_env import IsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["E2BREPL"]


@IsolatedEnv.register
class E2BREPL(UpstreamREPL):
    """Cells in an E2B sandbox."""

    environment = "e2b"
    leading = ("timeout",)
