"""The interface to one provider's SDK, and helpers that all providers share."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from rlm_secure.broker.signed import Around
from rlm_secure.broker.transports.http1 import SLOWEST_RATE
from rlm_secure.environments.cloud.stream import Program, Stream
from rlm_secure.environments.remote.data_image import overhead_bytes
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.policy.model import MIB, Policy

#: Labels of every sandbox: that it is ours, the process that owns it, and the attempt that created it.
LABEL: Final = "rlm-secure"
OWNER: Final = "rlm-secure-owner"
ATTEMPT: Final = "rlm-secure-attempt"

#: Memory for supervisor, zygote, interpreter and the provider's agent, in addition to the worker's.
OVERHEAD_BYTES: Final = 256 * MIB
#: Lifetime of a sandbox that nobody renews: the longest that one outlives a killed host.
UNRENEWED_SECONDS: Final = 300
_PUT_SECONDS: Final = 30.0
_PINNED = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}")


def memory_bytes(policy: Policy | None) -> int:
    """The least memory of a sandbox for sessions under `policy`, in bytes, without contexts."""
    return (policy.limits.memory_bytes if policy is not None else 0) + overhead_bytes(OVERHEAD_BYTES, policy)


def is_pinned(image: str) -> bool:
    """Whether an image is named by its digest: a tag may be moved to another image."""
    return _PINNED.fullmatch(image) is not None


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """A request for one sandbox, without the options of a single provider.

    `memory_bytes` is the minimum; `ttl_seconds` is the maximum lifetime, renewed or not.
    """

    name: str
    labels: Mapping[str, str]
    memory_bytes: int
    ttl_seconds: int

    @property
    def attempt(self) -> str:
        """The label value that is unique to this attempt."""
        return self.labels[ATTEMPT]


@dataclass(frozen=True, slots=True)
class Made:
    """A sandbox as it was created. `facts` go into the report; `memory_bytes` is None if the provider reports none."""

    id: str
    memory_bytes: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Provider(ABC):
    """One provider's SDK, reduced to what a lease needs. Its coroutines run on the lease's event loop.

    They raise whatever the SDK raises; `explain` turns it into a sentence.
    """

    #: Also the name of our extra.
    name: ClassVar[str]
    #: The network settings that are requested from the provider, as text for the report.
    network: str
    #: The address of its API.
    endpoint: str = ""
    #: Seconds between renewals; None where the provider needs none.
    renew_every: ClassVar[float | None] = None
    #: Whether a running command keeps the sandbox from being idle: the supervisor must then end when not renewed. It
    #: does not end with its own stream.
    pinned: ClassVar[bool] = False
    #: How many files of 4 MiB a sandbox has room for at a time. A file system in memory has less than a disk.
    files: ClassVar[int] = 6
    #: The address on which a broker listens for the provider's ingress.
    bind: ClassVar[str] = "127.0.0.1"

    @abstractmethod
    async def create(self, plan: SandboxPlan) -> Made:
        """Create a sandbox. May fail after creating one: the caller searches for the attempt's label."""

    @abstractmethod
    async def put(self, name: str, data: bytes) -> str:
        """Write a file into the sandbox's working directory; return its absolute path there."""

    @abstractmethod
    async def run(self, command: str, stream: Stream) -> Program:
        """Start a shell command whose output feeds the stream. It runs until it is closed, or its sandbox ends."""

    async def ingress(self, port: int) -> tuple[str, Mapping[str, str]]:  # noqa: ARG002 - not every provider has one
        """The provider's authenticated route to a port: its URL, and the headers that it requires."""
        raise EnvironmentUnavailable(f"{self.name} has no authenticated ingress; use the transport 'exec'")

    @abstractmethod
    async def running(self) -> bool:
        """Whether the sandbox is running. Raises when that is unknown."""

    async def renew(self) -> None:  # noqa: B027 - for providers that need none
        """Tell the provider that the sandbox is still in use."""

    @abstractmethod
    async def destroy(self, sandbox: str) -> None:
        """Destroy a sandbox; it is no error if it is already gone."""

    @abstractmethod
    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """The sandboxes with these labels, as (id, all labels)."""

    async def close(self) -> None:  # noqa: B027 - some SDKs hold nothing
        """Release the SDK's resources."""

    def walls(self, around: Around, facts: str) -> Iterator[WallStatus]:  # noqa: ARG002 - some are tried from inside
        """The walls around the sandbox, apart from its network and its limits; `facts` are the provider's own."""
        yield WallStatus(Wall.PROVIDER_VM, Level.VENDOR, f"{self.name} says so; {facts}"[:300])

    @abstractmethod
    def passing(self, error: BaseException) -> bool:
        """Whether the error is temporary, so that a retry may work: a rate limit, a bad gateway, a timeout."""

    def explain(self, error: BaseException) -> tuple[str, bool]:
        """An error as a sentence without secrets, and whether it is temporary."""
        text = str(error)
        for secret in self.secrets():  # before cutting: the beginning of a cut secret would remain
            text = text.replace(secret, "***")
        line = next((line for line in text.splitlines() if line.strip()), "")[:300]
        said = "".join(character if character.isprintable() else "?" for character in line)
        passing = isinstance(error, TimeoutError | ConnectionError | asyncio.TimeoutError) or self.passing(error)
        return f"{type(error).__name__}: {said}" if said else type(error).__name__, passing

    def rate_limit(self, error: BaseException) -> float | None:  # noqa: ARG002 - see the providers
        """Seconds that a rate limit or a full quota asks to wait for, 0 if it does not say; None for other errors."""
        return None

    @property
    def account(self) -> str:
        """What sandboxes are counted for: a hash of the address and the key."""
        return hashlib.sha256("\0".join((self.endpoint, *self.secrets())).encode()).hexdigest()

    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """Strings that no message may contain."""


def retry_after(headers: Mapping[str, Any] | None) -> float:
    """Seconds of a Retry-After header; 0 without one, or for one that is no number of seconds."""
    for name, value in (headers or {}).items():
        if name.lower() == "retry-after" and re.fullmatch(r"[0-9]{1,6}", str(value)):
            return float(value)
    return 0.0


def put_seconds(size: int) -> float:
    """How long a file of `size` bytes may take to be written, on the slowest network that is waited for."""
    return _PUT_SECONDS + size / SLOWEST_RATE


def need(package: str, extra: str) -> None:
    """Raises MissingExtra if the SDK is not installed; a broken one raises its own error later."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"the {extra} environment", extra)


def credential(value: str | None, variable: str, what: str, option: str = "api_key") -> str:
    """The credential, or the variable's value. Raises EnvironmentUnavailable, which names the variable."""
    found = value or os.environ.get(variable)
    if not found:
        raise EnvironmentUnavailable(f"{what} needs an API key: set {variable}, or pass {option}")
    return found


def no_proxy_for_loopback(*urls: str | None) -> None:
    """Exclude loopback hosts in `urls` from the environment's proxies, which the SDKs would use for them too."""
    hosts = {urlsplit(url).hostname or "" for url in urls if url}
    local = {host for host in hosts if host == "localhost" or re.fullmatch(r"127\.[0-9.]+|::1", host)}
    for variable in ("NO_PROXY", "no_proxy"):
        known = [each for each in os.environ.get(variable, "").split(",") if each]
        if missing := sorted(local - set(known)):
            os.environ[variable] = ",".join([*known, *missing])
