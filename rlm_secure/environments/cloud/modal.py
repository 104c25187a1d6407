"""The modal environment: a gVisor sandbox of Modal without a network, and a sealed worker in it.

What the SDK does by default, and what is done here instead:
- It connects where `~/.modal.toml` or MODAL_SERVER_URL says: here the address is given explicitly.
- The file and the environment may also set another runtime, worker or headers: here that is refused, by name.
- Its event loop ends before ours at interpreter exit: here sandboxes are ended earlier.
- A sandbox has the internet: here it is blocked explicitly.
- A memory request is not a limit: here the limit is requested as well.
- A repeated request may create a second sandbox: here each attempt has a unique name.

A command cannot be killed: it ends when its input is closed, or with its sandbox.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib
import math
import os
import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final

from rlm_secure.environments.cloud.base import (
    UNRENEWED_SECONDS,
    CloudEnvironment,
    Made,
    Provider,
    SandboxPlan,
    credential,
    need,
    no_proxy_for_loopback,
)
from rlm_secure.environments.cloud.lease import end
from rlm_secure.environments.cloud.stream import Stream, Threads
from rlm_secure.environments.remote.data_image import image_name, needed
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.policy.model import GIB, MIB, Policy

#: Built by `sandboxes/modal`; the tag is a version number of its contents.
DEFAULT_IMAGE: Final = "rlm-secure-sandbox:1"
DEFAULT_URL: Final = "https://api.modal.com,https://api.modal2.com"

_CLIENT = 1  # CLIENT_TYPE_CLIENT: the caller is not one of Modal's containers
_IMAGE = re.compile(
    r"im-[A-Za-z0-9]+|(?!im-)[A-Za-z0-9][A-Za-z0-9._-]*(:[A-Za-z0-9._-]+)?|[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}"
)
#: Settings of the SDK that change what sandbox is created, and their defaults.
_SETTINGS: Final[Mapping[str, Any]] = {
    "sandbox_v2": True,
    "function_runtime": None,
    "function_runtime_debug": False,
    "runtime_perf_record": False,
    "worker_id": None,
    "override_headers": None,
    "image_builder_version": None,
}
_PASSING = (
    "AlreadyExistsError",
    "ConnectionError",
    "InternalError",
    "ResourceExhaustedError",
    "ServiceError",
    "TimeoutError",
)


class ModalEnvironment(CloudEnvironment):
    """Sessions in Modal sandboxes, made from `image`: one of your own by name or id, or any by its digest. By default
    it is that of `images.build("modal", ...)`: the one with packages where the policy gives some to cells.

    A sandbox gets `cpus` (physical cores) and `memory_mib` (default: what the policy needs, in whole GiB), as limits.
    `token_id` is MODAL_TOKEN_ID by default, `token_secret` MODAL_TOKEN_SECRET, `environment` (of the workspace)
    MODAL_ENVIRONMENT; `server_url` replaces the SDK's own setting. Sandboxes belong to the app `app`.
    """

    name = "modal"

    def __init__(
        self,
        image: str | None = None,
        token_id: str | None = None,
        token_secret: str | None = None,
        server_url: str = DEFAULT_URL,
        environment: str | None = None,
        app: str = "rlm-secure",
        cpus: float = 1.0,
        memory_mib: int | None = None,
        ttl_seconds: int = 3600,
        max_live: int = 20,
        create_seconds: float = 120.0,
        transport: str = "exec",
        reuse: bool = True,
    ) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds, transport, reuse)
        if image is not None and not _IMAGE.fullmatch(image):
            raise ValueError(
                f"an image is one of your own, as in {DEFAULT_IMAGE} or im-..., or named by its digest, not {image!r}"
            )
        self._image = image
        self._token = (token_id, token_secret)
        self._url = server_url
        self._place = (app, environment or os.environ.get("MODAL_ENVIRONMENT") or "")
        self._size = (cpus, memory_mib)

    def provider(self, policy: Policy | None) -> ModalProvider:
        """See CloudEnvironment.provider. Raises EnvironmentUnavailable for settings that would change a sandbox."""
        need("modal", self.name)
        token = (
            credential(self._token[0], "MODAL_TOKEN_ID", "Modal", "token_id"),
            credential(self._token[1], "MODAL_TOKEN_SECRET", "Modal", "token_secret"),
        )
        no_proxy_for_loopback(*self._url.split(","))
        _check_settings(self._place[1])
        cpus, memory = self._size
        if memory is None:
            memory = 1024 * math.ceil(self.memory_bytes(policy) / GIB)  # rounding up leaves room for contexts
        size = {"cpu": (cpus, cpus), "memory": (memory, memory)}
        image = self._image or image_name(DEFAULT_IMAGE, packages=needed(policy))
        return ModalProvider(self._url, token, self._place, image, size, ingress=self._transport == "ingress")


class ModalProvider(Provider):
    """The SDK's asynchronous client."""

    name = "modal"
    network = "block_network true, no tunnel"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    files: ClassVar[int] = 12
    pinned: ClassVar[bool] = True
    bind: ClassVar[str] = "0.0.0.0"  # noqa: S104 - the proxy comes from outside its loopback; requests need our key

    def __init__(
        self,
        url: str,
        token: tuple[str, str],
        place: tuple[str, str],
        image: str,
        size: Mapping[str, tuple[float, float]],
        *,
        ingress: bool,
    ) -> None:
        self._url = url
        self.endpoint = " ".join((url, *place))
        self._token = token
        self._place = place
        self._image = image
        self._size = size
        self._reachable: dict[str, Any] = {"block_network": True}
        if ingress:  # a blocked network is blocked in both directions
            self._reachable = {"outbound_cidr_allowlist": [], "outbound_domain_allowlist": []}
            self.network = "outbound allowlists empty, no tunnel; a connect token for one port"
        self._client: Any = None
        self._app: Any = None
        self._sandbox: Any = None
        self._secrets: tuple[str, ...] = token

    async def create(self, plan: SandboxPlan) -> Made:
        """See Provider.create."""
        self._sandbox = await _sdk().Sandbox.create.aio(
            "sleep",
            str(plan.ttl_seconds),
            app=await self.app(),
            client=await self.client(),
            name=plan.name,
            tags=dict(plan.labels),
            image=await self._source(),
            env={},
            secrets=[],
            volumes={},
            timeout=plan.ttl_seconds,
            idle_timeout=min(plan.ttl_seconds, UNRENEWED_SECONDS),
            encrypted_ports=[],
            h2_ports=[],
            unencrypted_ports=[],
            include_oidc_identity_token=False,
            **self._reachable,
            **self._size,
        )
        memory = int(self._size["memory"][1])
        facts = {"image": self._image, "cpus": self._size["cpu"][1], "memory_mib": memory}
        return Made(str(self._sandbox.object_id), memory * MIB, facts)

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        folder, _, file = name.rpartition("/")
        # The directory keeps others away; whoever may enter it, as the supervisor's user, may read the file.
        made = f"(umask 077 && mkdir -p {shlex.quote(folder)}) && cd {shlex.quote(folder)}"
        process = await self._exec(f"{made} && (umask 022 && cat >{shlex.quote(file)}) && pwd")
        process.stdin.write(data)
        process.stdin.write_eof()
        await process.stdin.drain.aio()
        said = (await process.stdout.read.aio()).decode("utf-8", "replace").splitlines()
        if await process.wait.aio() or not said:
            told = (await process.stderr.read.aio()).decode("utf-8", "replace")
            raise OSError(f"no file could be written: {told}")
        return f"{said[-1]}/{file}"

    async def run(self, command: str, stream: Stream) -> _Command:
        """See Provider.run."""
        return _Command(await self._exec(command), stream)

    async def ingress(self, port: int) -> tuple[str, Mapping[str, str]]:
        """Modal's proxy to a port, authorized by a token in a header, never in a URL, which may be logged."""
        given = await self._sandbox.create_connect_token.aio(port=port)
        self._secrets = (*self._secrets, given.token)
        return given.url, {"Authorization": f"Bearer {given.token}"}

    async def running(self) -> bool:
        """See Provider.running."""
        try:
            return await self._sandbox.poll.aio() is None
        except _sdk().exception.NotFoundError:
            return False

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        with contextlib.suppress(_sdk().exception.NotFoundError):
            own = self._sandbox if self._sandbox is not None and self._sandbox.object_id == sandbox else None
            await (own or await _sdk().Sandbox.from_id.aio(sandbox, client=await self.client())).terminate.aio()

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        app = await self.app()
        listed = _sdk().Sandbox.list.aio(app_id=app.app_id, tags=dict(labels), client=await self.client())
        found: list[tuple[str, Mapping[str, str]]] = []
        async for each in listed:
            with contextlib.suppress(_sdk().exception.NotFoundError):  # it has ended since
                found.append((str(each.object_id), await each.get_tags.aio()))
        return found

    async def close(self) -> None:
        """See Provider.close."""
        if self._sandbox is not None:
            await self._sandbox.detach.aio()
        if self._client is not None:
            await self._client.__aexit__(None, None, None)

    def passing(self, error: BaseException) -> bool:
        """See Provider.passing."""
        reset = importlib.import_module("grpclib.exceptions").StreamTerminatedError
        return isinstance(error, (reset, *(getattr(_sdk().exception, name) for name in _PASSING)))

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit. The SDK waits itself where the server says how long."""
        return 0.0 if isinstance(error, _sdk().exception.ResourceExhaustedError) else None

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets."""
        return self._secrets

    async def client(self) -> Any:
        """The SDK's client, created on first use; `Client.from_credentials` would take the address from a setting."""
        if self._client is None:
            self._client = await _sdk().Client(self._url, _CLIENT, self._token).__aenter__()
        return self._client

    async def app(self) -> Any:
        """The app that sandboxes and images belong to, created if missing."""
        if self._app is None:
            name, environment = self._place
            options = {"environment_name": environment, "create_if_missing": True}
            self._app = await _sdk().App.lookup.aio(name, client=await self.client(), **options)
        return self._app

    @property
    def environment(self) -> str | None:
        """The workspace's environment; None for its default one."""
        return self._place[1] or None

    async def _source(self) -> Any:
        images = _sdk().Image
        if "@" in self._image:
            return images.from_registry(self._image)
        if self._image.startswith("im-"):
            return images.from_id(self._image, client=await self.client())
        return images.from_name(self._image, environment_name=self.environment, client=await self.client())

    async def _exec(self, command: str) -> Any:
        return await self._sandbox.exec.aio("sh", "-c", command, text=False)


class _Command:
    """One command of the sandbox, and the task that follows its output."""

    def __init__(self, process: Any, stream: Stream) -> None:
        self._process = process
        self._unsent: bytes | None = None
        self._follower = asyncio.ensure_future(stream.follow(process.stdout, process.stderr))

    async def write(self, data: bytes) -> None:
        """See Program.write."""
        if data is not self._unsent:  # unsent data is still in the SDK's buffer
            self._process.stdin.write(data)
            self._unsent = data
        await self._process.stdin.drain.aio()
        self._unsent = None

    async def close(self) -> None:
        """See Program.close."""
        with contextlib.suppress(Exception):  # it ended by itself
            self._process.stdin.write_eof()
            await self._process.stdin.drain.aio()
        await self.drop()

    async def drop(self) -> None:
        """See Program.drop."""
        self._follower.cancel()
        await asyncio.wait([self._follower])


@cache
def _sdk() -> Any:
    sdk = importlib.import_module("modal")
    # The last handler that is registered runs first: before the SDK ends its loop, which can resolve names until then.
    atexit.register(end)
    loop = importlib.import_module("modal._utils.async_utils").synchronizer._get_loop(start=True)
    loop.call_soon_threadsafe(loop.set_default_executor, Threads())
    return sdk


def _check_settings(environment: str) -> None:
    """Raises EnvironmentUnavailable for a setting of the SDK that would silently change what is created, or where."""
    _sdk()
    module = importlib.import_module("modal.config")
    known = module.config.to_dict(include_internal=True)
    expected = {**_SETTINGS, "environment": environment or None}
    if environment:  # it is passed explicitly, which overrides the setting
        del expected["environment"]
    for name in expected.keys() & known.keys():
        if known[name] != expected[name]:
            what = f"{name} = {known[name]!r} (MODAL_{name.upper()}, or {module.user_config_path})"
            hint = "name it by the option environment" if name == "environment" else "unset it"
            raise EnvironmentUnavailable(f"a setting of the Modal SDK would change what sandboxes are: {what}; {hint}")
