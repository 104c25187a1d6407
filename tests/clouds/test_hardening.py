"""Each hardening option, in the create call that the real SDK sent; and the SDK's wire as it was reviewed."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from rlm_secure.environments.cloud import prime
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import EnvironmentUnavailable
from tests.clouds import hardening
from tests.clouds.conftest import Cloud, limits

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")

PACKAGES = {"e2b": "e2b", "daytona": "daytona", "modal": "modal", "prime": "prime-sandboxes", "kubernetes": "kubernetes"}

#: Every request of a session that runs one cell, in order of first use; ids are cut out.
WIRE = {
    "e2b": [
        "POST /v2/sandboxes",
        "GET /sandboxes/*",
        "POST /files",
        "POST /process.Process/Start",
        "POST /process.Process/SendInput",
        "DELETE /sandboxes/*",
    ],
    "daytona": [
        "POST /api/sandbox",
        "GET /api/sandbox/*",
        "GET /toolbox/*/work-dir",
        "POST /toolbox/*/files/bulk-upload",
        "POST /toolbox/*/process/session",
        "POST /toolbox/*/process/session/*/exec",
        "GET /toolbox/*/process/session/*/command/*/logs",
        "POST /toolbox/*/process/session/*/command/*/input",
        "DELETE /api/sandbox/*",
    ],
    "modal": [
        "POST /modal.client.ModalClient/AppGetOrCreate",
        "POST /modal.client.ModalClient/ImageGetByTag",
        "POST /modal.client.ModalClient/AuthTokenGet",
        "POST /modal.client.ModalClient/SandboxCreateV2",
        "POST /modal.task_command_router.TaskCommandRouter/TaskExecStart",
        "POST /modal.task_command_router.TaskCommandRouter/TaskExecStdinWrite",
        "POST /modal.task_command_router.TaskCommandRouter/TaskExecStdioRead/stdout",
        "POST /modal.task_command_router.TaskCommandRouter/TaskExecWait",
        "POST /modal.task_command_router.TaskCommandRouter/TaskExecStdioRead/stderr",
        "POST /modal.client.ModalClient/SandboxTerminateV2",
    ],
    "prime": [
        "GET /api/v1/images",
        "POST /api/v1/sandbox",
        "POST /api/v1/sandbox/status:batchGet",
        "POST /api/v1/sandbox/*/auth",
        "POST /gateway/ns/*/command_session.CommandSession/Start",
        "GET /api/v1/sandbox/*/egress-policy",
        "POST /gateway/ns/*/upload",
        "POST /gateway/ns/*/command_session.CommandSession/SendInput",
        "DELETE /api/v1/sandbox/*",
    ],
    "kubernetes": [
        "POST /api/v1/namespaces/rlm-secure/pods",
        "GET /api/v1/namespaces/rlm-secure/pods/*",
        "GET /api/v1/namespaces/rlm-secure/pods/*/exec/upload",
        "SEND /api/v1/namespaces/rlm-secure/pods/*/exec/upload",
        "GET /api/v1/namespaces/rlm-secure/pods/*/exec/run",
        "SEND /api/v1/namespaces/rlm-secure/pods/*/exec/run",
        "DELETE /api/v1/namespaces/rlm-secure/pods/*",
    ],
}


@pytest.mark.parametrize("call", hardening.CALLS)
def test_the_create_call_asks_for_exactly_this(call: str) -> None:
    provider, options, rows = hardening.CALLS[call]
    assert hardening.wrong(provider, hardening.recorded(provider, options), rows) == []


def test_a_missing_and_an_unknown_field_are_noticed() -> None:
    body = {"public": True, "surprise": 1}
    rows = {"public": (False, ""), "networkBlockAll": (True, "")}
    assert hardening.wrong("daytona", body, rows) == [
        "daytona: networkBlockAll was not asked for",
        "daytona: public is True",
        "daytona: the SDK sends surprise = 1, which nobody has reviewed",
    ]


def test_the_page_shows_what_is_asked_for() -> None:
    text = hardening.PAGE.read_text(encoding="utf-8")
    assert hardening.page(text) == text, "python -m tests.clouds.hardening writes it anew"


def test_the_sdk_speaks_the_wire_that_was_reviewed(cloud: Cloud) -> None:
    with cloud.session() as session:
        session.execute("print(1)", lambda call: None)
    seen = []
    for each in cloud.emulator.requests:
        path = re.sub(r"/(i[0-9a-f]{12}|rlm-secure-[0-9a-f]{16}|c[0-9]+)(?=/|$)", "/*", each.path)
        seen.append(f"{each.method} {path}")
    version = importlib.metadata.version(PACKAGES[cloud.name])
    assert list(dict.fromkeys(seen)) == WIRE[cloud.name], f"{cloud.name}: {PACKAGES[cloud.name]} {version} speaks otherwise"


def test_a_command_of_e2b_has_no_end_of_its_own() -> None:
    cloud = Cloud("e2b")
    try:
        with cloud.session():
            started = cloud.emulator.recorded(cloud.wire.run)
        assert started and all("connect-timeout-ms" not in each.headers for each in started)
        assert all("authorization" in each.headers for each in started), "commands name their user"
    finally:
        cloud.emulator.close()


def test_a_creation_of_e2b_carries_its_idempotency_key() -> None:
    cloud = Cloud("e2b")
    try:
        cloud.emulator.fail(cloud.wire.create, status=503, after=True)
        with cloud.session():
            first, second = cloud.emulator.recorded(cloud.wire.create)
            attempts = [each.json["metadata"]["rlm-secure-attempt"] for each in (first, second)]
            if "idempotency-key" in first.headers:
                assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == attempts[0] == attempts[1]
                assert len(cloud.emulator.made) == 1
            else:  # before e2b 2.57: an attempt each, and the first one's sandbox is ended
                assert attempts[0] != attempts[1]
            assert len(cloud.emulator.live) == 1
    finally:
        cloud.emulator.close()


@pytest.mark.parametrize("egress", [{"allowlist": ["*.example.org"]}, {"denylist": []}])
def test_a_network_that_prime_applies_all_the_same_gets_no_session(egress: dict) -> None:
    cloud = Cloud("prime")
    try:
        cloud.emulator.egress = egress
        with pytest.raises(EnvironmentUnavailable, match="has a network, although none was asked for"):
            cloud.session(limits())
        assert len(cloud.emulator.made) == 1 and cloud.emulator.live == []
    finally:
        cloud.emulator.close()


def test_the_rules_of_primes_network_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prime, "_POLL_SECONDS", 0.01)
    cloud = Cloud("prime")
    try:
        cloud.emulator.pending = 3
        with cloud.session():
            asked = [each.path.rpartition("/")[2] for each in cloud.emulator.requests]
            assert asked.count("egress-policy") == 4 and "upload" not in asked[: asked.index("egress-policy") + 4]
    finally:
        cloud.emulator.close()


@pytest.mark.parametrize("override", [{"public": True}, {"networkBlockAll": False}])
def test_an_organisation_that_overrides_daytonas_settings_gets_no_session(override: dict) -> None:
    cloud = Cloud("daytona")
    try:
        cloud.emulator.overrides = override
        with pytest.raises(EnvironmentUnavailable, match="although the opposite was asked for"):
            cloud.session(limits())
        assert len(cloud.emulator.made) == 1 and cloud.emulator.live == []
    finally:
        cloud.emulator.close()


def test_an_image_is_named_by_its_digest() -> None:
    with pytest.raises(ValueError, match="named by its digest"):
        Cloud.environment(cloud := Cloud("daytona"), image="python:3.12")
    cloud.emulator.close()


@pytest.mark.parametrize("image", ["somebody/python:3.12", "python@sha256:123", "", "a b"])
def test_an_image_of_prime_is_the_accounts_own_or_named_by_its_digest(image: str) -> None:
    with pytest.raises(ValueError, match="one of your own, as in .*, or named by its digest"):
        create_environment("prime", image=image)


def test_primes_own_image_is_named_with_its_owner_and_another_by_its_digest() -> None:
    cloud = Cloud("prime")
    try:
        # It is one of Docker Hub's, too: whose it is decides.
        cloud.emulator.image = ("python", "latest")
        for image, sent in (("python", "user-1/python:latest"), (hardening.BASE, hardening.BASE)):
            with cloud.environment(image=image).session(limits()):
                made = cloud.emulator.recorded(cloud.wire.create)[-1]
            assert made.json["docker_image"] == sent
    finally:
        cloud.emulator.close()
