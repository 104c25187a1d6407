"""How sandboxes end when nobody closes them, and what the SDKs would read, keep or show if they were let."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.broker.transports import TransportLost
from rlm_secure.environments import owner as owners
from rlm_secure.environments.cloud import e2b, prime
from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.environments.cloud import provider as _provider
from rlm_secure.environments.cloud.stream import Loop
from rlm_secure.environments.owner import is_orphan, owner
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra
from tests.clouds.conftest import Cloud, limits, provided
from tests.clouds.hosts import Host
from tests.emulators.base import Request, until
from tests.emulators.prime import pb

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")
VARIABLES = {
    "e2b": "E2B_API_KEY",
    "daytona": "DAYTONA_API_KEY",
    "modal": "MODAL_TOKEN_ID",
    "prime": "PRIME_API_KEY",
    "kubernetes": "KUBECONFIG",
}


#: As a container of this machine has one: its own pids, and the same boot.
PID_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


@contextlib.contextmanager
def host(cloud: Cloud, how: str) -> Iterator[Host]:
    process = Host(cloud.name, by_name(cloud), how)
    try:
        assert process.stdout.readline() == "open\n", process.communicate()[1]
        yield process
    finally:
        process.close()


@contextlib.contextmanager
def contained(cloud: Cloud, how: str) -> Iterator[subprocess.Popen[str]]:
    """The same, started as a program of its own in another namespace of pids."""
    arguments = [*PID_NAMESPACE, sys.executable, "-m", "tests.clouds.abandoned", cloud.name, json.dumps(by_name(cloud)), how]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(arguments, **pipes, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "open\n", process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def by_name(cloud: Cloud) -> dict[str, str]:
    """Its options, with an address that must be looked up even while the interpreter exits."""
    return {name: value.replace("127.0.0.1", "localhost") for name, value in cloud.options.items()}


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("how", ["exit", "raise"])
def test_a_host_that_forgets_to_close_leaves_nothing(cloud: Cloud, how: str) -> None:
    with host(cloud, how) as process:
        _, errors = process.communicate(timeout=90)
        assert cloud.emulator.live == [], errors
        assert errors.count("Traceback") == (how == "raise"), errors


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("how", ["wait", "cell"])
def test_ctrl_c_leaves_nothing(cloud: Cloud, how: str) -> None:
    with host(cloud, how) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=90)
        assert cloud.emulator.live == [], errors
        assert "KeyboardInterrupt" in errors


@pytest.mark.by_turns(2)
def test_sigterm_ends_the_sandboxes_and_then_the_host(cloud: Cloud) -> None:
    with host(cloud, "wait") as process:
        time.sleep(0.3)  # a signal that comes just before a program begins to sleep does not wake it
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert process.returncode == -signal.SIGTERM and errors == ""
        assert cloud.emulator.live == []


@pytest.mark.parametrize("how", ["create", "beside"])
def test_a_sandbox_that_is_being_created_ends_with_the_host(how: str) -> None:
    with provided("e2b") as cloud:
        cloud.emulator.fail(cloud.wire.create, slow=1.0)
        with host(cloud, how) as process:
            assert until(lambda: cloud.emulator.recorded(cloud.wire.create))
            if how == "create":
                process.terminate()
            _, errors = process.communicate("now\n", timeout=30)
            assert process.returncode == (-signal.SIGTERM if how == "create" else 0), errors
            assert until(lambda: cloud.emulator.made) and cloud.emulator.live == []


def test_sigterm_ends_a_host_that_can_start_no_thread() -> None:
    program = (
        "import os, signal, threading\n"
        "from rlm_secure.environments.cloud.termination import end_by_sigterm\n"
        "def fail(*_): raise RuntimeError\n"
        "class Lease:\n    close = fail\n"
        "end_by_sigterm(lambda: [Lease()])\n"
        "threading.Thread.start = fail\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM


def test_a_fork_and_a_handler_of_the_host_s_own_have_nothing_to_do_with_it() -> None:
    program = (
        "import os, signal\n"
        "from rlm_secure.environments.cloud.termination import end_by_sigterm\n"
        "class Lease:\n    def close(self): os.write(1, b'closed\\n')\n"
        "before = signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'its own\\n'))\n"
        "end_by_sigterm(lambda: [Lease()])\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "signal.signal(signal.SIGTERM, before)\n"
        "end_by_sigterm(lambda: [Lease()])\n"
        "child = os.fork()\n"
        "if child:\n    print(os.waitpid(child, 0)[1], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "its own\n15\nclosed\n", "")


def test_what_a_killed_host_leaves_is_swept_and_what_others_use_is_not(cloud: Cloud) -> None:
    with host(cloud, "wait") as process, cloud.session() as session:
        assert cloud.environment().sweep() == 0
        process.kill()
        process.wait()
        assert len(cloud.emulator.live) == 2
        assert cloud.environment().sweep() == 1
        assert session.execute("print(1)", lambda call: None).stdout == "1\n"
    assert cloud.environment().sweep() == 0


@pytest.mark.by_turns(2)  # a sweep at every provider is above; whose a sandbox is says one function for all
def test_a_sweep_ends_nothing_of_another_container_on_this_machine(cloud: Cloud) -> None:
    with contained(cloud, "sweep") as process, cloud.session() as session:
        assert cloud.environment().sweep() == 0
        assert len(cloud.emulator.live) == 2
        said, errors = process.communicate("now\n", timeout=90)
        assert said == "0 1\n", errors
        assert session.execute("print(1)", lambda call: None).stdout == "1\n"


def test_a_process_that_proc_hides_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A /proc that is mounted with hidepid shows no process of another user."""
    boot, _, _ = owner().split("-")
    monkeypatch.setattr(owners, "_started", lambda pid: "")
    assert not is_orphan(f"{boot}-1-5") and is_orphan(f"{boot}-4194305-5")
    assert not is_orphan(f"{boot}-4194305-"), "whose start was hidden when the label was made"


def test_a_machine_that_does_not_say_what_it_is_knows_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", unknown)
    owners._realm.cache_clear()
    label = owner().partition("-")[0] + "-4194305-5"
    assert is_orphan(label), "its own are known"
    owners._realm.cache_clear()
    assert not is_orphan(label), "those of another such machine are not"
    owners._realm.cache_clear()


def test_a_sandbox_of_another_machine_is_nobodys_orphan() -> None:
    boot, pid, started = owner().split("-")
    assert not is_orphan(owner())
    assert is_orphan(f"{boot}-{pid}-1")
    assert not is_orphan(f"{'0' * 16}-{pid}-1")
    assert not is_orphan("") and not is_orphan(f"{boot}-x-{started}")
    assert not is_orphan(f"{boot}-\u00b2-{started}") and not is_orphan(f"{boot}-{'9' * 5000}-{started}")


def test_a_session_is_renewed_while_it_lives(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = cloud.environment()
    provider = environment.provider(limits())
    monkeypatch.setattr(type(provider), "renew_every", 0.1)
    renewal = {
        "e2b": "POST /sandboxes/.*/timeout",
        "daytona": "POST .*/last-activity",
        "modal": cloud.wire.write,
        "prime": cloud.wire.write,  # the supervisor is spoken to: while it runs, its sandbox is in use
        "kubernetes": cloud.wire.write,
    }[cloud.name]
    with environment.session(limits()):
        begun = len(cloud.emulator.recorded(renewal))
        assert until(lambda: len(cloud.emulator.recorded(renewal)) >= begun + 3)
    time.sleep(0.1)  # what was under way when it ended has arrived
    count = len(cloud.emulator.recorded(renewal))
    time.sleep(0.4)
    assert len(cloud.emulator.recorded(renewal)) == count


def test_a_supervisor_that_nobody_renews_ends_where_only_that_makes_its_sandbox_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_lease, "UNRENEWED_SECONDS", 1)
    cloud = Cloud("prime")
    try:
        with cloud.session():
            (box,) = cloud.emulator.live
            assert box.left() and until(lambda: not box.left(), 20.0), box.commands()
            assert cloud.emulator.live == [box], "so that its provider ends it"
    finally:
        cloud.emulator.close()


def test_no_renewal_outlives_the_time_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud("e2b")
    try:
        monkeypatch.setattr(e2b.E2BProvider, "renew_every", 0.1)
        with cloud.environment(ttl_seconds=60).session(limits()):
            (made,) = cloud.emulator.recorded(cloud.wire.create)
            assert made.json["timeout"] == 60
            asked = until(lambda: cloud.emulator.recorded("POST /sandboxes/.*/timeout"))
            assert all(0 < each.json["timeout"] <= 60 for each in asked)
    finally:
        cloud.emulator.close()


# -- traps of the SDKs -----------------------------------------------------------------------------------


def test_a_missing_key_names_the_variable(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLES[cloud.name], raising=False)
    with pytest.raises(EnvironmentUnavailable, match=f"set {VARIABLES[cloud.name]}, or pass {cloud.wire.key}"):
        create_environment(cloud.name).open(limits())


def test_the_key_may_come_from_the_variable(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[cloud.name], cloud.options[cloud.wire.key])
    options = {name: value for name, value in cloud.options.items() if name != cloud.wire.key}
    with create_environment(cloud.name, **options).open(limits()) as session:
        assert session.alive


def test_a_missing_sdk_gives_the_line_that_installs_it(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_provider.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=rf"pip install 'rlm-secure\[{cloud.name}\]'"):
        cloud.environment().open(limits())


def test_a_hostile_directory_cannot_redirect_the_sdk(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (".env", ".env.local"):
        (tmp_path / name).write_text(
            "DAYTONA_API_KEY=evil\nDAYTONA_TARGET=evil\nDAYTONA_OTEL_ENABLED=true\nE2B_API_KEY=evil\nE2B_DEBUG=true\n"
            "PRIME_API_KEY=evil\nPRIME_API_BASE_URL=http://evil.invalid\n"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLES[cloud.name], raising=False)
    with pytest.raises(EnvironmentUnavailable, match="API key"):
        create_environment(cloud.name).open(limits())
    with cloud.session():
        (made,) = cloud.emulator.recorded(cloud.wire.create)
    assert "evil" not in str(made.headers) + str(made.json)


def test_the_debug_switch_of_the_environment_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("E2B_DEBUG", "true")
    cloud = Cloud("e2b")
    try:
        with cloud.session():
            assert len(cloud.emulator.live) == 1
        assert cloud.emulator.live == []
    finally:
        cloud.emulator.close()


def test_a_proxy_is_not_asked_for_this_machine(cloud: Cloud) -> None:
    # In a process of its own: the SDKs read the environment once.
    script = (
        "import sys, json; from rlm_secure.sandbox import Sandbox\n"
        "with Sandbox(environment=sys.argv[1], environment_kwargs=json.loads(sys.argv[2])) as s: print(s.run('print(1)').stdout)"
    )
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"), "http://127.0.0.1:9")
    environment = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"} | proxies
    arguments = [sys.executable, "-c", script, cloud.name, json.dumps(cloud.options)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=150, env=environment)
    assert done.stdout.strip() == "1", done.stderr


def test_neither_the_key_nor_the_hosts_environment_reaches_a_sandbox(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_THE_HOST", "hidden-value")
    with cloud.session() as session:
        session.execute("print(1)", lambda call: None)
        environments = b"".join(
            Path(f"/proc/{pid}/environ").read_bytes() for box in cloud.emulator.live for pid in box.left()
        )
        assert cloud.emulator.key.encode() not in environments and b"hidden-value" not in environments
        everything = b"".join(each.body for each in cloud.emulator.requests)
        assert cloud.emulator.key.encode() not in everything and b"hidden-value" not in everything


def test_the_session_key_is_on_no_command_line_and_in_no_file(cloud: Cloud) -> None:
    with cloud.session():
        (given,) = {
            text
            for each in cloud.emulator.recorded(cloud.wire.write)
            for text in [_input(cloud, each)]
            if '"key"' in text
        }
        key = json.loads(given)["key"].encode()
        assert len(key) == 64
        (box,) = cloud.emulator.live
        lines = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in box.left())
        files = b"".join(path.read_bytes() for path in box.home.rglob("*") if path.is_file())
        logged = b"".join(data for program in box.programs.values() for _, data in program.log)
        assert key not in lines + files + logged


def _input(cloud: Cloud, request: Request) -> str:
    if cloud.name == "prime":
        return pb.SendInputRequest.FromString(request.body).input.stdin.decode()
    if cloud.name == "kubernetes":
        return request.body.decode("ascii")
    if cloud.name == "modal":
        return request.message.data.decode("ascii", "ignore") if request.message.data[:1] == b"{" else ""  # or the guest
    return base64.b64decode(request.json["input"]["stdin"]).decode() if cloud.name == "e2b" else request.json["data"]


def test_prime_writes_no_token_and_reads_no_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / ".prime"
    folder.mkdir()
    told = {"api_key": "evil", "base_url": "http://evil.invalid", "team_id": "evil"}
    (folder / "config.json").write_text(json.dumps(told))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PRIME_API_KEY", raising=False)
    with pytest.raises(EnvironmentUnavailable, match="set PRIME_API_KEY, or pass api_key"):
        create_environment("prime").open(limits())
    cloud = Cloud("prime")
    try:
        with cloud.session() as session:
            # What is refused is asked for again with a new token, which is kept nowhere either.
            cloud.emulator.fail(cloud.wire.write, status=401)
            assert session.execute("print(1)", lambda call: None).stdout == "1\n"
            assert len(cloud.emulator.recorded("POST .*/auth$")) == 2
            assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["config.json"]
            everything = "".join(f"{each.headers} {each.query} {each.body!r}" for each in cloud.emulator.requests)
            assert "evil" not in everything
    finally:
        cloud.emulator.close()


def test_the_key_of_prime_follows_no_redirect() -> None:
    cloud, other = Cloud("prime"), Cloud("prime")
    try:
        headers = {"Location": f"{other.emulator.api}/images"}
        cloud.emulator.fail("GET /api/v1/images$", status=307, headers=headers, times=9)
        with pytest.raises(EnvironmentUnavailable, match="HTTP 307"):
            cloud.session()
        assert other.emulator.requests == []
    finally:
        cloud.emulator.close()
        other.emulator.close()


def test_a_token_of_prime_that_expired_is_replaced() -> None:
    cloud = Cloud("prime")
    try:
        with cloud.session() as session:
            session.execute("x = 1", lambda call: None)
            cloud.emulator.live[0].token = "another"
            assert session.execute("print(x)", lambda call: None).stdout == "1\n"
            assert len(cloud.emulator.recorded("POST .*/auth$")) == 2
    finally:
        cloud.emulator.close()


def test_a_long_log_begins_a_new_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlm_secure.environments.cloud import daytona

    monkeypatch.setattr(daytona, "_LOG_BYTES", 20_000)
    cloud = Cloud("daytona")
    try:
        with cloud.session() as session:
            for number in range(12):
                assert session.execute(f"print({number}, 'x' * 4000)", lambda call: None).stdout.startswith(f"{number} ")
            assert len(cloud.emulator.recorded(cloud.wire.run)) > 3
            sessions = cloud.emulator.live[0].sessions
            assert until(lambda: len(sessions) <= 2), "old sessions, and with them their logs, are deleted"
    finally:
        cloud.emulator.close()


def test_an_sdk_of_e2b_that_keeps_all_output_keeps_little(monkeypatch: pytest.MonkeyPatch) -> None:
    from e2b.sandbox_async.commands.command_handle import AsyncCommandHandle

    monkeypatch.setattr(e2b, "_KEPT_BYTES", 20_000)
    monkeypatch.setattr(e2b, "_takes", lambda function, parameter: False)
    cloud = Cloud("e2b")
    try:
        gc.collect()
        with cloud.session() as session:
            for number in range(12):
                assert session.execute(f"print({number}, 'x' * 4000)", lambda call: None).stdout.startswith(f"{number} ")
            assert len(cloud.emulator.recorded(cloud.wire.run)) > 3

            def kept() -> int:
                gc.collect()
                return sum(len(each.stdout) for each in gc.get_objects() if type(each) is AsyncCommandHandle)

            assert until(lambda: kept() < 40_000), kept()  # a program that was replaced ends meanwhile
    finally:
        cloud.emulator.close()


def test_output_that_nobody_takes_breaks_a_stream_of_prime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prime, "_OUTPUT_BYTES", 1_000_000)
    cloud = Cloud("prime")
    try:
        with cloud.session() as session:
            stream = session._lease._stream("head -c 60000000 /dev/zero; exec sleep 60", time.monotonic() + 10)
            (program,) = [each for each in cloud.emulator.live[0].programs.values() if "sleep" in each.process.args[-1]]
            said = Path(f"/proc/{program.pid}/cmdline")
            assert until(lambda: said.read_bytes().startswith(b"sleep")), "all of it was said"
            time.sleep(1)
            taken = 0
            with pytest.raises(TransportLost, match="more output than anybody takes"):
                while True:
                    taken += len(stream.read(time.monotonic() + 10))
            assert 0 < taken < 20_000_000
            stream.close()
            assert until(program.exit.is_set), "it is ended, although its stream is broken"
    finally:
        cloud.emulator.close()


def test_input_that_is_under_way_when_a_stream_closes_is_nobodys_error(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    gc.collect()  # what earlier tests left is theirs
    caplog.clear()
    with cloud.session() as session:
        stream = session._lease._stream("exec sleep 60", time.monotonic() + 10)
        count = len(cloud.emulator.recorded(cloud.wire.write))
        cloud.emulator.fail(cloud.wire.write, slow=1.0)
        stream.write(b"{}\n", time.monotonic() + 1)
        assert until(lambda: len(cloud.emulator.recorded(cloud.wire.write)) > count)
        stream.close()
    del stream, session
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_a_loop_that_is_closed_says_so() -> None:
    loop = Loop("test")
    loop.close()
    loop.close()

    async def step() -> None: ...

    with pytest.raises(TransportLost, match="closed"):
        loop.call(step(), 1)


def test_a_process_that_ends_makes_no_further_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lease, "_ending", False)
    cloud = Cloud("e2b")
    try:
        with cloud.session() as session:
            monkeypatch.setattr(_lease, "_ending", True)  # the exit handler came before it lost its sandbox
            cloud.emulator.vanish(cloud.emulator.live[0].name)
            lost = session.execute("print(1)", lambda call: None)
            assert "could not be resumed (EnvironmentUnavailable); the session is over" in lost.stderr
            with pytest.raises(EnvironmentUnavailable, match="this process is ending: it makes no further e2b sandbox"):
                cloud.session()
        assert len(cloud.emulator.made) == 1
    finally:
        cloud.emulator.close()


#: Runs an exit handler in processes of which each gets SIGTERM before another line of it. Prints how each ended: by the
#: signal, by itself after the last line, or never, in argv[2] seconds.
_TERMINATED = """
import os, signal, sys, threading, time
from rlm_secure.environments.cloud import lease, termination

def at_line(number):
    exit_handler, leases, left = lease.end, lease.last, number
    if sys.argv[1] == "locked":
        ending = threading.Event()
        exit_handler, leases = ending.set, lambda: [] if ending.set() else []
    termination.end_by_sigterm(leases)

    def trace(frame, event, argument):
        nonlocal left
        left -= event == "line"
        if not left:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGTERM)
        return trace

    sys.settrace(trace)
    exit_handler()
    sys.settrace(None)
    os._exit(0)

for number in range(1, 50):
    child = os.fork() or at_line(number)
    until = time.monotonic() + float(sys.argv[2])
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.01)
    if not ended[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("never" if not ended[0] else os.waitstatus_to_exitcode(ended[1]))
    if ended == (child, 0) or not ended[0]:
        break
"""


def _terminated(how: str, seconds: float) -> list[str]:
    program = [sys.executable, "-c", _TERMINATED, how, str(seconds)]
    return subprocess.run(program, capture_output=True, text=True, timeout=300, check=True).stdout.split()


def test_sigterm_anywhere_in_the_exit_handler_ends_the_process() -> None:
    ends = _terminated("as it is", 60)
    assert ends == ["-15"] * (len(ends) - 1) + ["0"] and len(ends) > 3


def test_sigterm_in_an_exit_handler_that_takes_a_lock_does_not_always() -> None:
    assert _terminated("locked", 5)[-1] == "never"
