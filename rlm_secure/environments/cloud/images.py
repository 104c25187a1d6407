"""Builds the images of cloud sandboxes, on a base that is pinned by the digest that was reviewed."""

from __future__ import annotations

import asyncio
import importlib
import io
import tarfile
from collections.abc import Callable, Mapping
from typing import Any, Final

from rlm_secure.causes import local_cause
from rlm_secure.environments.cloud.base import is_pinned
from rlm_secure.environments.cloud.daytona import DEFAULT_SNAPSHOT, DaytonaEnvironment, DaytonaProvider
from rlm_secure.environments.cloud.e2b import DEFAULT_TEMPLATE, E2BEnvironment, E2BProvider
from rlm_secure.environments.cloud.modal import DEFAULT_IMAGE as MODAL_IMAGE
from rlm_secure.environments.cloud.modal import ModalEnvironment, ModalProvider
from rlm_secure.environments.cloud.prime import DEFAULT_IMAGE as PRIME_IMAGE
from rlm_secure.environments.cloud.prime import PrimeEnvironment, PrimeProvider
from rlm_secure.environments.cloud.stream import Loop
from rlm_secure.environments.remote.data_image import image_name, with_packages
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.resources import sandboxes_dir

DOCKERFILES: Final[Mapping[str, str]] = {
    "e2b": "e2b/e2b.Dockerfile",
    "daytona": "daytona/Dockerfile",
    "modal": "modal/Dockerfile",
    "prime": "prime/Dockerfile",
}

#: What an environment looks for, for policies without packages.
DEFAULT_NAMES: Final[Mapping[str, str]] = {
    "e2b": DEFAULT_TEMPLATE,
    "daytona": DEFAULT_SNAPSHOT,
    "modal": MODAL_IMAGE,
    "prime": PRIME_IMAGE,
}

_BUILD_SECONDS = 1800.0
_POLL_SECONDS = 5.0


def dockerfile(provider: str, base: str, *, packages: bool = False) -> str:
    """The Dockerfile of a provider's sandboxes on `base`, with numpy, pandas and matplotlib if `packages`. Raises
    ValueError for a base without a digest, or an unknown provider."""
    if provider not in DOCKERFILES:
        raise ValueError(f"sandboxes of {provider!r} are not built here; known: {', '.join(sorted(DOCKERFILES))}")
    if not is_pinned(base):
        raise ValueError(f"the base {base!r} is not named by its digest; write {base.split(':')[0]}@sha256:...")
    text = (sandboxes_dir() / DOCKERFILES[provider]).read_text(encoding="utf-8")
    text = with_packages(text, wheels=False) if packages else text
    lines = [line for line in text.splitlines() if not line.startswith(("#", "ARG BASE"))]
    return "\n".join(lines).replace("${BASE}", base).strip() + "\n"


def build(
    provider: str,
    base: str,
    name: str | None = None,
    *,
    packages: bool = False,
    cpus: int = 2,
    memory_mib: int | None = None,
    disk_gib: int = 3,
    progress: Callable[[str], None] = lambda _: None,
    **connection: Any,
) -> str:
    """Build the template, snapshot or image that sandboxes of `provider` are made from, and return its name.

    `base` is `name@sha256:...`. With `packages` it gets numpy, pandas and matplotlib, which the provider's build takes
    from PyPI. The size applies to E2B and Daytona (by default 2 GiB of memory, or 5 with packages, as the policy `data`
    needs it); on Modal and Prime each sandbox requests its own.
    `connection` has the environment's own options (`api_key`, ...). Raises EnvironmentUnavailable, with the provider's
    message, when the build fails.
    """
    text = dockerfile(provider, base, packages=packages)
    size = (cpus, memory_mib or (5120 if packages else 2048), disk_gib)
    name = name or image_name(DEFAULT_NAMES[provider], packages=packages)
    client: E2BProvider | DaytonaProvider | ModalProvider | PrimeProvider
    if provider == "e2b":
        client = E2BEnvironment(**connection).provider(None)
        work = _e2b(client, text, name, size, progress)
    elif provider == "modal":
        client = ModalEnvironment(**connection).provider(None)
        work = _modal(client, text, name, progress)
    elif provider == "prime":
        client = PrimeEnvironment(**connection).provider(None)
        work = _prime(client, text, name, progress)
    else:
        client = DaytonaEnvironment(**connection).provider(None)
        work = _daytona(client, text, name, size, progress)
    loop = Loop(provider)
    try:
        loop.call(work, _BUILD_SECONDS)
    except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
        said = client.explain(error)[0]
        raise EnvironmentUnavailable(f"{provider} could not build {name!r} on {base}: {said}") from local_cause(error)
    finally:
        loop.close()
    return name


async def _e2b(
    client: E2BProvider, text: str, name: str, size: tuple[int, int, int], progress: Callable[[str], None]
) -> None:
    sdk: Any = importlib.import_module("e2b")
    template = sdk.AsyncTemplate().from_dockerfile(text)
    cpus, memory, _ = size
    await sdk.AsyncTemplate.build(
        template,
        name,
        cpu_count=cpus,
        memory_mb=memory,
        on_build_logs=lambda entry: progress(str(entry.message)),
        **client.options,
    )


async def _daytona(
    client: DaytonaProvider, text: str, name: str, size: tuple[int, int, int], progress: Callable[[str], None]
) -> None:
    sdk: Any = importlib.import_module("daytona")
    first, _, rest = text.partition("\n")
    image = sdk.Image.base(first.removeprefix("FROM ")).dockerfile_commands(rest.strip().splitlines())
    cpus, memory, disk = size
    resources = sdk.Resources(cpu=cpus, memory=-(-memory // 1024), disk=disk)
    progress(f"building {name} on Daytona")
    try:
        await client.client.snapshot.create(sdk.CreateSnapshotParams(name=name, image=image, resources=resources))
    finally:
        await client.close()


async def _modal(client: ModalProvider, text: str, name: str, progress: Callable[[str], None]) -> None:
    sdk: Any = importlib.import_module("modal")
    first, _, rest = text.partition("\n")
    image = sdk.Image.from_registry(first.removeprefix("FROM ")).dockerfile_commands(rest.strip().splitlines())
    progress(f"building {name} on Modal")
    try:
        await image.build.aio(await client.app())
        await image.publish.aio(name, environment_name=client.environment, client=await client.client())
    except sdk.exception.ImageBuildError as error:  # the reason is on a separate line
        raise RuntimeError(" ".join(str(error).split())) from None
    finally:
        await client.close()


async def _prime(client: PrimeProvider, text: str, name: str, progress: Callable[[str], None]) -> None:
    import httpx

    sdk: Any = importlib.import_module("prime_sandboxes")
    image, _, tag = name.partition(":")
    images = client.images
    try:
        request = sdk.BuildImageRequest(
            image_name=image, image_tag=tag or "latest", team_id=client.team, visibility=sdk.ImageVisibility.PRIVATE
        )
        made = await images.initiate_build(request)
        async with httpx.AsyncClient(timeout=60.0) as http:  # the upload URL is signed: no key is sent
            sent = await http.put(made.upload_url, content=_context(request.dockerfile_path, text))
        if sent.status_code != 200:  # the message omits the URL, which lets anybody write there
            raise RuntimeError(f"the Dockerfile was refused with HTTP {sent.status_code}")
        await images.start_build(made.build_id)
        progress(f"building {name} on Prime")
        while (build := await images.get_build_status(made.build_id))["status"] in ("PENDING", "UPLOADING", "BUILDING"):
            await asyncio.sleep(_POLL_SECONDS)
        if build["status"] != "COMPLETED":
            raise RuntimeError(f"the build is {build['status']}: {build.get('errorMessage')}")
    finally:
        await client.close()


def _context(name: str, text: str) -> bytes:
    """A build context that contains only its Dockerfile."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()
