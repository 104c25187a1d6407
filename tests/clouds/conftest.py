"""Each test of a cloud runs once per provider: its real SDK, against its emulator."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.environments import quota
from rlm_secure.environments.cloud import daytona, lease, modal
from rlm_secure.environments.registry import create_environment
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.policy import Policy, load_policy
from rlm_secure.sandbox import Sandbox
from tests.emulators.base import until
from tests.emulators.kubernetes import IMAGE
from tests.emulators.proxy import Proxy


@dataclass(frozen=True)
class Wire:
    """How a provider's requests are recognised, as `METHOD path`."""

    #: Its module and class: imported when it is used, so that one provider can be tried without the others' SDKs.
    emulator: tuple[str, str]
    create: str
    upload: str
    run: str
    stream: str
    write: str
    destroy: str
    info: str
    #: Streams of a session before the one that carries its messages, without the supervisor's own.
    before: int = 0
    #: The option that its key is given by.
    key: str = "api_key"


WIRES = {
    "e2b": Wire(
        ("tests.emulators.e2b", "E2BEmulator"),
        create=r"POST /v2/sandboxes$",
        upload=r"POST /files$",
        run=r"POST /process.Process/Start$",
        stream=r"POST /process.Process/Start$",
        write=r"POST /process.Process/SendInput$",
        destroy=r"DELETE /sandboxes/",
        info=r"GET /health$",
    ),
    "daytona": Wire(
        ("tests.emulators.daytona", "DaytonaEmulator"),
        create=r"POST /api/sandbox$",
        upload=r"POST .*/files/bulk-upload$",
        run=r"POST .*/exec$",
        stream=r"GET .*/logs$",
        write=r"POST .*/input$",
        destroy=r"DELETE /api/sandbox/",
        info=r"GET /api/sandbox/",
    ),
    "modal": Wire(
        ("tests.emulators.modal", "ModalEmulator"),
        create=r"POST .*/SandboxCreateV2$",
        upload=r"POST .*/TaskExecStdinWrite$",
        run=r"POST .*/TaskExecStart$",
        stream=r"POST .*/TaskExecStdioRead/stdout$",
        write=r"POST .*/TaskExecStdinWrite$",
        destroy=r"POST .*/SandboxTerminateV2$",
        info=r"POST .*/SandboxWaitV2$",
        before=1,  # the one that takes the guest
        key="token_id",
    ),
    "prime": Wire(
        ("tests.emulators.prime", "PrimeEmulator"),
        create=r"POST /api/v1/sandbox$",
        upload=r"POST /gateway/.*/upload$",
        run=r"POST .*CommandSession/Start$",
        stream=r"POST .*CommandSession/Start$",
        write=r"POST .*CommandSession/SendInput$",
        destroy=r"DELETE /api/v1/sandbox/",
        info=r"GET /api/v1/sandbox/[^/]+$",
        before=3,  # whether it can be reached, the directory, whether it can be reached again
    ),
    "kubernetes": Wire(
        ("tests.emulators.kubernetes", "KubernetesEmulator"),
        create=r"POST .*/pods$",
        upload=r"GET .*/exec/upload$",
        run=r"GET .*/exec/run$",
        stream=r"GET .*/exec/run$",
        write=r"SEND .*/exec/run$",
        destroy=r"DELETE .*/pods/",
        info=r"GET .*/pods/[^/]+$",
        key="kubeconfig",
    ),
}


HERE = Path(__file__).parent
TLS = HERE.parent / "broker" / "tls"

#: Prime publishes a port to everybody, or to nobody; a pod has no network at all.
WITH_INGRESS = sorted(set(WIRES) - {"kubernetes", "prime"})

#: Who builds images, and starts programs as the user of one. A cluster does neither: test_pods.py says what it does.
BUILDERS = sorted(set(WIRES) - {"kubernetes"})


class Cloud:
    """One provider's emulator, and sandboxes in it."""

    def __init__(self, name: str, transport: str = "exec") -> None:
        self.name = name
        self.transport = transport
        self.wire = WIRES[name]
        module, kind = self.wire.emulator
        self.emulator: Any = getattr(import_module(module), kind)()

    @property
    def options(self) -> dict[str, Any]:
        emulator = self.emulator
        chosen = {} if self.transport == "exec" else {"transport": self.transport}
        if self.name == "e2b":
            return {"api_key": emulator.key, "api_url": emulator.url, "sandbox_url": emulator.url, **chosen}
        if self.name == "modal":
            return {"token_id": emulator.key, "token_secret": emulator.secret, "server_url": emulator.api, **chosen}
        if self.name == "kubernetes":
            return {"kubeconfig": emulator.kubeconfig, "image": IMAGE}
        return {"api_key": emulator.key, "api_url": emulator.api, **chosen}

    def with_key(self, key: str) -> dict[str, str]:
        """The option by which another key is given."""
        return {self.wire.key: self.emulator.write_kubeconfig(key) if self.name == "kubernetes" else key}

    def policy(self, **changed: Any) -> Policy:
        """Strict, with other limits, as the transport needs it."""
        policy = limits(**changed)
        ingress = policy.network.model_copy(update={"ingress": self.transport == "ingress"})
        return policy.model_copy(update={"network": ingress})

    def environment(self, **options: Any) -> Any:
        return create_environment(self.name, **{**self.options, **options})

    def sandbox(self, **options: Any) -> Sandbox:
        kwargs = {**self.options, **options.pop("environment_kwargs", {})}
        return Sandbox(**{"policy": self.policy(), **options}, environment=self.name, environment_kwargs=kwargs)

    def session(self, policy: Policy | None = None, **options: Any) -> RemoteSession:
        return self.environment().session(policy or self.policy(), **options)

    def processes(self) -> list[int]:
        return [pid for box in self.emulator.made for pid in box.left()]


def limits(**changed: Any) -> Policy:
    loaded = load_policy("strict")
    return loaded.model_copy(update={"limits": loaded.limits.model_copy(update=changed)})


def ours(before: set[threading.Thread]) -> list[str]:
    return [each.name for each in set(threading.enumerate()) - before if each.name.startswith("rlm_secure")]


@contextmanager
def provided(name: str, transport: str = "exec") -> Iterator[Cloud]:
    """The provider; afterwards nothing of any sandbox is left: not there, not here."""
    before = set(threading.enumerate())  # of local sessions, which other tests had
    made = Cloud(name, transport)
    try:
        yield made
        assert made.emulator.live == []
        assert until(lambda: not made.processes()), made.processes()
        assert until(lambda: not ours(before)), ours(before)
    finally:
        made.emulator.close()


@contextmanager
def behind(name: str, **link: Any) -> Iterator[tuple[Cloud, Proxy]]:
    """The provider behind a network; see Proxy for `link`."""
    with provided(name) as cloud:
        emulator = cloud.emulator
        proxy = Proxy(emulator.grpc_port if name == "modal" else emulator.port, **link)
        if name == "modal":
            emulator.grpc_port = proxy.port
        else:
            emulator.url = f"http://127.0.0.1:{proxy.port}"
        if name == "kubernetes":
            emulator.kubeconfig = emulator.write_kubeconfig(emulator.key)
        try:
            yield cloud, proxy
        finally:
            proxy.close()


@pytest.hookimpl(tryfirst=True)  # before marks are selected by
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is marked `by_turns(count)` runs at so many of its places, each test at the next ones; all are exhaustive.

    It says something of the broker, the guest or the loop, which are the same everywhere. What says something of an
    adapter carries no such mark, or one by which it runs at each provider in one of its forms.

    Pods need a Docker engine, and all of them root: only root can give a sandbox of an emulator a network of its own.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.root)
        if "kubernetes" in item.name.partition("[")[2]:
            item.add_marker(pytest.mark.docker)
    found: dict[tuple[object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("by_turns"):
            found[item.path, item.name.partition("[")[0]].append(item)
    for turn, each in enumerate(found.values()):
        mark = each[0].get_closest_marker("by_turns")
        assert mark is not None
        (count,) = mark.args
        chosen = {(turn + number * len(each) // count) % len(each) for number in range(count)}
        for number, item in enumerate(each):
            if number not in chosen:
                item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(params=sorted(WIRES))
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    """The provider, over its exec stream."""
    with provided(request.param) as made:
        yield made


@pytest.fixture(autouse=True)
def few_authorities(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulator has no certificate that one of the world's authorities signed: each SDK reads one instead of all of
    them for each session, which is a third of what a session costs its host.
    """
    if request.path.name != "test_live.py":
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a provider refuses is tried again soon."""
    monkeypatch.setattr(lease, "_PAUSES", (0.05, 0.1, 0.2))
    monkeypatch.setattr(quota, "_FIRST_PAUSE", 0.05)
    with contextlib.suppress(ImportError):  # it waits for 10 and 30 seconds itself
        monkeypatch.setattr(import_module("prime_sandboxes.core.client")._PLATFORM_RETRY_WAIT, "_rate_limit_delays", (0.1,))


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox of an emulator is this machine: nothing listens for its network."""
    for provider in (daytona.DaytonaProvider, modal.ModalProvider):
        assert provider.bind == "0.0.0.0"
        monkeypatch.setattr(provider, "bind", "127.0.0.1")


@pytest.fixture(
    params=[*((name, "exec") for name in sorted(WIRES)), *((name, "ingress") for name in WITH_INGRESS)], ids="-".join
)
def way(request: pytest.FixtureRequest, loopback: None) -> Iterator[Cloud]:
    """The provider, over its exec stream and over its ingress, where it has one."""
    with provided(*request.param) as made:
        yield made
