"""What a container of ours is: asked of the engine, and tried from inside."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from rlm_secure.environments.docker import DockerEnvironment, container, hardening
from rlm_secure.guarantees import Guarantee, Level, Wall
from rlm_secure.policy import load_policy
from tests.docker.conftest import inside, left_over, own, policy, python


def inspected(engine, session) -> dict:
    return engine.api.inspect_container(session._lease._id)


def test_the_engine_was_asked_for_every_wall(engine, shared) -> None:
    found = inspected(engine, shared)
    host, config = found["HostConfig"], found["Config"]
    memory = policy().limits.memory_bytes + container.OVERHEAD_BYTES
    longest = policy().limits.context_bytes + 4096
    expected = {
        "NetworkMode": "none", "CapDrop": ["ALL"], "CapAdd": None, "Privileged": False, "ReadonlyRootfs": True,
        "PidsLimit": container.PROCESSES, "Memory": memory, "MemorySwap": memory, "NanoCpus": 10**9, "IpcMode": "none",
        "PidMode": "", "UTSMode": "", "UsernsMode": "", "Binds": None, "Devices": None, "PortBindings": None, "VolumesFrom": None,
        "ExtraHosts": None, "Links": None, "AutoRemove": True, "Init": True, "Runtime": "runc", "OomKillDisable": False,
        "PublishAllPorts": False, "GroupAdd": None,
        "Tmpfs": {"/tmp": "rw,noexec,nosuid,nodev,size=1m,nr_inodes=64,mode=1777"},
        "LogConfig": {"Type": "none", "Config": {}}, "CgroupnsMode": "private",
        "MaskedPaths": list(hardening.MASKED), "ReadonlyPaths": list(hardening.READONLY),
    }  # fmt: skip
    assert {name: None if host[name] in ([], {}) else host[name] for name in expected} == expected
    assert sorted((each["Name"], each["Soft"], each["Hard"]) for each in host["Ulimits"]) == [
        ("core", 0, 0), ("fsize", longest, longest), ("memlock", 0, 0), ("nofile", 256, 256),
        ("nproc", container.PROCESSES, container.PROCESSES),
    ]  # fmt: skip
    assert "no-new-privileges:true" in host["SecurityOpt"]
    profile = json.loads(next(each for each in host["SecurityOpt"] if each.startswith("seccomp="))[8:])
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    (mount,) = found["Mounts"]
    assert (mount["Type"], mount["Destination"], mount["RW"]) == ("bind", "/rlm", False)
    assert config["User"] == f"{shared.report.details['uid']}:{shared.report.details['uid']}"
    assert int(config["User"].partition(":")[0]) > 1_000_000_000
    assert config["Labels"].keys() >= {container.LABEL, container.OWNER}
    assert found["NetworkSettings"]["Networks"].keys() == {"none"}


def test_no_secret_is_in_the_container_s_description_or_in_what_it_shows(engine, shared) -> None:
    key = shared._client._key.hex()
    shown = json.dumps(inspected(engine, shared))
    shown += python(shared, "import glob\nfor each in glob.glob('/proc/[0-9]*/cmdline'): print(open(each).read())")
    shown += python(
        shared,
        "import glob\nfor each in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try: print(open(each).read())\n    except OSError: pass",
    )
    assert key not in shown
    assert "GLIBC_TUNABLES" not in shown  # not even the zygote's own, harmless environment can be read


def test_the_host_s_directory_holds_the_bundle_and_the_socket_and_is_private(shared) -> None:
    directory = Path(shared._lease._unix.directory)
    assert sorted(path.name for path in directory.iterdir()) == ["broker", "guest.zip"]
    assert directory.parent.stat().st_mode & 0o777 == 0o700
    assert (directory / "guest.zip").stat().st_mode & 0o777 == 0o444


def test_strict_requires_walls_that_all_hold_and_says_which_do_not(shared) -> None:
    report = shared.report
    assert report.environment == "docker"
    assert report.missing(load_policy("strict").isolation.required("docker")) == ()
    assert report[Wall.CONTAINER].level is Level.FULL
    assert report[Wall.SEPARATE_UID].level is Level.FULL
    assert report[Wall.SEALED_SUPERVISOR].level is Level.FULL
    assert report[Wall.CGROUP].level is Level.FULL
    assert report[Wall.LANDLOCK].level is Level.FULL
    assert report[Wall.NETWORK_NAMESPACE].level is Level.FULL
    assert report[Wall.USER_NAMESPACE].level is Level.NONE
    for guarantee in (
        Guarantee.NO_HOST_FILES, Guarantee.NO_NETWORK, Guarantee.NO_EXEC, Guarantee.NO_SECRETS, Guarantee.BOUNDED_TIME,
        Guarantee.BOUNDED_MEMORY, Guarantee.BOUNDED_PROCESSES, Guarantee.BOUNDED_OUTPUT, Guarantee.NO_LEFTOVERS,
        Guarantee.AUTHENTIC_CHANNEL, Guarantee.SESSION_ISOLATION,
    ):  # fmt: skip
        assert report.guarantee(guarantee) is Level.FULL, guarantee


def test_the_same_bundle_runs_here_as_locally(shared) -> None:
    from rlm_secure import Sandbox

    with Sandbox() as local:
        assert local.report.details["bundle_sha256"] == shared.report.details["bundle_sha256"]


def test_two_sessions_are_two_containers_with_two_users(place) -> None:
    with place.session(policy()) as one, place.session(policy()) as other:
        one.execute("x = 1", None)
        assert one._lease._id != other._lease._id
        assert one.report.details["uid"] != other.report.details["uid"]
        assert "NameError" in other.execute("print(x)", None).stderr


def test_sessions_start_and_end_at_the_same_time(engine, place) -> None:
    before = own(engine)
    said: list[str] = []

    def run(number: int) -> None:
        with place.session(policy()) as session:
            said.append(session.execute(f"print({number})", None).stdout)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [f"{number}\n" for number in range(6)]
    assert own(engine) == before


def test_a_context_larger_than_the_container_s_memory_gets_room(engine, place) -> None:
    payload = "0123456789" * 80_000_000
    with place.session(policy()) as session:
        before = inspected(engine, session)["HostConfig"]["Memory"]
        assert len(payload) > before
        session.load_context("context_0", payload)
        room = inspected(engine, session)["HostConfig"]["Memory"] - before
        assert len(payload) <= room < len(payload) + container.ROOM_BYTES
        result = session.execute("print(len(context_0), context_0[-3:], context_0.count('9'))", None)
        assert result.stdout == "800000000 789 80000000\n"


def test_closing_removes_container_directory_and_threads(engine, place) -> None:
    threads = threading.active_count()
    session = place.session(policy())
    directory = Path(session._lease._unix.directory).parent
    identity = session._lease._id
    session.close()
    session.close()
    assert not directory.exists()
    assert identity[:12] not in left_over(engine)
    assert threading.active_count() <= threads


def test_the_exec_stream_carries_the_same_session(image) -> None:
    with DockerEnvironment(image=image, transport="exec").session(policy()) as session:
        assert session.report.details["transport"] == "exec"
        session.load_context("context_0", "ab" * 4_000_000)
        code = "print(len(context_0), llm_query('x'))"
        assert session.execute(code, lambda call: "answered").stdout == "8000000 answered\n"
        started = time.monotonic()
        assert session.execute("while True: pass", None, seconds=0.3).error is not None
        assert time.monotonic() - started < 3
        assert inside(session, "ls", "/rlm")[1].split() == ["broker", "guest.zip"]


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(ValueError, match="transport is 'auto', 'unix' or 'exec'"):
        DockerEnvironment(transport="tcp")  # type: ignore[arg-type]
