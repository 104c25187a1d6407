"""Builds the sandbox image from a base that is pinned by digest, so that it is the one that was reviewed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from rlm_secure.environments.docker.engine import connect, explained
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.resources import sandboxes_dir

#: The image contains no code of this package, so its tag counts changes of the Dockerfile.
DEFAULT_IMAGE: Final = "rlm-secure-sandbox:1"

_PINNED = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}|sha256:[0-9a-f]{64}")


def build(
    base: str,
    tag: str = DEFAULT_IMAGE,
    *,
    base_url: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Build the sandbox image on `base` and return its id.

    `base` is `name@sha256:...`, or an image that this engine has, which is then pinned by its id. Raises
    EnvironmentUnavailable, with the engine's message, when it cannot be built.
    """
    client = connect(base_url)
    try:
        arguments = {"BASE": _pinned(client, base)}
        with explained("build the image"):
            steps = client.api.build(
                path=str(sandboxes_dir() / "docker"),
                tag=tag,
                buildargs=arguments,
                network_mode="none",  # the build runs, but installs nothing
                rm=True,
                forcerm=True,
                decode=True,
            )
            for step in steps:
                if "error" in step:
                    raise EnvironmentUnavailable(f"the image could not be built on {base}: {step['error'].strip()}")
                if line := str(step.get("stream", "")).strip():
                    progress(line)
            return str(client.images.get(tag).id)
    finally:
        client.close()


def _pinned(client: Any, base: str) -> str:
    import docker

    if _PINNED.fullmatch(base):
        return base
    with explained(f"look for the image {base}"):
        try:
            return str(client.images.get(base).id)
        except docker.errors.ImageNotFound:
            pass
    raise EnvironmentUnavailable(
        f"the base {base!r} is neither on this engine nor named by its digest; write {base.split(':')[0]}@sha256:..."
    )
