"""Builds the sandbox image from a base that is pinned by digest, so that it is the one that was reviewed."""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rlm_secure.environments.docker.engine import connect, explained
from rlm_secure.environments.remote.data_image import WHEELS, image_name, with_packages
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.resources import sandboxes_dir

#: The image contains no code of this package, so its tag counts changes of the Dockerfile.
DEFAULT_IMAGE: Final = "rlm-secure-sandbox:1"

_PINNED = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}|sha256:[0-9a-f]{64}")


def build(
    base: str,
    tag: str | None = None,
    *,
    packages: bool = False,
    wheels: str | Path | None = None,
    base_url: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Build the sandbox image on `base` and return its id. Without a `tag` it is called as sessions look for it.

    `base` is `name@sha256:...`, or an image that this engine has, which is then pinned by its id. With `packages` it
    gets numpy, pandas and matplotlib: from PyPI, or from the folder `wheels`, and then the build has no network. Raises
    EnvironmentUnavailable, with the engine's message, when it cannot be built, and ValueError for a folder without
    wheels.
    """
    client = connect(base_url)
    tag = tag or image_name(DEFAULT_IMAGE, packages=packages)
    try:
        arguments = {"BASE": _pinned(client, base)}
        with _context(packages, None if wheels is None else Path(wheels)) as context, explained("build the image"):
            steps = client.api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                buildargs=arguments,
                network_mode=None if packages and wheels is None else "none",
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


@contextlib.contextmanager
def _context(packages: bool, wheels: Path | None) -> Iterator[Any]:
    """The tar of a build's context: the Dockerfile, and the wheels of the folder `wheels`."""
    text = (sandboxes_dir() / "docker" / "Dockerfile").read_text(encoding="utf-8")
    found = sorted(wheels.glob("*.whl")) if wheels is not None else []
    if wheels is not None and not (packages and found):
        said = f"there are no wheels in {str(wheels)!r}" if packages else "wheels are for an image with packages"
        raise ValueError(f"{said}; see `rlm-secure sandbox build --help`")
    data = (with_packages(text, wheels=wheels is not None) if packages else text).encode()
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            member = tarfile.TarInfo("Dockerfile")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            for each in found:
                archive.add(each.resolve(), f"{WHEELS}/{each.name}", filter=_plain)
        file.seek(0)
        yield file


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member that is the same whoever's file it was: the engine keeps what it built from the same context."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o444
    return member


def _pinned(client: Any, base: str) -> str:
    import docker.errors

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
