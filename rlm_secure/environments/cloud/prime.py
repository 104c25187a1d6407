"""The prime environment: a virtual machine of Prime Intellect without a network, and a sealed worker in it.

What the SDK does by default, and what is done here instead:
- It stores sandbox tokens in `~/.prime/sandbox_auth_cache.json`, which everybody may read: here they stay in memory.
- It reads the address, team and key that it was not given from `~/.prime/config.json`: here that file is ignored.
- It follows redirects, and sends the key: here it follows none.
- It sleeps for up to 80 s at a rate limit: here the error is raised immediately, and the lease has the deadline.
- It keeps all unread output: here too much of it breaks the stream.
- It takes an image without an owner, which may be anybody's on Docker Hub: here only the account's images have names.

A program's input cannot be closed: the supervisor ends when its host is silent, or with its sandbox. A port can only
be published to everybody, so there is no ingress.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from rlm_secure.environments.cloud.base import (
    UNRENEWED_SECONDS,
    CloudEnvironment,
    Made,
    Provider,
    SandboxPlan,
    credential,
    is_pinned,
    need,
    no_proxy_for_loopback,
    put_seconds,
)
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.environments.remote.data_image import image_name, needed
from rlm_secure.policy.model import GIB, MIB, Policy

#: Built by `sandboxes/prime`; the tag is a version number of its contents.
DEFAULT_IMAGE: Final = "rlm-secure-sandbox:1"
DEFAULT_URL: Final = "https://api.primeintellect.ai"

_REQUEST_SECONDS = 30
_POLL_SECONDS = 0.5
_FOR_EVER = 10**6  # polls: the lease has the deadline
_OUTPUT_BYTES = 32 * MIB
_QUIET = logging.NullHandler()  # without any handler, the SDK's warnings go to standard error
_OWN = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*(:[a-zA-Z0-9_][a-zA-Z0-9._-]*)?")
#: An HTTP status or a Connect code, which the SDK has only in the text of its errors.
_SAID = re.compile(r"(?:Upload failed: )?HTTP (\d{3})\b|(?:Connect|process \w+) RPC failed \((\w+)\)")
_PASSING = frozenset({"408", "429", "500", "502", "503", "504"}) | frozenset(
    {"aborted", "deadline_exceeded", "internal", "resource_exhausted", "unavailable", "unknown"}
)


class PrimeEnvironment(CloudEnvironment):
    """Sessions in Prime sandboxes, made from `image`: one of the account's own (`name:tag`), or any by its digest. By
    default it is that of `images.build("prime", ...)`: the one with packages where the policy gives some to cells.

    A sandbox gets `cpus`, `memory_gib` (what the policy needs by default) and `disk_gib`. `api_key` is PRIME_API_KEY
    by default, `api_url` PRIME_API_BASE_URL, `team_id` PRIME_TEAM_ID. `user` runs the supervisor (default: the image's
    user). Raises ValueError for the transport "ingress": Prime has none that requires a token.
    """

    name = "prime"

    def __init__(
        self,
        image: str | None = None,
        api_key: str | None = None,
        api_url: str | None = None,
        team_id: str | None = None,
        user: str | None = None,
        cpus: int = 1,
        memory_gib: int | None = None,
        disk_gib: int = 5,
        ttl_seconds: int = 3600,
        max_live: int = 20,
        create_seconds: float = 120.0,
        transport: str = "exec",
        reuse: bool = True,
    ) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds, transport, reuse)
        if transport == "ingress":
            raise ValueError("prime has no authenticated ingress: a port there is open to everybody; use 'exec'")
        if image is not None and not (_OWN.fullmatch(image) or is_pinned(image)):
            one = f"one of your own, as in {DEFAULT_IMAGE}"
            raise ValueError(f"an image is {one}, or named by its digest, as in python@sha256:..., not {image!r}")
        self._image = image
        self._key = api_key
        url = api_url or os.environ.get("PRIME_API_BASE_URL") or os.environ.get("PRIME_BASE_URL") or DEFAULT_URL
        self._url = url.rstrip("/").removesuffix("/api/v1")
        self._team = team_id or os.environ.get("PRIME_TEAM_ID") or None
        self._user = user
        self._size = (cpus, memory_gib, disk_gib)

    def provider(self, policy: Policy | None) -> PrimeProvider:
        """See CloudEnvironment.provider."""
        need("prime_sandboxes", self.name)
        key = credential(self._key, "PRIME_API_KEY", "Prime")
        no_proxy_for_loopback(self._url)
        cpus, memory, disk = self._size
        if memory is None:
            memory = math.ceil(self.memory_bytes(policy) / GIB)
        size = {"cpu_cores": cpus, "memory_gb": memory, "disk_size_gb": disk, "gpu_count": 0}
        image = self._image or image_name(DEFAULT_IMAGE, packages=needed(policy))
        return PrimeProvider(key, self._url, self._team, image, self._user, size)


class PrimeProvider(Provider):
    """The SDK's asynchronous client."""

    name = "prime"
    network = "network_allowlist empty, names included"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    files: ClassVar[int] = 12
    pinned: ClassVar[bool] = True

    def __init__(
        self, key: str, url: str, team: str | None, image: str, user: str | None, size: Mapping[str, int]
    ) -> None:
        self._key = key
        self._url = self.endpoint = url
        self._team = team
        self._image = image
        self._user = user
        self._size = size
        self._client: Any = None
        self._id = ""
        self._begun = False
        self._folders: dict[str, str] = {}

    async def create(self, plan: SandboxPlan) -> Made:
        """See Provider.create."""
        minutes = math.ceil(plan.ttl_seconds / 60)
        image = await self._reference()
        request = _sdk().CreateSandboxRequest(
            name=plan.name,
            labels=_flat(plan.labels),
            docker_image=image,
            network_allowlist=[],
            timeout_minutes=minutes,
            idle_timeout_minutes=min(minutes, UNRENEWED_SECONDS // 60),
            environment_vars={},
            secrets={},
            volumes=[],
            team_id=self._team,
            idempotency_key=plan.attempt,  # a request that the SDK repeats creates no second sandbox
            **self._size,
        )
        made = await self.client.create(request)
        self._id = str(made.id)
        await self.client.wait_for_creation(self._id, max_attempts=_FOR_EVER)
        await self._check_network()
        facts = {"image": image, "cpus": made.cpu_cores, "memory_gb": made.memory_gb, "disk_gb": made.disk_size_gb}
        return Made(self._id, int(made.memory_gb * GIB), {**facts, "vm": made.vm})

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        # An uploaded file belongs to root. The supervisor's user creates the directory, because it listens there.
        folder, _, file = name.rpartition("/")
        if folder not in self._folders:
            command = f"umask 077 && mkdir -p {shlex.quote(folder)} && cd {shlex.quote(folder)} && pwd"
            done = await self._do(command)
            if done.exit_code:
                raise OSError(f"no directory could be made: {done.stderr}")
            self._folders[folder] = done.stdout.splitlines()[-1]
        path = f"{self._folders[folder]}/{file}"
        await self.client.upload_bytes(self._id, path, data, file, timeout=math.ceil(put_seconds(len(data))))
        return path

    async def run(self, command: str, stream: Stream) -> _Command:
        """See Provider.run."""
        # The SDK retries a refused process for 15 s; a refused command fails immediately, so that one goes first.
        if self._begun:
            await self._do("true")
        self._begun = True
        return _Command(await self.client.open_process(self._id, command, user=self._user), stream, self)

    async def kill(self, pid: int) -> None:
        """Kill a process of the sandbox whose stream is lost."""
        await self._do(f"kill -9 {pid}")

    async def running(self) -> bool:
        """See Provider.running."""
        try:
            found = await self.client.get(self._id)
        except _sdk().APIError as error:
            if _said(error) == "404":
                return False
            raise
        return str(found.status) == "RUNNING"

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        try:
            await self.client.delete(sandbox)
        except _sdk().APIError as error:
            if _said(error) != "404":
                raise

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        query = {"labels": _flat(labels), "team_id": self._team, "exclude_terminated": True, "per_page": 100}
        found: list[tuple[str, Mapping[str, str]]] = []
        number = 1
        while True:
            page = await self.client.list(page=number, **query)
            for each in page.sandboxes:
                known = dict(label.partition("=")[::2] for label in each.labels)
                if labels.items() <= known.items():
                    found.append((str(each.id), known))
            if not page.has_next:
                return found
            number += 1

    async def close(self) -> None:
        """See Provider.close."""
        if self._client is not None:
            await self._client.aclose()

    def passing(self, error: BaseException) -> bool:
        """See Provider.passing."""
        sdk = _sdk()
        if isinstance(error, sdk.SandboxNotRunningError):
            return False
        if isinstance(error, sdk.APITimeoutError | sdk.CommandTimeoutError | sdk.UploadTimeoutError):
            return True
        return _said(error) in _PASSING or str(error).startswith("Request failed: ")

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit. The SDK has tried twice more by then, after 10 and 30 seconds."""
        return 0.0 if _said(error) == "429" else None

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets."""
        return (self._key,)

    @property
    def client(self) -> Any:
        """The SDK's client, created on first use, on the loop."""
        if self._client is None:
            sdk = _sdk()
            logging.getLogger("prime_sandboxes").addHandler(_QUIET)
            client = sdk.AsyncSandboxClient(api_key=self._key)
            client.client.config.config = {}
            client.client.base_url = self._url
            # Both are private to the SDK. If a version changed them unnoticed, tokens would be written to disk again.
            cache = importlib.import_module("prime_sandboxes.sandbox").AsyncSandboxAuthCache
            if not isinstance(client._auth_cache, cache):
                raise TypeError("this version of prime-sandboxes keeps its tokens somewhere else")
            client._auth_cache = cache(Path(os.devnull), client.client)
            for http in (client.client.client, client._get_gateway_client()):
                http.follow_redirects = False
                http.event_hooks = {"response": [_tell_a_rate_limit]}
            self._client = client
        return self._client

    @property
    def images(self) -> Any:
        """The SDK's client for images, over the same connection."""
        return _sdk().AsyncImageClient(self.client.client)

    @property
    def team(self) -> str | None:
        """The team that owns images and sandboxes; None: the key's account."""
        return self._team

    async def _do(self, command: str) -> Any:
        with _cancellable():
            return await self.client.execute_command(self._id, command, user=self._user, timeout=_REQUEST_SECONDS)

    async def _reference(self) -> str:
        """The full reference of the image: with its owner, or with its digest."""
        if "@" in self._image:
            return self._image
        name, _, tag = self._image.partition(":")
        ready = (name, tag or "latest", "COMPLETED")
        for each in (await self.images.list(search=name, team_id=self._team, limit=250)).data:
            reference = each.display_ref or each.full_image_path
            if reference and (each.image_name, each.image_tag, each.status.value) == ready:
                return str(reference)
        raise LookupError(f"image {self._image!r} not found among your own; build it: rlm-secure sandbox build prime")

    async def _check_network(self) -> None:
        """Wait for the network policy to be applied. Raises PermissionError unless it allows nothing."""
        while not (status := await self.client.get_network(self._id)).applied:
            await asyncio.sleep(_POLL_SECONDS)
        if status.policy.allowlist != []:
            raise PermissionError(f"the sandbox has a network, although none was asked for: {status.policy}")


class _Command:
    """One live process of the sandbox, and the task that follows its output."""

    def __init__(self, handle: Any, stream: Stream, provider: PrimeProvider) -> None:
        self._handle = handle
        self._provider = provider
        self._broken = False
        self._waiting = 0
        handle.stdout.feed = self._bounded(handle.stdout.feed)
        # We replace a broken stream immediately. The SDK would reconnect after up to 8 s, without the output in
        # between, and would try even when the sandbox is gone.
        handle._reconnect = None
        self._follower = asyncio.ensure_future(self._follow(stream))

    async def write(self, data: bytes) -> None:
        """See Program.write."""
        with _cancellable():
            await self._handle.write_stdin(data)

    async def close(self) -> None:
        """See Program.close."""
        self._follower.cancel()
        if self._broken:  # its connection is closed, and cannot carry a signal
            await self._provider.kill(self._handle.pid)
            return
        with contextlib.suppress(Exception):  # it ended by itself
            await self._handle.kill()
        await self._handle.aclose()

    async def drop(self) -> None:
        """See Program.drop."""
        self._follower.cancel()
        self._handle._pump_task.cancel()  # the SDK's own close sends signals first

    async def _follow(self, stream: Stream) -> None:
        async def errors() -> None:
            async for data in self._handle.stderr:
                stream.complain(data)

        complaints = asyncio.ensure_future(errors())
        try:
            async for data in self._handle.stdout:
                await stream.feed(data)
                self._waiting -= len(data)
            await complaints
        except Exception as error:  # noqa: BLE001 - the SDK has several base exceptions
            self._broken = True
            stream.finish(self._provider.explain(error)[0])
        else:
            stream.finish()
        finally:
            complaints.cancel()

    def _bounded(self, feed: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            self._waiting += len(data)
            if self._waiting > _OUTPUT_BYTES:
                raise BufferError("more output than anybody takes")
            feed(data)

        return take


class RateLimited(Exception):
    """Prime answered 429."""


@contextlib.contextmanager
def _cancellable() -> Iterator[None]:
    """Raise CancelledError again where the SDK turned it into its own error, which nobody would retrieve."""
    try:
        yield
    except Exception:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None
        raise


async def _tell_a_rate_limit(response: Any) -> None:
    if response.status_code == 429:
        raise RateLimited("HTTP 429: Prime's rate limit")


def _flat(labels: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in labels.items()]


def _said(error: BaseException) -> str:
    """The HTTP status or the Connect code in an error's text; "" if there is none."""
    said = _SAID.match(str(error))
    return (said[1] or said[2]) if said else ""


def _sdk() -> Any:
    return importlib.import_module("prime_sandboxes")
