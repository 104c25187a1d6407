"""Two users and a sealed supervisor, as the kernel of this machine sees them, and what else a container is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rlm_secure.audit import audit
from rlm_secure.environments.docker import DockerEnvironment, hardening
from rlm_secure.environments.docker.hardening import Offered
from rlm_secure.errors import CellMemoryLimit
from rlm_secure.guarantees import Level, Wall
from tests.docker.conftest import inside, policy, python

#: Signals it, reads its memory and its environment, traces it: what one process may do to another of its own user.
TAKE_OVER = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
def named(words):
    for pid in (each for each in os.listdir('/proc') if each.isdigit() and int(each) != os.getpid()):
        if words in open(f'/proc/{pid}/cmdline').read():
            yield int(pid)
def tried(step):
    try:
        step()
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'won'
pid = max(named(%r))
print(json.dumps([
    tried(lambda: os.kill(pid, 0)), tried(lambda: open(f'/proc/{pid}/mem', 'rb')),
    tried(lambda: open(f'/proc/{pid}/environ', 'rb').read()),
]))
"""
SUPERVISOR, WORKER = "guest.zip\0supervise", "guest.zip\0zygote\0"


def processes(engine: Any, session: Any) -> dict[str, dict[str, str]]:
    """What this machine's kernel says of each process of a session's container, by its last words."""
    found = {}
    for row in engine.api.top(session._lease._id)["Processes"]:
        with open(f"/proc/{row[1]}/status") as lines:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        words = row[7].partition("guest.zip ")[2].split()
        found["init" if "docker-init" in row[7] else words[0] if words[0] not in found else "worker"] = status
    return found


@pytest.mark.root
def test_the_kernel_sees_two_users_without_capabilities_and_a_filter_on_the_supervisor(engine, shared) -> None:
    seen = processes(engine, shared)
    users = {name: set(status["Uid"].split()) for name, status in seen.items()}
    supervisor, worker = (f"{shared.report.details[key]}" for key in ("uid", "worker_uid"))
    assert supervisor != worker
    assert users == {"init": {supervisor}, "supervise": {supervisor}, "zygote": {worker}, "worker": {worker}}
    for status in seen.values():
        assert {status[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        assert status["NoNewPrivs"] == "1"
    # The engine's filter, and the supervisor's own; a worker has the two of a session besides.
    assert {name: status["Seccomp_filters"] for name, status in seen.items() if name != "worker"} == {
        "init": "1", "supervise": "2", "zygote": "1",
    }  # fmt: skip


@pytest.mark.parametrize("transport", ["unix", "exec"])
def test_neither_user_does_anything_to_the_other(image, transport) -> None:
    with DockerEnvironment(image=image, transport=transport).session(policy()) as session:
        session.execute("kept = 7", None)
        worker = f"{session.report.details['worker_uid']}"
        assert json.loads(python(session, TAKE_OVER % SUPERVISOR, user=worker)) == ["EPERM", "EACCES", "EACCES"]
        assert json.loads(python(session, TAKE_OVER % WORKER)) == ["EPERM", "EACCES", "EACCES"]
        # Of one's own user, a signal arrives: the supervisor guards the rest by being not dumpable.
        assert json.loads(python(session, TAKE_OVER % SUPERVISOR))[0] == "won"
        assert json.loads(python(session, TAKE_OVER % WORKER, user=worker))[0] == "won"
        # The door through which the zygote came is closed.
        assert inside(session, "ls", "/tmp")[1].split() == ([] if transport == "unix" else ["broker"])
        assert session.execute("print(kept)", None).stdout == "7\n"


def test_a_sealed_supervisor_does_all_its_duties(place) -> None:
    with place.session(policy(cell_seconds=1.0, grace_seconds=0.2)) as session:
        assert session.report[Wall.SEALED_SUPERVISOR].level is Level.FULL
        for number in range(3):
            session.load_context(f"context_{number}", "0123456789" * 200_000)
        assert session.execute("print(len(context_2), llm_query('x'))", lambda call: "yes").stdout == "2000000 yes\n"
        assert session.execute("kept = 7", None).error is None
        assert session.execute("sum(range(10**13))", None).error is not None  # killed, and resumed
        assert session.execute("print(kept, context_2[:3])", None).stdout == "7 012\n"
        assert isinstance(session.execute("held = bytearray(1 << 40)", None).error, CellMemoryLimit)
        assert session.execute("print(kept)", None).stdout == "7\n"
        assert session.execute("while True: pass", None, seconds=0.3).error is not None  # interrupted
        assert session.execute("print(kept)", None).stdout == "7\n"


def test_what_was_asked_for_and_what_came_of_it_is_reported(engine, shared) -> None:
    details, evidence = shared.report.details, shared.report[Wall.CONTAINER].evidence
    for what in ("own cgroup namespace", "masked paths", "read-only paths", "size of files"):
        assert f"{what}: yes" in evidence
    assert "not masked" not in evidence
    has = hardening.offered(engine, engine.info())
    assert ("AppArmor: yes" in evidence) is has.apparmor
    assert ("the engine has no AppArmor" in evidence) is not has.apparmor
    assert (details["cgroupns"], details["masked_paths"], details["readonly_paths"]) == (
        "private", len(hardening.MASKED), len(hardening.READONLY),
    )  # fmt: skip
    inspected = engine.api.inspect_container(shared._lease._id)["HostConfig"]
    assert details["blkio_weight"] == inspected["BlkioWeight"] or "none" in details["blkio_weight"]


@pytest.mark.parametrize("form", ["a list", "one object", "one a line"])
def test_an_audit_of_our_own_container_finds_nothing(engine, shared, tmp_path, form) -> None:
    inspected = engine.api.inspect_container(shared._lease._id)
    text = {
        "a list": json.dumps([inspected], indent=4),
        "one object": json.dumps(inspected, indent=4),
        "one a line": f"{json.dumps(inspected)}\n{json.dumps(inspected)}\n",
    }[form]
    (tmp_path / "inspect.json").write_text(text)
    report = audit([str(tmp_path / "inspect.json")])
    assert (report.not_checked, [finding.rule for finding in report.findings]) == ((), [])
    assert len(report.targets) == 1


HAS = Offered(apparmor=True, profile="docker-default", cgroupns=True)
HARD = {
    "cgroup_namespace": "own", "apparmor": "docker-default (enforce)", "unmasked": [], "writable": [],
    "file_bytes": 100,
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ({}, set()),
        ({"cgroup_namespace": "shared"}, {"own cgroup namespace"}),
        ({"apparmor": "unconfined"}, {"AppArmor"}),
        ({"unmasked": ["/proc/kcore"]}, {"masked paths"}),
        ({"unmasked": ["/sys/kernel"]}, set()),
        ({"unmasked": None}, {"masked paths"}),
        ({"writable": ["/proc/sys"]}, {"read-only paths"}),
        ({"file_bytes": -1}, {"size of files"}),  # no limit
        ({"file_bytes": True}, {"size of files"}),
        ({"file_bytes": 101}, {"size of files"}),
    ],
)
def test_what_does_not_hold_is_told(said: dict[str, Any], missing: set[str]) -> None:
    assert {what for what, held in hardening.found(HAS, HARD | said, 100) if not held} == missing
    assert hardening.unmasked(HARD | said) == ("/sys/kernel" if said.get("unmasked") == ["/sys/kernel"] else "/proc/kcore" if said.get("unmasked") else "")


class Engine:
    """An engine of another kind."""

    def __init__(self, version: str, component: str) -> None:
        self.api = self
        self.api_version = version
        self._component = component

    def version(self) -> dict[str, Any]:
        return {"Components": [{"Name": self._component}]}


@pytest.mark.parametrize(
    ("other", "options", "offered"),
    [
        (Engine("1.41", "Engine"), ["name=apparmor", "name=seccomp,profile=default"], HAS),
        (Engine("1.9", "Engine"), ["name=apparmor"], Offered(apparmor=True, profile="docker-default", cgroupns=False)),
        (Engine("1.41", "Podman Engine"), ["name=apparmor"], Offered(apparmor=True, profile=None, cgroupns=True)),
        (Engine("1.50", "Engine"), None, Offered(apparmor=False, profile=None, cgroupns=True)),
    ],
)
def test_only_what_an_engine_has_is_asked_for(other: Engine, options: list[str] | None, offered: Offered) -> None:
    assert hardening.offered(other, {"SecurityOptions": options}) == offered
    host: dict[str, Any] = {"SecurityOpt": ["no-new-privileges:true"]}
    hardening.add(host, offered)
    assert host.get("CgroupnsMode") == ("private" if offered.cgroupns else None)
    assert ("apparmor=docker-default" in host["SecurityOpt"]) is (offered.profile is not None)
    assert host["BlkioWeight"] == 10
