"""Two users and a sealed supervisor, as the kernel of this machine sees them, and what else a container is asked for."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.audit import audit
from rlm_secure.broker import signed
from rlm_secure.environments.docker import DockerEnvironment, container, hardening
from rlm_secure.environments.docker.hardening import Offered, Taken
from rlm_secure.errors import CellMemoryLimit, EnforcementError
from rlm_secure.guarantees import Level, Wall
from tests.docker.conftest import inside, own, policy, python, wait_for
from tests.emulators.base import until

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


#: Connects to the supervisor's socket, takes it away, and puts another in its place.
BROKER = """
import errno, json, os, socket
def tried(step):
    try:
        step()
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'won'
path = '/tmp/broker'
other = '/tmp/mine'
socket.socket(socket.AF_UNIX).bind(other)
print(json.dumps([
    tried(lambda: socket.socket(socket.AF_UNIX).connect(path)), tried(lambda: os.chmod(path, 0o777)),
    tried(lambda: os.rename(path, '/tmp/away')), tried(lambda: os.rename(other, path)), tried(lambda: os.unlink(path)),
]))
"""
REACH = (Path(__file__).parents[1] / "broker" / "reach.py").read_text(encoding="utf-8")


def within(pid: str) -> int:
    """How the container numbers a process: a zygote before its worker. This machine's numbers begin anew at 32,768."""
    with suppress(FileNotFoundError), open(f"/proc/{pid}/status") as lines:
        return max(int(line.split()[-1]) for line in lines if line.startswith("NSpid:"))
    return 0  # it has just ended


def numbers(engine: Any, session: Any) -> dict[str, int]:
    """The processes of a session's container, as this machine numbers them, by their last words."""
    found: dict[str, int] = {}
    for row in sorted(engine.api.top(session._lease._id)["Processes"], key=lambda row: within(row[1])):
        words = row[7].partition("guest.zip ")[2].split()
        found["init" if "docker-init" in row[7] else words[0] if words[0] not in found else "worker"] = int(row[1])
    return found


def processes(engine: Any, session: Any) -> dict[str, dict[str, str]]:
    """What this machine's kernel says of each process of a session's container."""
    found = {}
    for name, pid in numbers(engine, session).items():
        with open(f"/proc/{pid}/status") as lines:
            found[name] = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
    return found


@pytest.mark.root
def test_the_kernel_sees_two_users_without_capabilities_and_a_filter_on_the_supervisor(engine, shared) -> None:
    seen = processes(engine, shared)
    users = {name: set(status["Uid"].split()) for name, status in seen.items()}
    supervisor, worker = (f"{shared.report.details[key]}" for key in ("uid", "worker_uid"))
    assert supervisor != worker
    assert users == {"init": {supervisor}, "supervise": {supervisor}, "zygote": {worker}, "worker": {worker}}
    for status in seen.values():
        assert set(status["Groups"].split()) <= {status["Gid"].split()[0]} <= {supervisor, worker}
        assert {status[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        assert status["NoNewPrivs"] == "1"
    # The engine's filter, and the supervisor's own; a worker has the two of a session besides.
    assert {name: status["Seccomp_filters"] for name, status in seen.items() if name != "worker"} == {
        "init": "1", "supervise": "2", "zygote": "1",
    }  # fmt: skip


CELLS = 100


@pytest.mark.root
def test_a_worker_is_stopped_after_each_frame_without_a_question_to_its_zygote(engine, shared) -> None:
    shared.execute("kept = 7", None)

    def wakes() -> int:
        return int(processes(engine, shared)["zygote"]["voluntary_ctxt_switches"])

    pid, before = numbers(engine, shared)["worker"], wakes()
    for _ in range(CELLS):
        assert shared.execute("print(kept)", None).stdout == "7\n"
        assert wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    assert wakes() - before < CELLS  # it looks at its children once a second


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
        assert inside(session, "ls", "/tmp")[1].split() == ([] if transport == "unix" else ["broker", "stored"])
        assert session.execute("print(kept)", None).stdout == "7\n"


@pytest.mark.attack
@pytest.mark.parametrize("transport", ["unix", "exec"])
def test_a_workers_user_reaches_nothing_of_its_supervisor(image, transport) -> None:
    with DockerEnvironment(image=image, transport=transport).session(policy()) as session:
        session.execute("kept = 7", None)
        worker = f"{session.report.details['worker_uid']}"

        def reach(words: str) -> dict[str, str]:
            pid = "max(int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid() and "
            pid += f"{words!r} in open(f'/proc/{{p}}/cmdline').read())"
            code = REACH.replace("main(sys.argv[1:])", f"main([str({pid})])")
            return dict(json.loads(python(session, code, user=worker)))

        found = reach(SUPERVISOR)
        assert {name: how for name, how in found.items() if how not in ("EPERM", "EACCES")} == {}
        # The control: of a process of its own, all that the engine's filter lets through (the rest: test_reach.py).
        lease: Any = session._lease
        made = lease._engine.api.exec_create(lease._id, ["python3", "-I", "-S", "-c", REACH], user=worker)
        lease._engine.api.exec_start(made["Id"], detach=True)
        assert wait_for(lambda: "prctl(ANY_TRACER" in python(session, CMDLINES, user=worker))
        own = reach("prctl(ANY_TRACER")
        assert len({name for name, how in own.items() if how == "won"}) >= 14, own
        assert session.execute("print(kept)", None).stdout == "7\n"


@pytest.mark.attack
def test_the_supervisors_socket_is_its_own(image) -> None:
    with DockerEnvironment(image=image, transport="exec").session(policy()) as session:
        worker = f"{session.report.details['worker_uid']}"
        assert json.loads(python(session, BROKER, user=worker)) == ["EACCES", *["EPERM"] * 4]
        assert session.execute("print(6 * 7)", None).stdout == "42\n"
        # The control: its own user does all of it, and that is the end of the session.
        assert json.loads(python(session, BROKER.replace("/tmp/mine", "/tmp/other"))) == ["won", "won", "won", "won", "won"]


@pytest.mark.root
def test_nothing_that_is_open_in_a_zygote_or_worker_is_a_file_or_the_supervisors_standard_streams(engine, shared) -> None:
    shared.load_context("context_9", "x" * 100)
    pids = numbers(engine, shared)
    streams = {os.readlink(f"/proc/{pids['supervise']}/fd/{fd}") for fd in (0, 1, 2)} - {"/dev/null"}
    assert streams
    for name in ("zygote", "worker"):
        places = [os.readlink(each) for each in Path(f"/proc/{pids[name]}/fd").iterdir()]
        kinds = {each.partition(":")[0] for each in places}
        assert kinds <= {"/dev/null", "pipe", "socket", "anon_inode"}, places
        assert not streams & set(places)


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


KILL = (
    "import os, signal\n"
    "pids = sorted(int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid())\n"
    "os.kill([p for p in pids if '\\0zygote\\0' in open(f'/proc/{p}/cmdline').read()][1], signal.SIGKILL)"
)


@pytest.mark.root
@pytest.mark.parametrize("transport", ["unix", "exec"])
def test_a_resumed_worker_is_the_other_user_again_and_has_all_that_was_kept(engine, image, transport) -> None:
    place = DockerEnvironment(image=image, transport=transport)
    with place.session(policy(cell_seconds=1.0, grace_seconds=0.2, resumes=9)) as session:
        supervisor, worker = (f"{session.report.details[key]}" for key in ("uid", "worker_uid"))
        session.load_context("context_0", "abc" * 100_000)
        session.execute("kept = 7", None)
        seen = set()

        def sealed() -> bool:
            return int(processes(engine, session).get("worker", {}).get("Seccomp_filters", 0)) > 1

        def is_as_it_was() -> None:
            assert until(sealed)  # one that was just started has not sealed itself yet: it runs no cell
            found = processes(engine, session)
            if transport == "exec":
                assert set(found.pop("dial")["Uid"].split()) == {supervisor}
            assert {name: set(status["Uid"].split()) for name, status in found.items()} == {
                "init": {supervisor}, "supervise": {supervisor}, "zygote": {worker}, "worker": {worker},
            }  # fmt: skip
            own = found["worker"]
            assert {own[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
            assert set(own["Groups"].split()) <= {worker} and int(own["Seccomp_filters"]) > 1
            rows = engine.api.top(session._lease._id)["Processes"]
            assert len([row for row in rows if "guest.zip dial" not in row[7]]) == 4, "one worker at a time"
            seen.add(own["Pid"].strip())
            made = "import os\nfor e in os.scandir('/tmp'): print(e.name, e.stat().st_uid, oct(e.stat().st_mode & 0o777))"
            own_files = [f"broker {supervisor} 0o600", f"stored {supervisor} 0o700"]
            assert sorted(python(session, made).splitlines()) == ([] if transport == "unix" else own_files)

        is_as_it_was()
        for _ in range(2):
            assert session.execute("sum(range(10**13))", None).resumed
            assert session.execute("print(kept, context_0[299_999])", None).stdout == "7 c\n"
            is_as_it_was()
        for _ in range(2):
            python(session, KILL, user=worker)
            said = [session.execute("print(kept, context_0[299_999])", None).stdout for _ in range(2)]
            assert "7 c\n" in said
            is_as_it_was()
        assert len(seen) == 5
        session.load_context("context_1", "later")
        assert session.execute("print(context_1)", None).stdout == "later\n"


def test_what_was_asked_for_and_what_came_of_it_is_reported(engine, shared) -> None:
    details, evidence = shared.report.details, shared.report[Wall.CONTAINER].evidence
    for what in ("own cgroup namespace", "masked paths", "read-only paths", "limits of each process"):
        assert f"{what}: yes" in evidence
    assert "not masked" not in evidence
    has = hardening.offered(engine, engine.info())
    assert ("AppArmor: yes" in evidence) is has.apparmor
    assert ("the engine has no AppArmor" in evidence) is not has.apparmor
    assert (details["cgroupns"], details["masked_paths"], details["readonly_paths"]) == (
        "private", len(hardening.MASKED), len(hardening.READONLY),
    )  # fmt: skip
    inspected = engine.api.inspect_container(shared._lease._id)["HostConfig"]
    weight = inspected["BlkioWeight"]
    assert details["blkio_weight"] == weight or "none" in details["blkio_weight"]
    assert ("as much of the disks as others" in evidence) is (weight != hardening.BLKIO_WEIGHT)
    assert all(f"the engine says: {each}" in evidence for each in details["discarded"])
    assert not weight or not any("weight" in each.lower() for each in details["discarded"])
    assert shared.report.to_dict()["details"]["discarded"] == details["discarded"]  # as doctor prints it


@pytest.mark.attack
def test_no_file_is_longer_than_a_context(place) -> None:
    with place.session(policy(context_bytes=65536)) as session:
        longest = container.file_bytes(session._policy)
        session.load_context("context_0", "x" * 65536)
        assert session.execute("print(len(context_0))", None).stdout == "65536\n"
        code = (
            "import errno, os\n"
            "fd = [os.open('/tmp/mine', os.O_RDWR | os.O_CREAT), os.memfd_create('mine')][{0}]\n"
            "os.ftruncate(fd, {1})\nos.lseek(fd, {1}, 0)\n"
            "for step in (lambda: os.write(fd, b'x'), lambda: os.ftruncate(fd, {1} + 1)):\n"
            "    try: step(); print('won')\n"
            "    except OSError as error: print(errno.errorcode[error.errno])\n"
        )
        users = [f"{session.report.details[key]}" for key in ("uid", "worker_uid")]
        for number, user in enumerate(users):
            assert python(session, code.format(number, longest), user=user).split() == ["EFBIG", "EFBIG"]
            assert python(session, code.format(number, longest - 9), user=user).split() == ["won", "won"]  # the control
            inside(session, "rm", "-f", "/tmp/mine", user=user)


@pytest.mark.parametrize("dropped", ["fsize", "nproc"])
def test_a_limit_that_the_engine_drops_is_told_and_where_it_is_required_there_is_no_session(
    place, engine, monkeypatch, dropped
) -> None:
    plain, before = hardening.add, own(engine)

    def add(host: dict[str, Any], has: Offered) -> None:
        plain(host, has)
        host["Ulimits"] = [each for each in host["Ulimits"] if each["Name"] != dropped]

    monkeypatch.setattr(hardening, "add", add)
    with pytest.raises(EnforcementError, match=f"limits of each process: all but {dropped}: NO") as raised:
        place.session(policy())
    assert raised.value.missing == ("container",)
    assert own(engine) == before
    with place.session(policy(), required=()) as session:
        assert session.report[Wall.CONTAINER].level is Level.PARTIAL


@pytest.mark.parametrize("said", [None, "x", {}, ["\x1b[2J" + "x" * 10_000] * 100])
def test_what_an_engine_discards_is_lines_that_only_print(said: Any) -> None:
    told = hardening.warnings({"Warnings": said})
    assert len(told) == (8 if isinstance(said, list) else 0)
    assert all(len(each) < 250 and each.isprintable() for each in told)


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


CMDLINES = "import glob\nfor each in glob.glob('/proc/[0-9]*/cmdline'): print(open(each).read())"
HAS = Offered(apparmor=True, profile="docker-default", cgroupns=True)
HARD = {
    "cgroup_namespace": "own", "apparmor": "docker-default (enforce)", "unmasked": [], "writable": [],
    "limits": dict.fromkeys(hardening.LIMITED, 100),
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
        *(
            ({"limits": HARD["limits"] | {"fsize": limit}}, {"limits of each process: all but fsize"})
            for limit in (-1, True, 101, None, "1")  # the first is none
        ),
        ({"limits": None}, {f"limits of each process: all but {', '.join(hardening.LIMITED)}"}),
    ],
)
def test_what_does_not_hold_is_told(said: dict[str, Any], missing: set[str]) -> None:
    taken = Taken({}, dict.fromkeys(hardening.LIMITED, 100), ())
    assert {what for what, held in hardening.found(HAS, signed.around(HARD | said), taken) if not held} == missing
    assert hardening.unmasked(signed.around(HARD | said)) == ("/sys/kernel" if said.get("unmasked") == ["/sys/kernel"] else "/proc/kcore" if said.get("unmasked") else "")


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
