"""Each hardening option, in the create call that the real SDK sent; and the SDK's wire as it was reviewed."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from rlm_secure.errors import EnvironmentUnavailable
from tests.clouds import hardening
from tests.clouds.conftest import Cloud, limits

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")

PACKAGES = {"e2b": "e2b", "daytona": "daytona"}

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
