"""The provider's authenticated ingress: only where the policy allows it, with its token, and our key on top."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellCrashed, EnvironmentUnavailable, ProtocolViolation, Refused
from rlm_secure.policy import Policy
from tests.clouds.conftest import WITH_INGRESS, Cloud, limits

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.usefixtures("loopback"),
]


with_ingress = pytest.mark.parametrize("cloud", WITH_INGRESS, indirect=True)


def allowed(**changed: Any) -> Policy:
    policy = limits(**changed)
    return policy.model_copy(update={"network": policy.network.model_copy(update={"ingress": True})})


def no_calls(call: object) -> None:
    return None


def test_a_provider_without_one_says_so() -> None:
    with pytest.raises(ValueError, match="prime has no authenticated ingress: a port there is open to everybody"):
        create_environment("prime", transport="ingress")


@with_ingress
def test_a_policy_must_allow_it(cloud: Cloud) -> None:
    with pytest.raises(Refused, match="network.ingress = true"):
        cloud.environment(transport="ingress").open(limits())
    assert cloud.emulator.requests == []


@pytest.mark.parametrize("cloud", ["e2b"], indirect=True)
def test_what_a_sandbox_says_opens_no_ingress(cloud: Cloud) -> None:
    original, opened = cloud.emulator._create, cloud.environment

    def create(request: object) -> object:
        response = original(request)
        python = cloud.emulator.made[-1].home / ".bin" / "python3"
        python.unlink()
        python.write_text("#!/bin/sh\necho '{\"listening\": [\"127.0.0.1\", 8080]}'\nexec sleep 30\n")
        python.chmod(0o755)
        return response

    cloud.emulator._create = create
    asked: list[int] = []

    def environment() -> Any:
        made = opened()
        provider = made.provider

        def watched(policy: Policy | None) -> Any:
            given = provider(policy)

            async def ingress(port: int) -> Any:
                asked.append(port)
                raise OSError("nobody asked for it")

            given.ingress = ingress
            return given

        made.provider = watched
        return made

    cloud.environment = environment  # type: ignore[method-assign]
    with pytest.raises(EnvironmentUnavailable, match="the supervisor did not start"):
        cloud.session(limits(start_seconds=4))
    assert asked == []


@with_ingress
def test_a_session_over_the_ingress_does_the_same(cloud: Cloud) -> None:
    calls: list[object] = []
    with cloud.environment(transport="ingress").session(allowed(cell_seconds=1), tools={"tick": ""}) as session:
        assert session.report.details["transport"] == "ingress"
        session.load_context("context", "\u00e9" * 6_000_000)
        result = session.execute("tick()\nprint(len(context))", lambda call: calls.append(call))
        assert result.stdout == "6000000\n" and len(calls) == 1
        assert session.execute("import time\nwhile True: time.sleep(1)", no_calls).error is not None
        assert session.execute("print(context[0])", no_calls).stdout == "\u00e9\n"
    streams = cloud.emulator.recorded(cloud.wire.run)
    assert len(streams) == 1 + cloud.wire.before, "the supervisor's own stream, and none that is dialled"


def test_modals_network_stays_empty_where_its_proxy_may_come_in() -> None:
    cloud = Cloud("modal")
    try:
        with cloud.environment(transport="ingress").session(allowed()):
            (made,) = cloud.emulator.recorded(cloud.wire.create)
        assert made.json["definition"]["network_access"] == {"network_access_type": "ALLOWLIST"}, (
            "and nothing is listed"
        )
        assert made.json["definition"]["open_ports"] == {}, "a tunnel would be open to everybody"
    finally:
        cloud.emulator.close()


def _through(cloud: Cloud, **headers: str) -> int:
    """The status that somebody gets who asks the ingress for the broker's health."""
    request = urllib.request.Request(f"{cloud.emulator.url}/health", headers=headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@with_ingress
def test_neither_the_providers_token_nor_our_key_is_enough_alone(cloud: Cloud) -> None:
    with cloud.environment(transport="ingress").session(allowed()) as session:
        sent = next(each for each in cloud.emulator.requests if each.path == "/health" and "rlm-mac" in each.headers)
        door = {
            name: value
            for name, value in sent.headers.items()
            if name.startswith(("e2b-", "x-daytona-", "authorization"))
        }
        key = {name: value for name, value in sent.headers.items() if name.startswith("rlm-")}
        tokens = {"e2b-traffic-access-token", "x-daytona-preview-token", "authorization"}
        shut = {name: value for name, value in door.items() if name not in tokens}
        assert _through(cloud, **shut, **key) in (401, 403)
        assert _through(cloud, **door) == 401
        assert _through(cloud, **door, **{**key, "rlm-id": "999"}) == 401
        assert session.execute("print(1)", no_calls).stdout == "1\n"


@with_ingress
def test_a_sandbox_that_vanishes_is_noticed(cloud: Cloud) -> None:
    with cloud.environment(transport="ingress").session(allowed()) as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        result = session.execute("x = 2", no_calls)
        assert isinstance(result.error, CellCrashed) and result.resumed
        assert session.execute("print(x)", no_calls).stdout == "1\n", "another one has an ingress of its own"


@with_ingress
def test_what_goes_wrong_on_the_way_happens_once_or_not_at_all(cloud: Cloud) -> None:
    calls: list[object] = []
    faults = ({"status": 429}, {"status": 500}, {"status": 502, "after": True}, {"slow": 0.6}, {"reset": True})
    with cloud.environment(transport="ingress").session(allowed(), tools={"tick": ""}) as session:
        session.execute("x = 0", no_calls)
        for number, fault in enumerate(faults, 1):
            for request in ("execute", "respond"):
                cloud.emulator.fail(f"POST .*/{request}$", **fault)
            result = session.execute("x += 1\ntick()\nprint(x)", lambda call: calls.append(call))
            assert result.stdout == f"{number}\n", (fault, result)
            assert all(each.seen for each in cloud.emulator.faults), "it did go wrong"
    assert len(calls) == len(faults)


@with_ingress
def test_a_token_that_expired_ends_the_session_with_a_reason(cloud: Cloud) -> None:
    with cloud.environment(transport="ingress").session(allowed()) as session:
        cloud.emulator.fail("(GET|POST|DELETE) .*/(execute|pending|session|interrupt|health)$", status=401, times=10**6)
        began = time.monotonic()
        with pytest.raises(ProtocolViolation, match="status 401"):
            session.execute("print(1)", no_calls)
        assert time.monotonic() - began < 10 and not session.alive
