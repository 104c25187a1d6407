"""The Docker engine: connecting, asking what it has, and error messages that say what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from rlm_secure.causes import local_cause
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra
from rlm_secure.loggers import logger

_log = logger("rlm_secure.docker")

_TIMEOUT_SECONDS = 60
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def connect(base_url: str | None = None) -> Any:
    """A client of the engine at `base_url` (by default DOCKER_HOST, else the local socket).

    Raises MissingExtra without the SDK, EnvironmentUnavailable when no engine answers.
    """
    try:
        import docker.errors
    except ImportError as error:
        raise MissingExtra("the docker environment", "docker") from error
    where = base_url or "DOCKER_HOST, or unix:///var/run/docker.sock"
    try:
        if base_url is None:
            return docker.from_env(version="auto", timeout=_TIMEOUT_SECONDS)
        return docker.DockerClient(base_url=base_url, version="auto", timeout=_TIMEOUT_SECONDS)
    except docker.errors.DockerException as error:
        said, cause = str(error), local_cause(error)
        if "Permission" in said:
            raise EnvironmentUnavailable(
                f"this user may not speak to the Docker engine at {where}; add it to the group docker, or use a "
                "rootless engine"
            ) from cause
        raise EnvironmentUnavailable(
            f"no Docker engine answers at {where}; start one (systemctl start docker), or set DOCKER_HOST"
        ) from cause


def carrier(client: Any) -> str:
    """The kind of connection to the engine: "socket", "ssh", "tls" or "tcp".

    Logs a warning for TCP to another machine without TLS: anybody on the path controls the engine and reads the cells.
    """
    url = urlsplit(str(client.api.base_url))
    if url.scheme == "http+docker":
        return "ssh" if url.hostname == "ssh" else "socket"
    if url.scheme == "https":
        return "tls"
    if url.hostname not in _LOOPBACK:
        _log.warning("the Docker engine at %s is reached without TLS; use tcp with TLS, or ssh://", url.netloc)
    return "tcp"


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn the engine's errors inside the block into EnvironmentUnavailable: it could not do `what`."""
    import docker.errors
    import requests

    try:
        yield
    except docker.errors.APIError as error:
        said = str(error.explanation or error).strip()[:400]
        raise EnvironmentUnavailable(f"the Docker engine could not {what}: {said}{_advice(said)}") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise EnvironmentUnavailable(
            f"the Docker engine went away ({type(error).__name__}); look at its log, and try again"
        ) from local_cause(error)


def _advice(said: str) -> str:
    if "nknown runtime" in said or "unknown or invalid runtime" in said.lower():
        return "; install it and name it in the engine's daemon.json, or set isolation.docker_runtime"
    if "pids" in said and "cgroup" in said:
        return "; the engine's cgroups lack the pids controller: enable it, limits are not optional here"
    if "executable file not found" in said or "no such file or directory" in said.lower():
        return "; the image needs python3 on its PATH: build it with `rlm-secure sandbox build docker`"
    return ""


def image(client: Any, name: str, *, packages: bool = False) -> Any:
    """The image `name` on this engine; never pulled. Raises EnvironmentUnavailable, which says how to build it.

    `packages`: the policy gives third-party packages to cells."""
    import docker.errors

    with explained(f"look for the image {name}"):
        try:
            return client.images.get(name)
        except docker.errors.ImageNotFound:
            pass
    raise EnvironmentUnavailable(
        f"the image {name!r} is not on this engine; build it with "
        f"`rlm-secure sandbox build docker{' --policy data' if packages else ''} --base python@sha256:<digest>`"
    )


def describe(client: Any) -> Mapping[str, Any]:
    """The engine's own description (`docker info`). Raises EnvironmentUnavailable."""
    with explained("describe itself"):
        found: Mapping[str, Any] = client.info()
    return found


def runtime(info: Mapping[str, Any], name: str) -> None:
    """Raise EnvironmentUnavailable when the engine that `info` describes has no runtime called `name`."""
    known = sorted(info.get("Runtimes") or {})
    if name not in known:
        raise EnvironmentUnavailable(
            f"the engine has no container runtime {name!r} (it has {', '.join(known)}); install it and name it in "
            "the engine's daemon.json, or set isolation.docker_runtime in the policy"
        )
