"""What providers do wrong: each fault on the wire is survived, or is a typed error in bounded time, with nothing left."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from importlib import import_module
from typing import Any

import pytest

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.transports import TransportLost
from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.environments.cloud.e2b import E2BProvider
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.errors import CellCrashed, EnvironmentUnavailable, SessionEnded
from tests.clouds.conftest import Cloud, limits, provided
from tests.emulators import kubernetes
from tests.emulators.base import until

pytestmark = [
    pytest.mark.usefixtures("quick"),
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
]


#: A cell that does not end by itself, and takes no processor.
ENDLESS = "import time\nwhile True: time.sleep(1)"


def no_calls(call: object) -> None:
    return None


def attempt(labels: dict[str, Any] | list[str]) -> str:
    """The attempt's label; Prime's labels are a list, and those of a pod are in its metadata."""
    labels = labels.get("labels", labels) if isinstance(labels, dict) else labels
    known = labels if isinstance(labels, dict) else dict(each.split("=") for each in labels)
    return known["rlm-secure-attempt"]


# -- creation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, pytest.param(503, marks=pytest.mark.exhaustive)])
def test_a_passing_fault_of_creation_is_tried_again(cloud: Cloud, status: int) -> None:
    cloud.emulator.fail(cloud.wire.create, status=status)
    with cloud.session() as session:
        assert session.execute("print(1)", no_calls).stdout == "1\n"
    assert len(cloud.emulator.made) == 1


def test_a_rate_limit_that_stays_is_an_error_that_names_the_provider(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.create, status=429, times=99)
    environment = cloud.environment(create_seconds=1.0)
    with pytest.raises(EnvironmentUnavailable, match=f"{cloud.name} gave no sandbox: .*([Rr]ate|TooManyRequests).*; 0 live already"):
        environment.session(limits(start_seconds=1.0))
    assert len(cloud.emulator.recorded(cloud.wire.create)) > 1


def test_a_fault_after_creation_leaves_no_second_sandbox(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.create, status=500, after=True)
    with cloud.session():
        assert len(cloud.emulator.live) == 1
    attempts = [attempt(each.request.get("metadata") or each.request["labels"]) for each in cloud.emulator.made]
    assert all(attempts) and len(set(attempts)) == len(attempts)


def test_a_creation_that_is_never_answered_ends_in_time_and_leaves_nothing(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.create, hang=True, times=9)
    environment = cloud.environment(create_seconds=3.0)
    environment.provider(limits())  # imports its SDK
    began = time.monotonic()
    with pytest.raises(EnvironmentUnavailable, match="gave no sandbox: TimeoutError"):
        environment.session(limits())
    assert time.monotonic() - began < 30, "it is asked twice"
    assert len(cloud.emulator.made) >= 1 and cloud.emulator.live == []


def test_ctrl_c_during_creation_leaves_nothing(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.create, hang=True)

    def interrupt() -> None:
        until(lambda: cloud.emulator.made)
        import signal

        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        cloud.session()
    thread.join()
    assert len(cloud.emulator.made) == 1 and cloud.emulator.live == []


def test_a_wrong_key_is_said_without_the_key(cloud: Cloud) -> None:
    environment = cloud.environment(**cloud.with_key("a-wrong-and-secret-key"))
    with pytest.raises(EnvironmentUnavailable, match="gave no sandbox: .*[Aa]uth") as raised:
        environment.session(limits())
    assert "a-wrong-and-secret-key" not in str(raised.value)


def test_a_wrong_key_has_no_cause(cloud: Cloud) -> None:
    environment = cloud.environment(**cloud.with_key("a-wrong-and-secret-key"))
    with pytest.raises(EnvironmentUnavailable) as raised:
        environment.session(limits())
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("name", ["prime"])  # the others' SDKs keep no chain, or try for minutes
def test_a_provider_out_of_reach_has_a_cause(name: str) -> None:
    cloud = Cloud(name)
    cloud.emulator.close()
    with pytest.raises(EnvironmentUnavailable) as raised:
        cloud.session()
    cause = raised.value.__cause__
    assert isinstance(cause, OSError) and (cause.__cause__, cause.__context__) == (None, None)


def test_a_template_that_is_not_there_is_named(cloud: Cloud) -> None:
    option = {"e2b": "template", "daytona": "snapshot"}.get(cloud.name, "image")
    name = kubernetes.MISSING if cloud.name == "kubernetes" else "no-such-thing"
    with pytest.raises(EnvironmentUnavailable, match="(?i)no-such-thing\\S* not found"):
        cloud.environment(**{option: name}).session(limits())


def test_a_machine_of_prime_that_takes_its_time_is_waited_for() -> None:
    cloud = Cloud("prime")
    try:
        cloud.emulator.creating_seconds = 0.3
        with cloud.session() as session:
            assert session.execute("print(1)", no_calls).stdout == "1\n"
        assert len(cloud.emulator.recorded("status:batchGet$")) == 2
    finally:
        cloud.emulator.close()


def test_a_machine_of_prime_that_does_not_start_is_told_and_ended() -> None:
    cloud = Cloud("prime")
    try:
        cloud.emulator.state = "ERROR"
        cloud.emulator.reason = {"error_type": "IMAGE_PULL_FAILED", "error_message": "no such image"}
        with pytest.raises(
            EnvironmentUnavailable, match="prime gave no sandbox: SandboxImagePullError: .*no such image"
        ):
            cloud.session()
        assert len(cloud.emulator.made) == 1 and cloud.emulator.live == []
    finally:
        cloud.emulator.close()


@pytest.mark.parametrize("code", ["aborted", "internal", "unknown"])
def test_a_request_that_e2b_s_server_lost_is_passing(code: str) -> None:
    connect, rpc = import_module("connectrpc.errors"), import_module("e2b.envd.rpc")
    lost = rpc.handle_rpc_exception(connect.ConnectError(import_module("connectrpc.code").Code(code), "lost"))
    denied = rpc.handle_rpc_exception(connect.ConnectError(import_module("connectrpc.code").Code.PERMISSION_DENIED, "no"))
    provider = E2BProvider("template", "root", {"api_key": "k"})
    assert provider.explain(lost)[1] and not provider.explain(denied)[1]


@pytest.mark.parametrize("before", [0, 280, 290, 299, 300])
def test_no_part_of_a_secret_is_in_what_an_error_says(before: int) -> None:
    provider = E2BProvider("template", "root", {"api_key": "e2b_0123456789abcdef"})
    said, _ = provider.explain(ValueError(f"\n \n{'x' * before}e2b_0123456789abcdef"))
    assert not any(said.endswith("e2b_0123456789abcdef"[:length]) for length in range(1, 21)), said
    assert said == f"ValueError: {('x' * before + '***')[:300]}"


def test_a_sandbox_that_does_not_say_whether_it_runs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lease, "_LOOK_SECONDS", 0.5)
    with provided("e2b") as cloud, cloud.session() as session:
        cloud.emulator.fail(cloud.wire.info, slow=8.0, times=2)
        began = time.monotonic()
        assert session._lease._running()
        assert session._lease.exit_reason() == "e2b does not say whether it still runs"
        assert time.monotonic() - began < 5.0


def test_a_stream_that_outlives_its_sandbox_holds_nobody_up() -> None:
    with provided("e2b") as cloud, cloud.session(limits(cell_seconds=20), tools={"tick": ""}) as session:
        provider = session._lease._provider
        began = threading.Event()

        async def nothing(sandbox: str) -> None:
            began.set()

        def calls(call: object) -> None:
            running.set()

        provider.destroy = nothing
        running = threading.Event()
        cell = threading.Thread(target=session.execute, args=(f"tick()\n{ENDLESS}", calls))
        cell.start()
        assert running.wait(20)
        closing = time.monotonic()
        session.close()
        assert time.monotonic() - closing < 10
        assert began.is_set()
        cell.join()
        cloud.emulator.vanish(cloud.emulator.live[0].name)


@pytest.mark.parametrize("url", ["https://[::1", "https://host:port", "https://host/path", "http://example.org", "https://a:b@host", None])
def test_an_ingress_that_is_none_is_typed(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ingress(self: E2BProvider, port: int) -> tuple[str | None, dict[str, str]]:
        return url, {"E2b-Traffic-Access-Token": "token"}

    monkeypatch.setattr(E2BProvider, "ingress", ingress)
    with provided("e2b", "ingress") as cloud, pytest.raises(EnvironmentUnavailable, match="no ingress that can be used"):
        cloud.session()


# -- the start of the supervisor -------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["upload", "run"])
@pytest.mark.parametrize("status", [429, *(pytest.param(code, marks=pytest.mark.exhaustive) for code in (500, 502))])
def test_a_passing_fault_of_the_start_is_survived(cloud: Cloud, which: str, status: int) -> None:
    cloud.emulator.fail(getattr(cloud.wire, which), status=status)
    with cloud.session() as session:
        assert session.execute("print(1)", no_calls).stdout == "1\n"


def test_a_sandbox_without_python_says_so(cloud: Cloud) -> None:
    cloud.emulator.python = script = "#!/bin/sh\necho no python here >&2\nexit 3\n"
    original = cloud.emulator._create

    def create(request: object) -> object:
        response = original(request)
        (cloud.emulator.made[-1].home / ".bin" / "python3").unlink()
        (cloud.emulator.made[-1].home / ".bin" / "python3").write_text(script)
        (cloud.emulator.made[-1].home / ".bin" / "python3").chmod(0o755)
        return response

    cloud.emulator._create = create
    with pytest.raises(EnvironmentUnavailable, match="no python here"):
        cloud.session(limits(start_seconds=20))


def test_last_words_that_come_after_input_was_refused_are_waited_for() -> None:
    with provided("daytona") as cloud, cloud.session() as session:
        cloud.emulator.fail(cloud.wire.stream, slow=0.7)
        stream = session._lease._stream("echo no python here >&2; exit 3", time.monotonic() + 10)
        deadline = time.monotonic() + 10
        with pytest.raises(TransportLost, match="has completed"):
            while True:
                stream.write(b"{}\n", deadline)
                with contextlib.suppress(TimeoutError):
                    stream.read(time.monotonic() + 0.05)
        assert (stream.errors, stream.last_words()) == (b"", "no python here")
        stream.close()


# -- while it runs ---------------------------------------------------------------------------------------


@pytest.mark.by_turns(1)
def test_slow_requests_are_waited_for(cloud: Cloud) -> None:
    with cloud.session() as session:
        cloud.emulator.fail(cloud.wire.write, slow=0.7, times=2)
        assert session.execute("print(1)", no_calls).stdout == "1\n"


@pytest.mark.parametrize("status", [429, 500, pytest.param(503, marks=pytest.mark.exhaustive)])
def test_input_that_is_refused_for_a_moment_is_sent_again(cloud: Cloud, status: int) -> None:
    with cloud.session() as session:
        cloud.emulator.fail(cloud.wire.write, status=status, times=2)
        assert session.execute("print(1)", no_calls).stdout == "1\n"


@pytest.mark.by_turns(2)
def test_input_that_arrives_twice_happens_once(cloud: Cloud) -> None:
    calls: list[object] = []
    with cloud.session(tools={"tick": ""}) as session:
        session.execute("x = 0", no_calls)
        cloud.emulator.fail(cloud.wire.write, status=500, after=True, times=3)
        result = session.execute("x += 1\ntick()\nprint(x)", lambda call: calls.append(call))
    assert result.stdout == "1\n" and len(calls) == 1


@pytest.mark.by_turns(2)
def test_a_stream_that_is_cut_is_dialled_again_and_each_call_happens_once(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.stream, times=0)
    calls: list[object] = []
    # The first stream is the supervisor's own. Those after it carry the messages, and break after a while.
    cloud.emulator.fail(cloud.wire.stream, cut=10**6, times=1 + cloud.wire.before)
    cloud.emulator.fail(cloud.wire.stream, cut=12, times=3)
    with cloud.session(tools={"tick": ""}) as session:
        for number in range(12):
            result = session.execute(f"tick()\nprint({number})", lambda call: calls.append(call))
            assert result.stdout == f"{number}\n", result.stderr
    assert len(calls) == 12
    assert len(cloud.emulator.recorded(cloud.wire.stream)) >= 4 + cloud.wire.before


@pytest.mark.by_turns(1)
@pytest.mark.slow
def test_output_that_is_lost_is_asked_for_again(cloud: Cloud) -> None:
    calls: list[object] = []
    cloud.emulator.fail(cloud.wire.stream, cut=10**6, times=1 + cloud.wire.before)
    cloud.emulator.fail(cloud.wire.stream, lose=7, times=5)
    with cloud.session(tools={"tick": ""}) as session:
        for number in range(8):
            result = session.execute(f"tick()\nprint({number})", lambda call: calls.append(call))
            assert result.stdout == f"{number}\n", result.stderr
    assert len(calls) == 8


@pytest.mark.by_turns(2)
def test_a_log_that_is_replayed_is_heard_once(cloud: Cloud) -> None:
    calls: list[object] = []
    cloud.emulator.fail(cloud.wire.stream, cut=10**6, times=1 + cloud.wire.before)
    cloud.emulator.fail(cloud.wire.stream, again=9, times=5)
    with cloud.session(tools={"tick": ""}) as session:
        for number in range(8):
            result = session.execute(f"tick()\nprint({number})", lambda call: calls.append(call))
            assert result.stdout == f"{number}\n", result.stderr
    assert len(calls) == 8


def test_messages_that_a_daemon_of_daytona_fills_with_nul_are_read() -> None:
    with provided("daytona") as cloud:
        cloud.emulator.padded = True
        with cloud.session() as session:
            assert session.execute("print('x' * 10_000)", lambda call: None).stdout == "x" * 10_000 + "\n"


def test_a_sandbox_that_vanishes_during_a_cell_costs_that_cell_alone(cloud: Cloud) -> None:
    calls: list[object] = []

    def answer(call: object) -> str:
        calls.append(call)
        return f"answer {len(calls)}"

    text = "c" * 300_000
    with cloud.session() as session:
        session.load_context("context", text)
        session.load_context("rows", [{"a": 1}])
        session.execute("x = llm_query('q')", answer)
        (lost,) = cloud.emulator.live
        threading.Timer(0.5, cloud.emulator.vanish, (lost.name,)).start()
        began = time.monotonic()
        result = session.execute(f"x = None\n{ENDLESS}", answer)
        assert time.monotonic() - began < 15
        assert isinstance(result.error, CellCrashed) and result.resumed and not result.error.session_ended
        assert f"{cloud.name} has ended it" in str(result.error) and "as they were before this cell" in result.stderr
        again = session.execute("print(x, len(context), rows, llm_query('another'))", answer)
        assert again.stdout == f"answer 1 {len(text)} [{{'a': 1}}] answer 2\n", "no call is made twice"
        assert session.report.details["sandbox"] == cloud.emulator.live[0].name != lost.name
    assert len(cloud.emulator.made) == 2


def end_at_the_next_loss(session: RemoteSession, cloud: Cloud) -> None:
    cloud.emulator.vanish(cloud.emulator.live[0].name)
    result = session.execute("print(1)", no_calls)
    assert isinstance(result.error, CellCrashed) and result.error.session_ended and not result.resumed
    assert not session.alive and cloud.emulator.live == []
    with pytest.raises(SessionEnded, match="is gone"):
        session.execute("print(1)", no_calls)


def test_a_session_that_keeps_nothing_ends_with_its_sandbox() -> None:
    policy = limits()
    policy = policy.model_copy(update={"isolation": policy.isolation.model_copy(update={"checkpoints": False})})
    with provided("e2b") as cloud, cloud.session(policy) as session:
        end_at_the_next_loss(session, cloud)


def test_sandboxes_are_lost_as_often_as_workers_may_be() -> None:
    with provided("e2b") as cloud, cloud.session(limits(resumes=1)) as session:
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        assert session.execute("print(1)", no_calls).resumed
        end_at_the_next_loss(session, cloud)


def test_the_cpu_seconds_of_a_session_are_those_of_all_its_sandboxes() -> None:
    changed = {"session_cpu_seconds": 2.0, "cell_cpu_seconds": 2.0, "cell_seconds": 20.0}
    with provided("e2b") as cloud, cloud.session(limits(**changed)) as session:
        session.execute("x = 1", no_calls)
        threading.Timer(1.2, cloud.emulator.vanish, (cloud.emulator.live[0].name,)).start()
        assert session.execute("while True: pass", no_calls).resumed
        result = session.execute("while True: pass", no_calls)
        assert result.error is not None and result.error.session_ended and result.cpu_seconds < 1.5  # the kernel counts whole seconds
        assert getattr(result.error, "limit", "") == "limits.session_cpu_seconds"


def test_a_session_without_cpu_seconds_goes_on_nowhere() -> None:
    with provided("e2b") as cloud, cloud.session(limits(session_cpu_seconds=1.0, cell_seconds=20.0)) as session:
        session.execute("x = 1", no_calls)
        session._cpu = 0.9  # of earlier cells
        threading.Timer(0.5, cloud.emulator.vanish, (cloud.emulator.live[0].name,)).start()
        result = session.execute("while True: pass", no_calls)
        assert result.error is not None and result.error.session_ended and not result.resumed
        assert len(cloud.emulator.made) == 1 and "the session used up limits.session_cpu_seconds = 1 s" in result.stderr


def test_the_time_in_which_a_context_is_sent_again_is_not_that_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    with provided("e2b") as cloud, cloud.session(limits(cell_seconds=2.0)) as session:
        session.load_context("context", "c" * 1000)
        session.execute("x = 1", no_calls)
        upload = BrokerClient.upload

        def slow(*arguments: Any, **options: Any) -> None:
            time.sleep(2.5)
            upload(*arguments, **options)

        monkeypatch.setattr(BrokerClient, "upload", slow)
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        session.execute("print(1)", no_calls)
        assert session.execute("print(x, len(context))", no_calls).stdout == "1 1000\n"


def test_a_context_that_is_sent_when_the_sandbox_is_gone_is_sent_to_another() -> None:
    with provided("e2b") as cloud, cloud.session() as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        session.load_context("context", "c" * 300_000)
        assert session.execute("print(x, len(context))", no_calls).stdout == "1 300000\n"


def test_a_session_that_is_closed_while_it_moves_waits_for_nothing_and_leaves_nothing() -> None:
    with provided("e2b") as cloud, cloud.session() as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        cloud.emulator.fail(cloud.wire.create, slow=3.0)
        moving = threading.Thread(target=session.execute, args=("print(1)", no_calls))
        moving.start()
        assert until(lambda: len(cloud.emulator.recorded(cloud.wire.create)) == 2)
        began = time.monotonic()
        session.close()
        assert time.monotonic() - began < 2.0
        moving.join()
        assert until(lambda: len(cloud.emulator.made) == 2 and not cloud.emulator.live)


def test_a_session_that_is_closed_while_it_waits_for_another_sandbox_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with provided("e2b") as cloud:
        environment = cloud.environment(max_live=1)
        session = environment.session(limits())
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        others: list[RemoteSession] = []
        close = _lease.CloudLease.close

        def overtaken(lease: _lease.CloudLease) -> None:
            close(lease)
            monkeypatch.undo()
            others.append(environment.session(limits()))

        monkeypatch.setattr(_lease.CloudLease, "close", overtaken)
        moving = threading.Thread(target=session.execute, args=("print(1)", no_calls))
        moving.start()
        assert until(lambda: others)
        session.close()
        moving.join()
        others[0].close()
        assert until(lambda: "rlm_secure-lease" not in [each.name for each in threading.enumerate()])
        assert len(cloud.emulator.made) == 2


@pytest.mark.parametrize("keeps", [True, False])
def test_no_context_is_kept_that_no_replay_needs(keeps: bool) -> None:
    policy = limits()
    policy = policy.model_copy(update={"isolation": policy.isolation.model_copy(update={"checkpoints": keeps})})
    with provided("e2b") as cloud, cloud.session(policy) as session:
        session.load_context("context", "c" * 1000)
        (upload,) = session._contexts._all()
        assert upload.data.nbytes == (1000 if keeps else 0)
        session.execute(ENDLESS, no_calls, seconds=0.2)  # stopped at a moment that no replay finds
        assert (upload.data.nbytes, upload.payload, upload.size) == (0, None, 1000)
        assert session.execute("print(len(context))", no_calls).stdout == "1000\n"


def test_a_session_that_loses_its_sandbox_while_it_starts_is_started_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    start = RemoteSession._start

    def lost(session: RemoteSession, lease: Any) -> None:
        start(session, lease)
        monkeypatch.undo()
        cloud.emulator.vanish(cloud.emulator.live[0].name)

    with provided("e2b") as cloud:
        monkeypatch.setattr(RemoteSession, "_start", lost)
        with cloud.session() as session:
            assert session.execute("print(1)", no_calls).stdout == "1\n"
        assert len(cloud.emulator.made) == 2


def test_the_words_of_a_provider_about_a_lost_sandbox_stay_outside(cloud: Cloud) -> None:
    with cloud.session() as session:
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        cloud.emulator.fail(".*", status=403, message="account of secret-team", times=10**6)
        result = session.execute("print(1)", no_calls)
        assert isinstance(result.error, CellCrashed) and "the sandbox is gone" in result.stderr
        with pytest.raises(SessionEnded) as ended:
            session.execute("print(1)", no_calls)
    said = f"{result.stderr} {result.error} {ended.value}"
    assert "secret-team" not in said and "127.0.0.1" not in said


@pytest.mark.by_turns(2)
def test_a_sandbox_that_vanished_while_idle_is_told_on_the_next_cell(cloud: Cloud) -> None:
    with cloud.session() as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.vanish(cloud.emulator.live[0].name)
        began = time.monotonic()
        result = session.execute("x = 2", no_calls)
        assert isinstance(result.error, CellCrashed) and time.monotonic() - began < 15
        assert session.execute("print(x)", no_calls).stdout == "1\n"


def test_a_token_that_expired_ends_the_session_with_a_reason(cloud: Cloud) -> None:
    with cloud.session() as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.fail(cloud.wire.write, status=401, message="invalid access token", times=10**6)
        cloud.emulator.fail(cloud.wire.run, status=401, message="invalid access token", times=10**6)
        began = time.monotonic()
        result = session.execute("print(x)", no_calls, seconds=8)  # in which another sandbox starts, and is refused as well
        assert result.error is not None and result.error.session_ended
        assert time.monotonic() - began < 10
        cloud.emulator.faults.clear()


# -- the end ---------------------------------------------------------------------------------------------


def test_a_passing_fault_of_destruction_is_tried_again(cloud: Cloud) -> None:
    with cloud.session():
        cloud.emulator.fail(cloud.wire.destroy, status=503, times=2)
    assert cloud.emulator.live == []


def test_a_sandbox_that_cannot_be_ended_is_named_in_a_warning(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    session = cloud.session()
    name = cloud.emulator.live[0].name
    cloud.emulator.fail(cloud.wire.destroy, status=403, message="forbidden", times=99)
    with caplog.at_level(logging.WARNING):
        session.close()
    (said,) = [record.message for record in caplog.records if record.name == "rlm_secure.cloud"]
    assert name in said and "sweep" in said and cloud.emulator.key not in said
    cloud.emulator.vanish(name)


def test_ctrl_c_while_a_sandbox_is_ended_does_not_leave_it() -> None:
    with provided("e2b") as cloud:
        session = cloud.session()
        cloud.emulator.fail(cloud.wire.destroy, status=503, times=2)

        def interrupt() -> None:
            until(lambda: cloud.emulator.recorded(cloud.wire.destroy))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.close()
        thread.join()
        assert until(lambda: not cloud.emulator.live)


def test_a_lease_that_gets_no_thread_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with provided("e2b") as cloud:
        environment = cloud.environment(max_live=1)

        def fail(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", fail)
            with pytest.raises(RuntimeError):
                environment.session(limits())
        environment.session(limits(start_seconds=5.0)).close()


def test_closing_twice_and_closing_what_is_gone_are_fine(cloud: Cloud) -> None:
    session = cloud.session()
    cloud.emulator.vanish(cloud.emulator.live[0].name)
    session.close()
    session.close()
    assert not session.alive
