"""One cloud sandbox with our supervisor in it: created with no network; always destroyed."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import secrets
import shlex
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from rlm_secure.broker import signed
from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.protocol import decode
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Around
from rlm_secure.broker.transports import BadResponse, Stored, TransportLost
from rlm_secure.broker.transports.https import HttpsTransport
from rlm_secure.broker.transports.lines import Charge, Lines
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.causes import local_cause
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.cloud.provider import (
    ATTEMPT,
    LABEL,
    OWNER,
    UNRENEWED_SECONDS,
    Made,
    Provider,
    SandboxPlan,
    memory_bytes,
)
from rlm_secure.environments.cloud.stored import STORED_BYTES, Uplink, stored
from rlm_secure.environments.cloud.stream import Loop, Program, Stream, cancelled
from rlm_secure.environments.owner import owner
from rlm_secure.environments.quota import SandboxQuota, Use
from rlm_secure.environments.remote import Lease, log_refusals, start_configuration
from rlm_secure.errors import EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.loggers import logger
from rlm_secure.policy.model import MIB, Policy

_log = logger("rlm_secure.cloud")
T = TypeVar("T")

_ATTEMPTS = 5
#: After this many refusals that are not temporary, such as of a revoked key, the sandbox counts as gone.
_REFUSALS = 3
_CALL_SECONDS = 30.0
_DESTROY_SECONDS = 20.0
#: Longest wait for whether a sandbox still runs: at some providers a program inside the sandbox answers that.
_LOOK_SECONDS = 5.0
_PAUSES = (0.5, 2.0, 5.0)
_MAX_LINE = 64 * 1024
#: Most bytes of a stream before the supervisor has reported where it listens.
_MAX_NOISE = 1024 * 1024
_SUPERVISOR_UID = 65533  # of a supervisor that was started as root; its workers have 65534
#: Longest time to end a session whose sandbox is kept for another one.
_END_SECONDS = 10.0
_STORED = "stored"  # as in guest/supervisor/fetch.py
_METADATA = "169.254.169.254:80"  # some providers' own agents need it; our sealed processes cannot reach it


class Unanswered(EnvironmentUnavailable):
    """The provider did not confirm a new sandbox in time, or the supervisor in it does not answer.

    Retrying is safe and may work: no untrusted code has run, and what was created is destroyed.
    """


class SandboxRefused(EnvironmentUnavailable):
    """The provider refuses one more sandbox for now, and asks to wait for `seconds`; 0 if it does not say."""

    def __init__(self, said: str, seconds: float) -> None:
        super().__init__(said)
        self.seconds = seconds


class CloudLease(Lease):
    """One sandbox with a supervisor in it, which releases its slot of `quota` when it ends.

    `use` says which later sessions may reuse it; None: no other session. It has memory for `context_bytes` of contexts
    at least. Raises EnvironmentUnavailable when it cannot
    be created, SandboxRefused when it may be later.
    """

    def __init__(
        self,
        provider: Provider,
        policy: Policy,
        quota: SandboxQuota[CloudLease],
        ttl_seconds: int,
        create_seconds: float,
        transport: str = "exec",
        use: Use | None = None,
        *,
        context_bytes: int = 0,
    ) -> None:
        self._context_bytes = context_bytes
        self.environment = provider.name
        self._provider = provider
        self._policy = policy
        self._ttl_seconds = ttl_seconds
        self._transport = transport
        self.use = use
        #: Sessions that it served before the current one.
        self.served = 0
        self._pid = os.getpid()
        self._made: Made | None = None
        self._making: asyncio.Task[Any] | None = None  # used on the loop only
        self._attempts: list[str] = []
        self._gone = threading.Event()
        self._lock = threading.Lock()
        self._closed = False
        self._directory = ""
        self._supervisor: Stream | None = None
        self._memory: int | None = None
        self._uplink = Uplink()
        self._refusals = 0
        self._quota = quota
        try:
            self._loop = Loop(provider.name)
        except BaseException:  # there may be no more threads
            quota.give_back()
            raise
        # A session starts with at least half of the maximum lifetime left.
        self._kept_until = time.monotonic() + ttl_seconds / 2
        try:
            _leases.add(self)  # first: what is being created ends with the process as well
            if _ending:  # a thread that lost its sandbox to the end of the process would make another one
                raise EnvironmentUnavailable(f"this process is ending: it makes no further {provider.name} sandbox")
            self._start(create_seconds)
        except BaseException:  # Ctrl-C as well: the sandbox would keep running, and cost money
            self.close()
            raise

    # -- start ------------------------------------------------------------------------------------

    def _start(self, create_seconds: float) -> None:
        self._made = self._create(create_seconds)
        self._check_memory(self._made)
        if self._provider.renew_every is not None:
            self._loop.spawn(self._renew(self._provider.renew_every))
        deadline = time.monotonic() + self._policy.limits.start_seconds
        folder = f".rlm-secure-{secrets.token_hex(4)}"
        began = time.monotonic()
        path = self._persistent(lambda: self._provider.put(f"{folder}/guest.zip", bundle().data), deadline)
        self._uplink.took(len(bundle().data), time.monotonic() - began)
        self._directory = path.rpartition("/")[0]
        key = SessionKey()
        try:
            self._supervisor, port = self._supervise(path, key, deadline)
            self.client = BrokerClient(
                StdioTransport(self._dial) if port is None else self._ingress(port, deadline),
                key,
                frame_bytes=self._policy.limits.result_bytes,
                alive=self._running,
                refusals=lambda refused: log_refusals(self._name, refused),
            )
            self.client.health(seconds=max(deadline - time.monotonic(), 1.0))
        except (TransportLost, Lost, Declined, TimeoutError, ProtocolViolation) as error:
            said = self._supervisor.last_words() if self._supervisor is not None else ""
            more = f"; it said: {said}" if said else ""
            raise Unanswered(f"the {self._name} did not answer: {error}; {self.exit_reason()}{more}") from None

    def _create(self, seconds: float) -> Made:
        """Create a sandbox, in a few attempts; first destroy what a failed one may have created."""
        deadline = time.monotonic() + seconds
        for attempt in range(_ATTEMPTS):
            plan = self._plan()
            self._attempts.append(plan.attempt)
            try:
                made = self._loop.call(self._make(plan), deadline - time.monotonic())
            except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
                said, passing = self._provider.explain(error)
                if (asked := self._provider.rate_limit(error)) is not None:
                    raise SandboxRefused(said, asked) from None
                pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
                over = time.monotonic() + pause >= deadline
                if not passing or over or attempt == _ATTEMPTS - 1:
                    kind = Unanswered if isinstance(error, TimeoutError) else EnvironmentUnavailable
                    raise kind(f"{self.environment} gave no sandbox: {said}") from local_cause(error)
                _log.info("%s gave no sandbox (%s); trying again", self.environment, said)
                self._discard()
                time.sleep(pause)
            else:
                self._attempts.pop()
                self._quota.made()
                return made
        raise AssertionError("the last attempt returns or raises")

    async def _make(self, plan: SandboxPlan) -> Made:
        if self._gone.is_set():
            raise TransportLost("it was closed")
        self._making = asyncio.current_task()
        self._made = await self._provider.create(plan)
        return self._made

    async def _settle(self) -> None:
        """Wait for a creation that is under way, for a while, so that what it makes is known; then cancel it."""
        if self._making is not None and (await asyncio.wait([self._making], timeout=_LOOK_SECONDS))[1]:
            self._making.cancel()

    def _plan(self) -> SandboxPlan:
        attempt = secrets.token_hex(8)
        labels = {LABEL: "1", OWNER: owner(), ATTEMPT: attempt}
        memory = memory_bytes(self._policy) + self._context_bytes
        return SandboxPlan(f"rlm-secure-{attempt}", labels, memory, self._ttl_seconds)

    def _check_memory(self, made: Made) -> None:
        if made.memory_bytes is None:
            return
        least, worker = memory_bytes(self._policy), self._policy.limits.memory_bytes
        self._memory = made.memory_bytes - least
        if self._memory < 0:
            raise EnvironmentUnavailable(
                f"a sandbox of {made.memory_bytes // MIB} MiB is too small for limits.memory_bytes = {worker} and "
                f"{(least - worker) // MIB} MiB beside it; use a larger one"
            )
        self.make_room(self._context_bytes)

    def _persistent(self, step: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Run a step that is safe to repeat; retry while its errors are temporary."""
        attempt = 0
        while True:
            try:
                return self._loop.call(_await(step()), deadline - time.monotonic())
            except Exception as error:  # noqa: BLE001 - as above
                said, passing = self._provider.explain(error)
                pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
                if not passing or time.monotonic() + pause >= deadline:
                    raise EnvironmentUnavailable(f"the {self._name} cannot be used: {said}") from local_cause(error)
                time.sleep(pause)
                attempt += 1

    def _supervise(self, path: str, key: SessionKey, deadline: float) -> tuple[Stream, int | None]:
        """Start the supervisor and configure it over its standard input, which is not stored anywhere.

        Returns its stream, and its port if it has one.
        """
        show = """printf '{"machine":"%s"}\\n' "$(uname -m)" """
        stream = self._stream(f"{show}; exec {_python(path)} supervise", deadline)
        try:
            lines = _lines(stream, deadline)
            machine = next(name for line in lines if (name := signed.machine(line)) is not None)
            listen = f"{self._directory}/broker" if self._transport == "exec" else (self._provider.bind, 0)
            silence: dict[str, Any] = {"idle_seconds": UNRENEWED_SECONDS, "watch_stdin": False}
            patience = silence if self._provider.pinned else {}
            configuration = start_configuration(
                key, self._policy, listen=listen, arch=machine, supervisor_uid=_SUPERVISOR_UID, **patience
            )
            stream.write(configuration, deadline)
            # Skip an address of another kind: it is not our supervisor's, and must not open an unrequested transport.
            asked = str if self._transport == "exec" else int
            where = next(place for line in lines if isinstance(place := signed.listening(line), asked))
        except (StopIteration, TransportLost, TimeoutError) as error:
            said = stream.last_words()
            stream.close()
            told = "; it said: " + said if said else ""
            raise TransportLost(f"the supervisor did not start ({str(error) or 'it ended'}){told}") from None
        return stream, where if isinstance(where, int) else None

    def _ingress(self, port: int, deadline: float) -> HttpsTransport:
        url, headers = self._persistent(lambda: self._provider.ingress(port), deadline)
        try:
            return HttpsTransport(url, headers=headers)
        except (AttributeError, TypeError, ValueError) as error:  # the provider's answer may be malformed
            said = self._provider.explain(error)[0]
            raise EnvironmentUnavailable(f"the {self._name} has no ingress that can be used: {said}") from None

    def _dial(self, deadline: float) -> Stream:
        """A new stream to the supervisor, started before `deadline`. Raises TransportLost."""
        command = f"exec {_python(f'{self._directory}/guest.zip')} dial {shlex.quote(f'{self._directory}/broker')}"
        stream = self._stream(command, min(deadline, time.monotonic() + _CALL_SECONDS))
        self._refusals = 0
        return stream

    def _stream(self, command: str, deadline: float) -> Stream:
        stream = Stream(self._loop, self._provider.explain, self._gone)
        try:
            stream.open(lambda opened: self._run(command, opened), deadline - time.monotonic())
        except BaseException:  # Ctrl-C as well: its program would keep running
            stream.close()
            raise
        return stream

    async def _run(self, command: str, stream: Stream) -> Program:
        try:
            return await self._provider.run(command, stream)
        except Exception as error:
            self._refusals += not self._provider.explain(error)[1]
            raise

    async def _renew(self, every: float) -> None:
        while not self._gone.is_set():
            await asyncio.sleep(every)
            try:
                async with asyncio.timeout(_CALL_SECONDS):
                    await self._provider.renew()
                client = getattr(self, "client", None)
                if self._provider.pinned and client is not None:
                    await asyncio.to_thread(client.health, seconds=_CALL_SECONDS)
            except Exception as error:  # as above; a session that needs the sandbox gets its own error
                if cancelled():
                    raise
                _log.info("the %s could not be renewed: %s", self._name, self._provider.explain(error)[0])

    # -- for the session --------------------------------------------------------------------------

    def walls(self, around: Around) -> Iterator[WallStatus]:
        """The walls that the provider reports; tests from inside may lower the network wall, or confirm the cgroup."""
        assert self._made is not None
        facts = ", ".join(f"{name} {value}" for name, value in self._made.facts.items())
        yield from self._provider.walls(around, facts)
        tried = around.connect
        reached = ["?"] if tried is None else sorted(where for where, how in tried.items() if how == "won")
        level = Level.NONE if set(reached) - {_METADATA} else Level.PARTIAL if reached else Level.VENDOR
        ends = ", ".join(f"{where}: {how}" for where, how in (tried or {}).items())
        evidence = f"asked for: {self._provider.network}; tried from inside: {ends}"[:300]
        yield WallStatus(Wall.PROVIDER_NETWORK_BLOCK, level, evidence)
        limit, most = around.memory_bytes, self._made.memory_bytes
        bounded = limit is not None and most is not None and limit <= most
        evidence = f"cgroup: memory {around.memory_max}, pids {around.pids_max}; the sandbox: {facts}"[:300]
        yield WallStatus(Wall.CGROUP, Level.FULL if bounded else Level.VENDOR, evidence)

    @property
    def details(self) -> Mapping[str, Any]:
        """The sandbox's id, whether it is reused, the transport, its maximum lifetime, and the provider's facts."""
        made = self._made
        own: dict[str, Any] = {"sandbox": made.id if made else None, "reused": self.served > 0}
        own |= {"transport": self._transport, "ttl_seconds": self._ttl_seconds}
        return {**own, **(made.facts if made is not None else {})}

    def make_room(self, size: int) -> None:
        """Raises EnvironmentUnavailable if the contexts do not fit: a cloud sandbox does not grow."""
        if self._memory is not None and size > self._memory:
            raise EnvironmentUnavailable(
                f"a context, with which there are {size} bytes of them, does not fit: this {self.environment} sandbox "
                f"has {self._memory} bytes left for contexts; use one with more memory"
            )

    def stored(self, data: memoryview) -> Iterator[Stored | None] | None:
        """A large context as files that the provider writes. See Lease.stored."""
        if self._transport != "exec" or data.nbytes <= STORED_BYTES:
            return None
        folder = self._directory.rpartition("/")[2]
        return stored(
            self._loop,
            lambda name, content: self._provider.put(f"{folder}/{_STORED}/{name}", content),
            self._provider.explain,
            self._uplink,
            data,
            self._provider.files,
        )

    def _running(self) -> bool:
        if self._gone.is_set() or self._refusals >= _REFUSALS:
            return False
        try:
            return self._loop.call(self._provider.running(), _LOOK_SECONDS)
        except Exception:  # noqa: BLE001 - unknown, so the caller retries until its deadline
            return not self._gone.is_set()

    def exit_reason(self) -> str:
        """Why the sandbox does not answer, as far as the provider knows."""
        if self._gone.is_set():
            return "it was ended"
        try:
            runs = self._loop.call(self._provider.running(), _LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 - as above
            said = self._provider.explain(error)[0]
            _log.warning("%s does not say whether the %s still runs: %s", self.environment, self._name, said)
            return f"{self.environment} does not say whether it still runs"
        if runs:
            return "it runs, but does not answer"
        return f"{self.environment} has ended it (its time to live is {self._ttl_seconds} s), or it ended by itself"

    # -- end --------------------------------------------------------------------------------------

    def kill(self) -> None:
        """End the sandbox at once."""
        with self._lock:  # a second caller waits: its next steps require that the sandbox has ended
            if self._gone.is_set() or os.getpid() != self._pid:
                return
            self._gone.set()
            try:
                with contextlib.suppress(TimeoutError):
                    self._loop.call(self._settle(), _DESTROY_SECONDS)
                if self._made is not None:
                    self._destroy(self._made.id)
                self._hang_up()  # a provider's stream may stay open without its sandbox, while a thread waits for it
                self._discard()
            except BaseException:  # Ctrl-C: it is not gone yet
                self._gone.clear()
                raise

    def release(self) -> None:
        """Keep the sandbox for another session of the same use if it is in order; otherwise end it.

        In order means: the supervisor reports that the worker has ended and its contexts are dropped, it never refused
        a request (only we should talk to it), and the sandbox is in the first half of its lifetime.
        """
        if self.usable:
            try:
                self.client.end(seconds=_END_SECONDS, fresh=True)
            except (Lost, Declined, ProtocolViolation) as error:
                _log.info("the %s is not used again: %s", self._name, error)
            except BaseException:  # Ctrl-C as well: the sandbox's state is unknown
                self.close()
                raise
            else:
                self.served += 1
                if self.usable and self._quota.keep(self):
                    return
        self.close()

    @property
    def usable(self) -> bool:
        """Whether another session may use the sandbox, as far as the host knows."""
        if self.use is None or self.use.shared.closed or self._gone.is_set() or os.getpid() != self._pid:
            return False
        return not self.client.refused and time.monotonic() < self._kept_until

    def close(self) -> None:
        """End the sandbox, its streams, and the loop. If that is interrupted, a thread does it."""
        if self._closed or os.getpid() != self._pid:
            return
        try:
            self.kill()  # a second caller waits for the first one
        except BaseException:  # Ctrl-C as well: the sandbox would keep running, and cost money
            with contextlib.suppress(RuntimeError):  # there may be no more threads
                threading.Thread(target=self.close, name="rlm_secure-close").start()
            raise
        with self._lock:
            if self._closed:
                return
            self._closed = True
        _leases.discard(self)
        try:
            self._hang_up()
            if self._supervisor is not None:
                self._supervisor.close()
            with contextlib.suppress(Exception):  # the sandbox has ended; the SDK's resources end with its loop
                self._loop.call(self._provider.close(), _CALL_SECONDS)
        finally:
            self._loop.close()
            self._quota.give_back()

    def _hang_up(self) -> None:
        client = getattr(self, "client", None)
        if client is not None:
            client.close()

    def _destroy(self, sandbox: str) -> None:
        try:
            self._loop.call(destroy(self._provider, sandbox), _DESTROY_SECONDS)
        except Exception as error:  # noqa: BLE001 - as above
            _log.warning(
                "%s sandbox %s could not be ended (%s); it ends by itself within %d s, or by `sweep`",
                self.environment,
                sandbox,
                self._provider.explain(error)[0],
                self._ttl_seconds,
            )

    def _discard(self) -> None:
        """Destroy what failed attempts may have created."""
        for attempt in self._attempts:
            try:
                found = self._loop.call(self._left_by(attempt), _DESTROY_SECONDS)
            except Exception as error:  # noqa: BLE001 - as above
                said = self._provider.explain(error)[0]
                _log.warning("%s does not say what an attempt left behind (%s)", self.environment, said)
                continue
            for sandbox, _ in found:
                self._destroy(sandbox)

    async def _left_by(self, attempt: str) -> list[tuple[str, Mapping[str, str]]]:
        return await _retried(self._provider, lambda: self._provider.find({LABEL: "1", ATTEMPT: attempt}))

    @property
    def _name(self) -> str:
        return f"{self.environment} sandbox {self._made.id if self._made is not None else ''}".rstrip()


_leases: set[CloudLease] = set()  # of the kind that is copied in one step: a signal's handler cannot wait for a lock

#: True before the leases are looked at: a later one either sees it, or is looked at. No Event: to set one takes its
#: lock, for which a signal's handler would wait that came while the process's exit held it.
_ending = False


def last() -> list[CloudLease]:
    """Every lease of this process that is not closed, for the end of the process: no further one begins."""
    global _ending
    _ending = True
    return list(_leases)


def close_all() -> None:
    """Close every lease of this process."""
    for lease in list(_leases):
        lease.close()


@atexit.register
def end() -> None:
    """At the process's exit, and before the exit handler of an SDK that leases need: close all, and begin no other."""
    global _ending
    _ending = True
    close_all()


async def _await(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def destroy(provider: Provider, sandbox: str) -> None:
    """Destroy a sandbox; retry while the error is temporary."""
    await _retried(provider, lambda: provider.destroy(sandbox))


async def _retried(provider: Provider, step: Callable[[], Awaitable[T]]) -> T:
    """The result of a step that is safe to repeat, which is tried again while its error is temporary."""
    for pause in _PAUSES:
        try:
            return await step()
        except Exception as error:
            if not provider.explain(error)[1]:
                raise
            await asyncio.sleep(pause)
    return await step()


def _python(path: str) -> str:
    return f"python3 -I -S -B -X utf8 {shlex.quote(path)}"


def _lines(stream: Stream, deadline: float) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines of a stream: a login shell may print other lines."""
    lines, noise = Lines(_MAX_LINE), Charge(_MAX_NOISE)
    try:
        while data := stream.read(deadline):
            noise.took(len(data))
            for line in lines.take(data):
                noise.took()
                with contextlib.suppress(ProtocolViolation):
                    yield decode(line.strip(), limit=_MAX_LINE)
    except BadResponse as bad:
        raise TransportLost(str(bad)) from None
