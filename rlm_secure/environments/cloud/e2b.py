"""The e2b environment: a Firecracker machine of E2B without a network, and a sealed worker in it.

What the SDK does by default, and what is done here instead:
- It kills a background command after 60 s: here the timeout is 0, which means none.
- It keeps a command's output in memory: here it does not, or a stream is replaced before its output is long.
- A sandbox is public and has the internet: here both are denied explicitly.
- E2B_DEBUG connects it to localhost: here it is off.
- The server decides what a sandbox does at its timeout: here it is told to end it.

The user `user` may use sudo in E2B's templates. A worker cannot, because no_new_privs is set before it starts; but
supervisor and worker would share this uid, while a supervisor that starts as root takes two.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import math
import os
import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from rlm_secure.environments.cloud.base import (
    UNRENEWED_SECONDS,
    CloudEnvironment,
    Made,
    Provider,
    SandboxPlan,
    credential,
    need,
    no_proxy_for_loopback,
    put_seconds,
)
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.environments.remote.data_image import image_name, needed
from rlm_secure.policy.model import MIB, Policy

#: Built by `sandboxes/e2b`; the number is a version of its contents.
DEFAULT_TEMPLATE = "rlm-secure-sandbox-1"

_REQUEST_SECONDS = 30.0
#: Most output of one stream where the SDK keeps all of it in this process, as versions before 2.57 do.
_KEPT_BYTES = 64 * MIB
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
#: The SDK has a status, or the code of a server that lost a request, only in its text: another request may be served.
_PASSING_TEXT = re.compile(r"(?:408|429|50[0234])\b|(?:Code\.)?(?:ABORTED|INTERNAL|UNKNOWN):", re.IGNORECASE)


class E2BEnvironment(CloudEnvironment):
    """Sessions in E2B sandboxes, made from `template` (its processors and memory are the template's). By default it is
    that of `images.build("e2b", ...)`: the one with packages where the policy gives some to cells.

    `api_key` is E2B_API_KEY by default; `domain`, `api_url` and `sandbox_url` go to the SDK, for other clusters.
    `user` starts the supervisor: "root" changes to two uids, one for the supervisor and one for the worker, and keeps
    no capability; any other user runs both.
    """

    name = "e2b"

    def __init__(
        self,
        template: str | None = None,
        api_key: str | None = None,
        domain: str | None = None,
        api_url: str | None = None,
        sandbox_url: str | None = None,
        user: str = "root",
        ttl_seconds: int = 3600,
        max_live: int = 20,
        create_seconds: float = 120.0,
        transport: str = "exec",
        reuse: bool = True,
    ) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds, transport, reuse)
        self._template = template
        self._user = user
        self._options = {"api_key": api_key, "domain": domain, "api_url": api_url, "sandbox_url": sandbox_url}

    def provider(self, policy: Policy | None) -> E2BProvider:
        """See CloudEnvironment.provider."""
        need("e2b", self.name)
        options = {name: value for name, value in self._options.items() if value is not None}
        options["api_key"] = credential(self._options["api_key"], "E2B_API_KEY", "E2B")
        no_proxy_for_loopback(options.get("api_url"), options.get("sandbox_url"))
        template = self._template or image_name(DEFAULT_TEMPLATE, packages=needed(policy))
        return E2BProvider(template, self._user, options)


class E2BProvider(Provider):
    """The SDK's asynchronous client."""

    name = "e2b"
    network = "deny_out 0.0.0.0/0, allow_internet_access false, allow_public_traffic false"
    renew_every: ClassVar[float | None] = UNRENEWED_SECONDS / 3
    files: ClassVar[int] = 12

    def __init__(self, template: str, user: str, options: Mapping[str, str]) -> None:
        self._template = template
        self._user = user
        self._options = {**options, "debug": False, "request_timeout": _REQUEST_SECONDS}
        named = (options.get(name) or os.environ.get(f"E2B_{name.upper()}", "") for name in ("api_url", "domain"))
        self.endpoint = " ".join(named)
        self._sandbox: Any = None
        self._ends_at = 0.0

    @property
    def options(self) -> Mapping[str, Any]:
        """Arguments of every SDK call: key, endpoints, and what must not come from environment variables."""
        return self._options

    async def create(self, plan: SandboxPlan) -> Made:
        """See Provider.create."""
        sdk = _sdk()
        self._ends_at = time.monotonic() + plan.ttl_seconds
        # One key per attempt, so that a request that the SDK repeats creates no second sandbox. Versions before 2.57
        # have no such key, so they must not repeat requests: the lease makes another attempt.
        keyed = _takes(sdk.AsyncSandbox.create, "idempotency_key")
        once: dict[str, Any] = {"idempotency_key": plan.attempt} if keyed else {"retries": 0}
        self._sandbox = await sdk.AsyncSandbox.create(
            self._template,
            timeout=min(plan.ttl_seconds, UNRENEWED_SECONDS),
            metadata=dict(plan.labels),
            envs={},
            allow_internet_access=False,
            network={"allow_out": [], "deny_out": [sdk.ALL_TRAFFIC], "allow_public_traffic": False},
            lifecycle={"on_timeout": "kill"},
            **once,
            **self._options,
        )
        info = await self._sandbox.get_info(**self._options)
        facts = {"template": self._template, "cpus": info.cpu_count, "memory_mb": info.memory_mb}
        return Made(str(self._sandbox.sandbox_id), int(info.memory_mb) * MIB, facts)

    async def put(self, name: str, data: bytes) -> str:
        """See Provider.put."""
        written = await self._sandbox.files.write(name, data, user=self._user, request_timeout=put_seconds(len(data)))
        return str(written.path)

    async def run(self, command: str, stream: Stream) -> _Command:
        """See Provider.run."""
        run = self._sandbox.commands.run
        forgets = _takes(run, "retain_output")
        if not forgets:
            stream.longest = _KEPT_BYTES
        handle = await run(
            command,
            background=True,
            user=self._user,
            stdin=True,
            timeout=0,  # none; the default of 60 s kills the command itself
            request_timeout=_REQUEST_SECONDS,
            on_stdout=lambda text: stream.feed(text.encode("utf-8", "replace")),
            on_stderr=lambda text: stream.complain(text.encode("utf-8", "replace")),
            **({"retain_output": False} if forgets else {}),
        )
        return _Command(handle, stream, self)

    async def ingress(self, port: int) -> tuple[str, Mapping[str, str]]:
        """E2B's edge proxy, authorized by the sandbox's traffic token. It forwards to the sandbox's loopback."""
        sandbox = self._sandbox
        url = sandbox.connection_config.get_sandbox_url(sandbox.sandbox_id, sandbox.sandbox_domain, port)
        headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": str(port)}
        return url, {**headers, "E2b-Traffic-Access-Token": sandbox.traffic_access_token}

    async def running(self) -> bool:
        """See Provider.running."""
        return bool(await self._sandbox.is_running(request_timeout=_REQUEST_SECONDS))

    async def renew(self) -> None:
        """Extend the sandbox's timeout, up to the end of its time to live."""
        left = math.ceil(self._ends_at - time.monotonic())
        if left > 0:
            await self._sandbox.set_timeout(min(left, UNRENEWED_SECONDS), **self._options)

    async def destroy(self, sandbox: str) -> None:
        """See Provider.destroy."""
        await _sdk().AsyncSandbox.kill(sandbox, **self._options)

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """See Provider.find."""
        sdk = _sdk()
        pages = sdk.AsyncSandbox.list(query=sdk.SandboxQuery(metadata=dict(labels)), **self._options)
        found: list[tuple[str, Mapping[str, str]]] = []
        while pages.has_next:
            found += [(each.sandbox_id, each.metadata or {}) for each in await pages.next_items()]
        return found

    def passing(self, error: BaseException) -> bool:
        """See Provider.passing."""
        import httpx

        sdk = _sdk()
        gone = getattr(sdk, "SandboxNotRunningException", None)
        if gone is not None and isinstance(error, gone):
            return False
        if getattr(error, "status_code", None) in _PASSING:
            return True
        if isinstance(error, sdk.RateLimitException | sdk.TimeoutException | httpx.TransportError):
            return True
        return _PASSING_TEXT.match(str(error)) is not None

    def rate_limit(self, error: BaseException) -> float | None:
        """See Provider.rate_limit. The SDK passes no Retry-After on."""
        return 0.0 if isinstance(error, _sdk().RateLimitException) or str(error).startswith("429") else None

    def secrets(self) -> tuple[str, ...]:
        """See Provider.secrets."""
        token = getattr(self._sandbox, "traffic_access_token", None)
        return tuple(str(each) for each in (self._options["api_key"], token) if each)


class _Command:
    """One command of the sandbox, and the task that reports how it ended."""

    def __init__(self, handle: Any, stream: Stream, provider: E2BProvider) -> None:
        self._handle = handle
        self._end = asyncio.ensure_future(self._watch(stream, provider))

    async def write(self, data: bytes) -> None:
        await self._handle.send_stdin(data, request_timeout=_REQUEST_SECONDS)

    async def close(self) -> None:
        await self.drop()
        with contextlib.suppress(Exception):  # it ended by itself
            await self._handle.kill()

    async def drop(self) -> None:
        self._end.cancel()
        await self._handle.disconnect()

    async def _watch(self, stream: Stream, provider: E2BProvider) -> None:
        try:
            await self._handle.wait()
        except _sdk().CommandExitException:
            stream.finish()
        except Exception as error:  # noqa: BLE001 - the SDK has several base exceptions
            stream.finish(provider.explain(error)[0])
        else:
            stream.finish()


def _sdk() -> Any:
    return importlib.import_module("e2b")


def _takes(function: Any, parameter: str) -> bool:
    """Whether this version of an SDK function has the parameter."""
    return parameter in inspect.signature(function).parameters
