"""Upstream's `rlm.environments.docker_repl`."""

from rlm_secure.compat.environments.base_env import NonIsolatedEnv
from rlm_secure.compat.environments.repl import UpstreamREPL

__all__ = ["DockerREPL"]


@NonIsolatedEnv.register
class DockerREPL(UpstreamREPL):
    """Cells in a container. `image` and the other options are those of the Docker environment."""

    environment = "docker"
    leading = ("image",)
