"""What the cloud environments share: a sandbox created with no network, our supervisor in it, always destroyed.

The control channel is the provider's exec stream, so no port is open in either direction. Where the policy allows
it, the provider's authenticated ingress can be used instead: it is faster, but opens a port.

A sandbox ends when its lease is closed, also by an error, Ctrl-C or the interpreter's exit. If the host dies, the
provider ends it because nobody renews it, and `sweep` finds sandboxes whose label names a dead process.
"""

from __future__ import annotations

import contextlib
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from rlm_secure.causes import local_cause
from rlm_secure.environments.cloud.lease import CloudLease, SandboxRefused, Unanswered, destroy, last
from rlm_secure.environments.cloud.provider import (
    ATTEMPT,
    LABEL,
    OWNER,
    UNRENEWED_SECONDS,
    Made,
    Provider,
    SandboxPlan,
    credential,
    is_pinned,
    memory_bytes,
    need,
    no_proxy_for_loopback,
    put_seconds,
    retry_after,
)
from rlm_secure.environments.cloud.stream import Loop, Program, Stream
from rlm_secure.environments.cloud.termination import end_by_sigterm
from rlm_secure.environments.context import size_of
from rlm_secure.environments.interface import Environment, Session
from rlm_secure.environments.owner import is_orphan
from rlm_secure.environments.quota import SandboxReservation, Use, quota_of
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.environments.remote.session import UnfitImage
from rlm_secure.errors import CellCrashed, EnforcementError, EnvironmentUnavailable, ProtocolViolation, RLMSecureError
from rlm_secure.guarantees import Wall
from rlm_secure.loggers import logger
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import GIB, Policy

__all__ = [
    "ATTEMPT",
    "LABEL",
    "OWNER",
    "UNRENEWED_SECONDS",
    "CloudEnvironment",
    "CloudLease",
    "Made",
    "Program",
    "Provider",
    "SandboxPlan",
    "Stream",
    "credential",
    "is_pinned",
    "memory_bytes",
    "need",
    "no_proxy_for_loopback",
    "put_seconds",
    "retry_after",
]

_log = logger("rlm_secure.cloud")
_SWEEP_SECONDS = 300.0


class CloudEnvironment(Environment):
    """Sessions in a provider's sandboxes.

    `ttl_seconds` is the maximum lifetime of a sandbox, `max_live` the maximum number at a time in this process and
    account, `create_seconds` the maximum time to create one, and how long one is waited for that the provider refuses.
    `transport` is "exec", or "ingress" where the policy allows it (`network.ingress`): then the provider's token
    authorizes connections, and our key still signs every message. `reuse=False` gives every run of a tree its own
    sandbox; otherwise its runs share sandboxes one after another. The session of a sandbox that is lost goes on in
    another one.
    """

    def __init__(
        self, ttl_seconds: int, max_live: int, create_seconds: float, transport: str, reuse: bool = True
    ) -> None:
        if ttl_seconds < 60:
            raise ValueError(f"a sandbox lives for at least 60 s, not {ttl_seconds} (ttl_seconds; upstream's timeout)")
        if max_live < 1:
            raise ValueError(f"max_live is at least 1, not {max_live}")
        if transport not in ("exec", "ingress"):
            raise ValueError(f"transport is 'exec' or 'ingress', not {transport!r}")
        self._ttl_seconds = ttl_seconds
        self._max_live = max_live
        self._create_seconds = create_seconds
        self._transport = transport
        self._reuse = reuse
        self._shared: tuple[SandboxReservation, Mapping[str, Any]] | None = None
        self._context_bytes = 0
        end_by_sigterm(last)

    def share(self, reservation: SandboxReservation, options: Mapping[str, Any]) -> None:
        """Have sessions use the sandboxes of one tree of runs. See Environment.share."""
        self._shared = reservation, options

    def expect(self, context: Any) -> None:
        """Ask for a sandbox that has memory for `context`. See Environment.expect."""
        self._context_bytes = 0 if context is None else size_of(context)

    def memory_bytes(self, policy: Policy | None) -> int:
        """The least memory of a sandbox for the session that is opened next, in bytes."""
        return memory_bytes(policy) + self._context_bytes

    @abstractmethod
    def provider(self, policy: Policy | None) -> Provider:
        """A connection to the provider. Raises MissingExtra, or EnvironmentUnavailable without credentials."""

    def open(
        self,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
    ) -> Session:
        """Start a sealed session in a sandbox of its own. See Environment.open."""
        return self.session(policy, tools=tools)

    def session(
        self,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
        screen: bool = True,
        required: tuple[Wall, ...] | None = None,
    ) -> RemoteSession:
        """As `open`; `screen=False` and `required` are for tests and audits."""
        if self._transport == "ingress":
            Gate(policy).ingress().require()
        options: dict[str, Any] = {"tools": tools, "screen": screen, "required": required}
        options["another"] = lambda check: self._lease(policy, new=True, check=check)
        lease: CloudLease | None = None
        try:
            lease = self._lease(policy)
            return RemoteSession(lease, policy, **options)
        except (EnvironmentUnavailable, ProtocolViolation, CellCrashed) as error:
            if not _another_may_do(error, lease):
                raise
            _log.info("a session did not start (%s); it is started in a new %s sandbox", error, self.name)
        # Retrying is safe: the session never started, and its sandbox has ended.
        return RemoteSession(self._lease(policy, new=True), policy, **options)

    def _lease(
        self, policy: Policy, *, new: bool = False, check: Callable[[], None] = lambda: None
    ) -> CloudLease:
        """Lease a sandbox: one that the same tree of runs has used before, or a new one. Raises as `check`."""
        provider, use, below = self.provider(policy), None, 0
        quota = quota_of(self.name, provider.account)
        if self._shared is not None:
            reservation, options = self._shared
            # A sandbox that was made for smaller contexts has no memory for this one.
            options = {**options, "context_gib": math.ceil(self._context_bytes / GIB)}
            use, below = Use(reservation.shared, options, policy), reservation.below
        while True:
            kept: CloudLease | None = quota.take(
                self._max_live,
                policy.limits.start_seconds,
                use,
                below=below,
                new=new,
                create_seconds=self._create_seconds,
                check=check,
            )
            if kept is not None:
                return kept
            since = time.monotonic()
            try:
                return CloudLease(
                    provider,
                    policy,
                    quota,
                    self._ttl_seconds,
                    self._create_seconds,
                    self._transport,
                    use if self._reuse else None,
                    context_bytes=self._context_bytes,
                )
            except SandboxRefused as limited:
                _log.info("%s gave no sandbox: %s", self.name, limited)
                quota.refused(str(limited), limited.seconds, since)
                provider = self.provider(policy)  # the first one was closed with its lease

    def sweep(self) -> int:
        """End the sandboxes that dead processes of this machine left behind. Returns how many."""
        provider = self.provider(None)
        loop = Loop(provider.name)
        try:
            return loop.call(_sweep(provider), _SWEEP_SECONDS)
        except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
            said = f"{provider.name} could not be swept: {provider.explain(error)[0]}; try again"
            raise EnvironmentUnavailable(said) from local_cause(error)
        finally:
            with contextlib.suppress(Exception):
                loop.call(provider.close(), _SWEEP_SECONDS)
            loop.close()


def _another_may_do(error: RLMSecureError, lease: CloudLease | None) -> bool:
    """Whether a new sandbox may succeed where this one failed."""
    if lease is None:
        return isinstance(error, Unanswered)
    # A reused sandbox is replaced after any of these errors, a new one not if it lacks a wall or the policy's packages,
    # or breaks the protocol.
    return lease.served > 0 or not isinstance(error, EnforcementError | ProtocolViolation | UnfitImage)


async def _sweep(provider: Provider) -> int:
    found = await provider.find({LABEL: "1"})
    orphans = [sandbox for sandbox, labels in found if is_orphan(labels.get(OWNER, ""))]
    for sandbox in orphans:
        await destroy(provider, sandbox)
    return len(orphans)
