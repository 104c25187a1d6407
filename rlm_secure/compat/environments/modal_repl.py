"""Upstream's `rlm.environments.modal_repl`."""

from rlm_secure.compat.environments.base_env import IsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["ModalREPL"]


@IsolatedEnv.register
class ModalREPL(UpstreamREPL):
    """Cells in a Modal sandbox."""

    environment = "modal"
    leading = ("app_name", "image", "timeout")
