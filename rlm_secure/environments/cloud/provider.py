"""One provider's SDK behind a few verbs, and what is asked of every provider alike."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from rlm_secure.environments.cloud.stream import Program, Stream
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra
from rlm_secure.policy.model import MIB

#: Labels of every sandbox: that it is ours, whose it is, and which attempt to make one it came from.
LABEL: Final = "rlm-secure"
OWNER: Final = "rlm-secure-owner"
ATTEMPT: Final = "rlm-secure-attempt"

#: What supervisor, zygote, interpreter and the provider's own agent take beside the worker.
OVERHEAD_BYTES: Final = 256 * MIB
#: How long a sandbox lives that nobody renews: the longest that one outlives a host that was killed.
UNRENEWED_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """One sandbox to be made: everything that is asked of the provider but what only it has.

    `memory_bytes` is the least that it must have; `ttl_seconds` how long it may live, renewed or not.
    """

    name: str
    labels: Mapping[str, str]
    memory_bytes: int
    ttl_seconds: int

    @property
    def attempt(self) -> str:
        """The label that only this attempt carries."""
        return self.labels[ATTEMPT]


@dataclass(frozen=True, slots=True)
class Made:
    """A sandbox as the provider made it. `facts` go to the report; `memory_bytes` is None where it does not say."""

    id: str
    memory_bytes: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Provider(ABC):
    """One provider's SDK, as the few verbs that a lease needs. All but the constructor run on the lease's loop.

    The verbs raise whatever the SDK raises; `explain` turns it into a sentence.
    """

    #: Also the name of our extra.
    name: ClassVar[str]
    #: What was asked of the provider about the network, as the report says it.
    network: str
    #: Seconds between renewals; None where the provider needs none.
    renew_every: ClassVar[float | None] = None
    #: Whether a sandbox is never idle while a command runs in it: the supervisor must end when nobody renews it.
    pinned: ClassVar[bool] = False
    #: Where a broker listens that is reached through the provider's ingress.
    bind: ClassVar[str] = "127.0.0.1"

    @abstractmethod
    async def create(self, plan: SandboxPlan) -> Made:
        """Make a sandbox. May fail after one was made: who calls looks for the attempt's label."""

    @abstractmethod
    async def put(self, name: str, data: bytes) -> str:
        """Write a file into the sandbox's working directory; returns its absolute path in there."""

    @abstractmethod
    async def run(self, command: str, stream: Stream) -> Program:
        """Start a shell command whose output feeds the stream. It lives until it is closed, or its sandbox ends."""

    async def ingress(self, port: int) -> tuple[str, Mapping[str, str]]:  # noqa: ARG002 - not every provider has one
        """The provider's authenticated way to a port: its URL, and the headers that open it."""
        raise EnvironmentUnavailable(f"{self.name} has no authenticated ingress; use the transport 'exec'")

    @abstractmethod
    async def running(self) -> bool:
        """Whether the sandbox is there. Raises when nobody can tell."""

    async def renew(self) -> None:  # noqa: B027 - for providers that need none
        """Tell the provider that somebody still uses it."""

    @abstractmethod
    async def destroy(self, sandbox: str) -> None:
        """End a sandbox; one that is gone is not an error."""

    @abstractmethod
    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """The sandboxes with these labels, as (id, all labels)."""

    async def close(self) -> None:  # noqa: B027 - some SDKs hold nothing
        """Let go of what the SDK holds."""

    @abstractmethod
    def passing(self, error: BaseException) -> bool:
        """Whether the same request may work in a moment: a rate limit, a bad gateway, no answer in time."""

    def explain(self, error: BaseException) -> tuple[str, bool]:
        """An error as a sentence without secrets, and whether it may pass."""
        text = str(error)
        for secret in self.secrets():  # first of all: of one that is cut, the beginning would be left
            text = text.replace(secret, "***")
        line = next((line for line in text.splitlines() if line.strip()), "")[:300]
        said = "".join(character if character.isprintable() else "?" for character in line)
        passing = isinstance(error, TimeoutError | ConnectionError | asyncio.TimeoutError) or self.passing(error)
        return f"{type(error).__name__}: {said}" if said else type(error).__name__, passing

    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """What must not be in any message."""


def need(package: str, extra: str) -> None:
    """Raises MissingExtra where the SDK is not installed; a broken one raises what it raises, later."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"the {extra} environment", extra)


def credential(value: str | None, variable: str, what: str, option: str = "api_key") -> str:
    """The credential, or the variable's value. Raises EnvironmentUnavailable, which names the variable."""
    found = value or os.environ.get(variable)
    if not found:
        raise EnvironmentUnavailable(f"{what} needs an API key: set {variable}, or pass {option}")
    return found


def no_proxy_for_loopback(*urls: str | None) -> None:
    """See to it that a proxy of the environment is not asked for this machine's own addresses, as the SDKs would."""
    hosts = {urlsplit(url).hostname or "" for url in urls if url}
    local = {host for host in hosts if host == "localhost" or re.fullmatch(r"127\.[0-9.]+|::1", host)}
    for variable in ("NO_PROXY", "no_proxy"):
        known = [each for each in os.environ.get(variable, "").split(",") if each]
        if missing := sorted(local - set(known)):
            os.environ[variable] = ",".join([*known, *missing])
