"""The daytona environment: a Daytona sandbox without a network, and a sealed worker in it.

What the SDK does by default, and what is done here instead:
- It reads `.env` files of the current directory for options that it was not given: here it is given all of them.
- It may send traces to a collector: here tracing is off.
- It stores a program's output in a log in the sandbox: here a stream is replaced before its log is long.
- It echoes input into that log: here it does not.

A session's input cannot be closed: the supervisor ends when its host is silent, or with its sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import math
import os
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

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
    retry_after,
)
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.environments.remote.data_image import image_name, needed
from rlm_secure.policy.model import GIB, MIB, Policy

#: Built by `sandboxes/daytona`; the number is a version of its contents.
DEFAULT_SNAPSHOT = "rlm-secure-sandbox-1"
DEFAULT_URL = "https://app.daytona.io/api"

_REQUEST_SECONDS = 30
_LOG_BYTES = 64 * MIB
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_PASSING_NAMES = ("DaytonaRateLimitError", "DaytonaTimeoutError", "DaytonaConnectionError")


class DaytonaEnvironment(CloudEnvironment):
    """Sessions in Daytona sandboxes, made from `snapshot` (its size is its own) or from `image`. The default is the
    snapshot of `images.build("daytona", ...)`: the one with packages where the policy gives some to cells.

    An `image` is named by its digest and gets `cpus`, `memory_gib` (what the policy needs by default) and
    `disk_gib`. `api_key` is DAYTONA_API_KEY by default, `api_url` DAYTONA_API_URL, `target` (the region)
    DAYTONA_TARGET. `user` runs the supervisor.
    """

    name = "daytona"

    def __init__(
        self,
        snapshot: str | None = None,
        image: str | None = None,
        api_key: str | None = None,
        api_url: str | None = None,
        target: str | None = None,
        user: str | None = None,
        cpus: int = 1,
        memory_gib: int | None = None,
        disk_gib: int = 3,
        ttl_seconds: int = 3600,
        max_live: int = 20,
        create_seconds: float = 120.0,
        transport: str = "exec",
        reuse: bool = True,
    ) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds, transport, reuse)
        if image is not None and not is_pinned(image):
            raise ValueError(f"an image is named by its digest, as in python@sha256:..., not {image!r}")
        self._source = (snapshot, image)
        self._key = api_key
        self._url = api_url or os.environ.get("DAYTONA_API_URL") or DEFAULT_URL
        self._target = target or os.environ.get("DAYTONA_TARGET") or "us"
        self._user = user
        self._size = (cpus, memory_gib, disk_gib)

    def provider(self, policy: Policy | None) -> DaytonaProvider:
        """See CloudEnvironment.provider."""
        need("daytona", self.name)
        key = credential(self._key, "DAYTONA_API_KEY", "Daytona")
        no_proxy_for_loopback(self._url)
        cpus, memory, disk = self._size
        if memory is None:
            memory = math.ceil(self.memory_bytes(policy) / GIB)
        connection = {"api_key": key, "api_url": self._url, "target": self._target}
        snapshot, image = self._source
        source = {"snapshot": snapshot or image_name(DEFAULT_SNAPSHOT, packages=needed(policy))}
        source = source if image is None else {"image": image}
        return DaytonaProvider(connection, source, self._user, {"cpu": cpus, "memory": memory, "disk": disk})


class DaytonaProvider(Provider):
    """The SDK's asynchronous client."""

    name = "daytona"
    network = "networkBlockAll true, public false"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    files: ClassVar[int] = 12
    bind: ClassVar[str] = "0.0.0.0"  # noqa: S104 - previews come from outside its loopback; requests need our key

    def __init__(
        self, connection: Mapping[str, str], source: Mapping[str, str], user: str | None, size: Mapping[str, int]
    ) -> None:
        self._connection = dict(connection)
        self.endpoint = self._connection["api_url"]
        self._source = source
        self._user = user
        self._size = size
        self._client: Any = None
        self._sandbox: Any = None
        self._home = ""
        self._secrets: tuple[str, ...] = (self._connection["api_key"],)

    async def create(self, plan: SandboxPlan) -> Made:
        """See Provider.create."""
        sdk = _sdk()
        options: dict[str, Any] = {
            "name": plan.name,
            "labels": dict(plan.labels),
            "os_user": self._user,
            "env_vars": {},
            "public": False,
            "network_block_all": True,
            "ttl_minutes": math.ceil(plan.ttl_seconds / 60),
            "auto_stop_interval": math.ceil(UNRENEWED_SECONDS / 60),
            "auto_delete_interval": 0,  # what stops is deleted
            "volumes": [],
            **self._source,
        }
        if "image" in self._source:
            params = sdk.CreateSandboxFromImageParams(**options, resources=sdk.Resources(**self._size))
        else:
            params = sdk.CreateSandboxFromSnapshotParams(**options)
        self._sandbox = await self.client.create(params, timeout=0)  # the lease has the deadline
        self._check(self._sandbox)
        facts = {**self._source, "cpus": self._sandbox.cpu, "memory_gib": self._sandbox.memory}
        facts |= {"disk_gib": self._sandbox.disk, "class": self._sandbox.sandbox_class or "unknown"}
        return Made(str(self._sandbox.id), int(self._sandbox.memory) * GIB, facts)

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        if not self._home:
            self._home = (await self._sandbox.get_work_dir()).rstrip("/")
        path = f"{self._home}/{name}"
        await self._sandbox.fs.upload_file(data, path, timeout=math.ceil(put_seconds(len(data))))
        return path

    async def run(self, command: str, stream: Stream) -> _Command:
        """See Provider.run."""
        process = self._sandbox.process
        session = f"rlm-secure-{secrets.token_hex(8)}"
        await process.create_session(session)
        try:
            # In a subshell: `exec` would replace the session's shell.
            request = _sdk().SessionExecuteRequest(command=f"({command})", run_async=True, suppress_input_echo=True)
            answer = await process.execute_session_command(session, request, timeout=_REQUEST_SECONDS)
        except BaseException:  # a cancellation as well: the session would remain
            with contextlib.suppress(Exception):
                await process.delete_session(session)
            raise
        return _Command(process, session, answer.cmd_id, stream, self)

    async def ingress(self, port: int) -> tuple[str, Mapping[str, str]]:
        """The preview of a port, authorized by a token in a header, never in a URL, which may be logged."""
        preview = await self._sandbox.get_preview_link(port)
        self._secrets = (*self._secrets, preview.token)
        return preview.url, {"X-Daytona-Preview-Token": preview.token, "X-Daytona-Skip-Preview-Warning": "true"}

    async def running(self) -> bool:
        """See Provider.running."""
        try:
            await self._sandbox.refresh_data()
        except _sdk().DaytonaNotFoundError:
            return False
        return str(getattr(self._sandbox.state, "value", self._sandbox.state)) == "started"

    async def renew(self) -> None:
        """Tell Daytona that the sandbox is not idle."""
        await self._sandbox.refresh_activity()

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        with contextlib.suppress(_sdk().DaytonaNotFoundError):
            own = self._sandbox if self._sandbox is not None and self._sandbox.id == sandbox else None
            await (own or await self.client.get(sandbox)).delete(wait=True)

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        query = _sdk().ListSandboxesQuery(labels=dict(labels))
        return [(each.id, each.labels) async for each in self.client.list(query)]

    async def close(self) -> None:
        """See Provider.close."""
        if self._client is not None:
            await self._client.close()

    def passing(self, error: BaseException) -> bool:
        """See Provider.passing."""
        if getattr(error, "status_code", None) in _PASSING:
            return True
        kinds = tuple(getattr(_sdk(), name) for name in _PASSING_NAMES if hasattr(_sdk(), name))
        return isinstance(error, kinds)

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit."""
        if getattr(error, "status_code", None) != 429:
            return None
        return retry_after(getattr(error, "headers", None))

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets."""
        return self._secrets

    @property
    def client(self) -> Any:
        """The SDK's client, created on first use, on the loop."""
        if self._client is None:
            sdk = _sdk()
            options: dict[str, Any] = {**self._connection, "otel_enabled": False}
            if "use_deprecated_polling" in sdk.DaytonaConfig.model_fields:
                options["use_deprecated_polling"] = True  # one state needs no websocket
            self._client = sdk.AsyncDaytona(sdk.DaytonaConfig(**options))
        return self._client

    def _check(self, sandbox: Any) -> None:
        """Raise PermissionError if the sandbox is open: an organisation's settings override what was requested."""
        if sandbox.public or not sandbox.network_block_all:
            raise PermissionError(
                f"the sandbox is public ({sandbox.public}) or has a network (blocked: {sandbox.network_block_all}), "
                "although the opposite was asked for: look at the organisation's settings"
            )


class _Command:
    """One command in a session of its own, and the task that follows its log."""

    def __init__(self, process: Any, session: str, command: str, stream: Stream, provider: DaytonaProvider) -> None:
        self._process = process
        self._session = session
        self._command = command
        self._stream = stream
        stream.longest = _LOG_BYTES
        self._follower = asyncio.ensure_future(self._follow(provider))

    async def write(self, data: bytes) -> None:
        """See Program.write."""
        text = data.decode("ascii")  # lines of JSON
        await self._process.send_session_command_input(self._session, self._command, text)

    async def close(self) -> None:
        """See Program.close."""
        await self.drop()
        with contextlib.suppress(_sdk().DaytonaError):  # it ended by itself
            await self._process.delete_session(self._session)

    async def drop(self) -> None:
        """See Program.drop."""
        self._follower.cancel()

    async def _follow(self, provider: DaytonaProvider) -> None:
        follow = self._process.get_session_command_logs_async
        try:
            await follow(self._session, self._command, self._output, self._error)
        except Exception as error:  # noqa: BLE001 - the SDK raises aiohttp's errors as well
            self._stream.finish(provider.explain(error)[0])
        else:
            self._stream.finish()

    async def _output(self, text: str) -> None:
        # Early daemons fill their messages with NUL, which no line of ours has.
        await self._stream.feed(text.replace("\0", "").encode("utf-8", "replace"))

    def _error(self, text: str) -> None:
        self._stream.complain(text.encode("utf-8", "replace"))


def _sdk() -> Any:
    return importlib.import_module("daytona")
