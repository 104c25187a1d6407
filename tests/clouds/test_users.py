"""Two users in a provider's sandbox where its programs start as root, and a report that says so where they do not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.errors import EnforcementError
from rlm_secure.guarantees import Level, Wall
from tests.clouds.conftest import BUILDERS, Cloud, limits
from tests.emulators.base import Sandbox

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.root,
    pytest.mark.parametrize("cloud", BUILDERS, indirect=True),
]
SOMEBODY = 65530
BOTH = (Wall.SEPARATE_UID, Wall.SEALED_SUPERVISOR)


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Programs of a sandbox are this user's."""
    monkeypatch.setattr(Sandbox, "user", SOMEBODY)
    yield SOMEBODY


def processes(cloud: Cloud) -> dict[str, list[dict[str, str]]]:
    """What the kernel says of each Python program of the sandbox, by what it does."""
    found: dict[str, list[dict[str, str]]] = {}
    for pid in cloud.processes():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"utf8" not in words:
            continue
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        found.setdefault(words[words.index(b"utf8") + 2].decode(), []).append(status)
    return found


def test_where_programs_start_as_root_nobody_stays_root_and_worker_and_supervisor_are_two(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    with cloud.session(required=BOTH) as session:
        session.execute("x = 1", lambda call: None)
        with caplog.at_level(logging.WARNING, "rlm_secure"):
            session.load_context("context_0", "as a file, which dial reads " * 50_000)
        assert session.execute("print(len(context_0))", lambda call: None).stdout == "1400000\n"
        assert not caplog.records
        (directory,) = (path for box in cloud.emulator.made for path in box.home.glob(".rlm-secure-*/stored"))
        assert (directory.stat().st_uid, directory.stat().st_mode & 0o777, list(directory.iterdir())) == (65533, 0o700, [])
        assert session.report[Wall.SEPARATE_UID].evidence == "the supervisor is uid 65533, the worker 65534"
        assert session.report[Wall.SEALED_SUPERVISOR].evidence.startswith("uid 65533, Landlock ABI ")
        seen = processes(cloud)
        users = {name: {user for each in every for user in each["Uid"].split()} for name, every in seen.items()}
        assert users == {"supervise": {"65533"}, "zygote": {"65534"}, "dial": {"65533"}}
        for each in (*seen["supervise"], *seen["dial"]):
            assert {each[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
            assert (each["NoNewPrivs"], each["Groups"].strip(), each["Gid"].split()[0]) == ("1", "", "65533")


def test_where_they_do_not_the_report_says_so_and_what_to_do(cloud: Cloud, somebody: int) -> None:
    with cloud.session() as session:
        said = session.report[Wall.SEPARATE_UID]
        assert said.level is Level.NONE
        assert said.evidence.startswith(f"not separated: supervisor and worker are both uid {somebody}; a sandbox whose")
        assert session.report[Wall.SEALED_SUPERVISOR].level is Level.FULL  # of its own accord, without root
        assert session.execute("print(6 * 7)", lambda call: None).stdout == "42\n"


def test_a_policy_that_requires_two_users_gets_no_session_without_them(cloud: Cloud, somebody: int) -> None:
    loaded = limits()
    walls = (*loaded.isolation.required(cloud.name), Wall.SEPARATE_UID)
    strict = loaded.model_copy(update={"isolation": loaded.isolation.model_copy(update={cloud.name: walls})})
    with pytest.raises(EnforcementError, match=f"separate-uid.*both uid {somebody}") as raised:
        cloud.session(strict)
    assert raised.value.missing == ("separate-uid",)
    assert cloud.emulator.live == []
