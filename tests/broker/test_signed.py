"""A supervisor or a worker that lies within the rules: what it says stays within the policy, and typed."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tests.effort
from rlm_secure.broker import protocol, signed
from rlm_secure.environments.cloud.e2b import E2BProvider
from rlm_secure.environments.cloud.lease import CloudLease
from rlm_secure.environments.cloud.provider import Made
from rlm_secure.environments.docker import DockerLease, hardening
from rlm_secure.environments.remote import RemoteSession, contexts, supervisor, worker
from rlm_secure.errors import ProtocolViolation, RLMSecureError
from rlm_secure.guarantees import Level, Wall
from rlm_secure.inert import inert_line
from rlm_secure.policy import load_policy
from tests.broker import lying
from tests.broker.support import policy


def answering(**fields: Any) -> lying.Change:
    """Each cell's result has these fields."""

    def change(route: str, asked: Mapping[str, Any], answer: Any) -> Any:
        if route == "POST /execute" and asked["op"] == "exec":
            frame = supervisor.frame(lying.done(**fields), asked["nonce"])
            return {**answer, "pending": [frame]}
        return answer

    supervisor = lying.Supervisor()
    return change


# -- what the guest bounds is bounded again ------------------------------------------------------------------


def test_no_supervisor_hands_over_more_than_the_policy_grants() -> None:
    bounded = policy(stdout_bytes=1000, value_bytes=100, result_bytes=1 << 20)
    values = {"x": {"type": "str", "value": "v" * 1000}}
    text = "\u00e9" * 20_000
    said = answering(stdout=text, stderr=text, variables=values, answer={"text": "t", "whole": ["v"] * 100_000})
    with lying.session(bounded, said) as session:
        result = session.execute("1", None)
    assert (len(result.stdout.encode()), len(result.stderr.encode())) == (1000, 1000)
    assert not result.variables["x"].has_value
    assert result.answer is not None and result.answer.value is None
    assert result.dropped_bytes > 2 * 39_000 + 1000 + 100_000


@pytest.mark.parametrize(
    "fields",
    [
        {"variables": {f"v{number}": {"type": "int"} for number in range(257)}},
        {"variables": {"x": {"type": "int", "repr": "\u00e9" * 51}}},
        {"stdout": "x" * 5000},
    ],
    ids=["variables", "repr", "frame"],
)
def test_what_no_honest_worker_says_ends_the_session(fields: Mapping[str, Any]) -> None:
    bounded = policy(value_bytes=100, result_bytes=4096) if "variables" not in fields else policy(value_bytes=100)
    with lying.session(bounded, answering(**fields)) as session:
        with pytest.raises(ProtocolViolation):
            session.execute("1", None)
        assert not session.alive


# -- one decoder -----------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 2**63, 1e308, -0.0, 10**4299, "", "\ud800", "\x1b[2J", "full", "\u00b2", "max"])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
ENDED = {"id": "1", "end": {"status": 9, "cpu": 1.0, "oom_kills": 0, "said": "x"}, "stopped": "cpu"}
DIED = {"id": "1", "end": {"status": 9, "cpu": 0.1, "oom_kills": 0, "said": None}}
ASKED = {"id": "q1", "request": {"type": "single", "prompt": "p", "model": "m"}}
FRAME = {"id": "1", "frame": "{}", "cpu": 1.0, "stopped": "interrupt"}
SAID: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "started": (signed.started, {"walls": lying.WALLS, "details": {**lying.DETAILS, "around": lying.AROUND}}),
    "frame": (signed.events, {"worker": "idle", "pending": [FRAME], "refused": 0}),
    "ended": (signed.events, {"worker": "none", "pending": [ENDED]}),
    "asked": (signed.events, {"worker": "busy", "pending": [FRAME, ASKED, ASKED]}),
    "received": (signed.received, {"received": 4}),
    "refused": (signed.refused, {"refused": {"signature": 3, "busy": 1}}),
    "refusal": (signed.refusal, {"error": "no", "rule": "busy"}),
    "ready": (protocol.ready, {"op": "ready", "walls": lying.WALLS, "details": {}}),
    "machine": (signed.machine, {"machine": "x86_64"}),
    "listening": (signed.listening, {"listening": ["127.0.0.1", 8080]}),
}


@st.composite
def changed(draw: st.DrawFn, valid: Any) -> Any:
    """`valid`, JSON, with any part of it replaced by any JSON, or left out."""
    message = copy.deepcopy(valid)
    place = message
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            break
        place = place[key]
    if draw(st.integers(0, 4)) == 0:
        del place[key]
    else:
        place[key] = draw(JSON)
    return message


def parts(value: Any) -> Iterator[Any]:
    """Everything in a decoded value: nothing of it can be changed."""
    if dataclasses.is_dataclass(value):
        assert type(value).__dataclass_params__.frozen  # type: ignore[attr-defined]
        for each in dataclasses.fields(value):
            yield from parts(getattr(value, each.name))
    elif isinstance(value, Mapping):
        for each in value.items():
            yield from parts(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from parts(each)
    else:
        yield value


@pytest.mark.parametrize("path", ["\ud800", "\x1b[2J", "/tmp/a\nb", "x" * 4097])
def test_a_path_of_a_supervisor_is_one_that_can_be_shown(path: str) -> None:
    assert signed.listening({"listening": path}) is None
    assert signed.listening({"listening": "/tmp/\u00e9 b"}) == "/tmp/\u00e9 b"


@pytest.mark.parametrize("name", SAID)
@given(data=st.data())
def test_any_json_in_any_field_is_a_value_in_its_range_or_a_violation(name: str, data: st.DataObject) -> None:
    decode, valid = SAID[name]
    try:
        found = decode(data.draw(changed(valid)))
    except ProtocolViolation as violation:
        assert inert_line(str(violation)) == str(violation)
        return
    for part in parts(found):
        assert part is None or isinstance(part, str | bytes | bool | int | float), part
        if isinstance(part, int | float):
            assert 0 <= part < 2**63
        elif isinstance(part, str):
            assert len(part) <= 4096
            part.encode("utf-8")
            assert name in ("asked", "frame", "ended", "listening") or inert_line(part) == part


def test_each_answer_as_it_is_meant_is_read_whole() -> None:
    found = signed.started(SAID["started"][1])
    assert (found.walls["landlock"], found.details) == (("full", "ABI 7"), lying.DETAILS)
    around = found.around
    assert (around.uid, around.interfaces, around.connect) == (65533, ("lo",), {"1.1.1.1:53": "ENETUNREACH"})
    assert (around.memory_bytes, around.processes) == (268435456, 24)
    assert around.limits == {"fsize": 4096, "nofile": 256}
    assert (around.unmasked, around.writable, around.uids) == ((), (), (65533,) * 3)
    assert around.tried["open a file"] == "EACCES"
    assert None not in (around.uid, around.capabilities, around.bounding, around.no_new_privs, around.seccomp, around.kernel)
    events = signed.events(SAID["asked"][1])
    assert (events.worker, events.frame, len(events.asked)) == ("busy", signed.Frame("1", b"{}", "interrupt", 1.0), 2)
    assert signed.events(SAID["ended"][1]).ended == signed.Ended(9, 1.0, 0, "x", "cpu")
    assert signed.refused(SAID["refused"][1]) == 4
    assert (signed.machine({"machine": "x86_64"}), signed.listening({"listening": ["::", 80]})) == ("x86_64", 80)


@pytest.mark.parametrize(
    "message",
    [
        {"worker": "idle", "pending": [FRAME, FRAME]},
        {"worker": "idle", "pending": [{**FRAME, "stopped": "bored"}]},
        {"worker": "idle", "pending": [ASKED] * (signed.MAX_EVENTS + 1)},
        {"worker": ["idle"], "pending": []},
    ],
    ids=["two frames", "an unknown reason", "too many", "no state"],
)
def test_events_beyond_what_a_supervisor_says_are_a_violation(message: Mapping[str, Any]) -> None:
    with pytest.raises(ProtocolViolation):
        signed.events(message)


class Docker(DockerLease):
    """What judges walls of a container, without one."""

    def __init__(self) -> None:
        self._policy = load_policy("strict")
        self._has = hardening.Offered(True, "docker-default", True)
        self._taken = hardening.Taken({"blkio_weight": 10}, dict.fromkeys(hardening.LIMITED, 4096), ())
        self._engine_kernel = "6.1"
        self._memory = 1 << 30
        self._id = None

    def __del__(self) -> None:
        pass


@given(data=st.data())
@example(data={**lying.AROUND, "connect": {"a": []}})
@example(data={**lying.AROUND, "interfaces": [[]]})
@example(data={**lying.AROUND, "memory_max": "\u00b2"})
@example(data={**lying.AROUND, "memory_max": "9" * 5000, "pids_max": "1"})
def test_whatever_is_around_a_supervisor_its_walls_are_judged(data: Any) -> None:
    around = signed.around(data if isinstance(data, dict) else data.draw(changed(lying.AROUND)))
    docker, cloud = Docker(), CloudLease.__new__(CloudLease)
    cloud.environment = "modal"
    cloud._made = Made("one", 1 << 30, {"region": "here"})
    cloud._provider = E2BProvider("template", "root", {"api_key": "key"})
    for status in (*docker.walls(around), *cloud.walls(around), *supervisor.walls(around)):
        assert inert_line(status.evidence) == status.evidence
        assert len(status.evidence) < 2000


# -- whole sessions: the start, a cell, and the recovery after its worker's death --------------------------------

ROUTES = ["POST /session", "DELETE /session", "POST /execute", "PUT /context", "POST /interrupt"]


@given(data=st.data())
@settings(max_examples=tests.effort.examples(300))
def test_a_session_ends_typed_whatever_one_answer_says(data: st.DataObject) -> None:
    route, turn = data.draw(st.sampled_from(ROUTES)), data.draw(st.integers(1, 4))
    heard = 0

    def change(at: str, asked: Mapping[str, Any], answer: Any) -> Any:
        nonlocal heard
        if at == "POST /execute" and asked.get("code") == "die":
            return {**answer, "worker": "none", "pending": [DIED]}
        heard += at == route
        if at == route and heard == turn:
            return data.draw(changed(answer))
        return answer

    threads = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", threads.append)
        try:
            with lying.session(policy(cell_seconds=0.3, grace_seconds=0.1, start_seconds=0.3), change) as session:
                session.load_context("context", "x")
                session.interrupt()
                for code in ("1", "die", "1"):
                    result = session.execute(code, None)
                    assert code != "die" or result.resumed is not result.error.session_ended
        except RLMSecureError:
            pass
    assert threads == []


def dying(change: Callable[[str, int, Any], Any] = lambda route, starts, answer: answer) -> lying.Change:
    """The cell "die" ends its worker; `change` is told how many workers were started."""
    starts = 0

    def changing(route: str, asked: Mapping[str, Any], answer: Any) -> Any:
        nonlocal starts
        starts += route == "POST /session"
        if route == "POST /execute" and asked.get("code") == "die":
            return {**answer, "worker": "none", "pending": [DIED]}
        return change(route, starts, answer)

    return changing


def test_a_recovery_that_is_clear_is_one() -> None:
    with lying.session(policy(), dying()) as session:
        assert session.execute("die", None).resumed
        assert session.execute("1", None).error is None


@pytest.mark.parametrize("route", ["DELETE /session", "POST /session", "POST /execute"])
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"walls": [], "details": {}},
        {"worker": "idle", "pending": [{"id": "1"}]},
        (409, {"rule": "busy"}),
        b"[]",
        b"{",
    ],
    ids=repr,
)
def test_whatever_else_than_a_clear_recovery_is_none(route: str, said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loud: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", loud.append)
    if route == "DELETE /session" and isinstance(said, dict):
        said = {"status": "ok", "refused": []}
    change = dying(lambda at, starts, answer: said if at == route and (starts > 1 or at[0] == "D") else answer)
    with lying.session(policy(), change) as session:
        result = session.execute("die", None)
        assert not result.resumed and result.error is not None and result.error.session_ended
        assert not session.alive
    assert loud == []


def test_an_error_of_no_kind_in_a_recovery_is_not_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    loud: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", loud.append)
    with lying.session(policy(), dying()) as session:
        monkeypatch.setattr(session, "_start", lambda lease: [][0])
        result = session.execute("die", None)
    assert not result.resumed and "IndexError" in result.stderr
    assert loud == []


# -- walls are believed once ---------------------------------------------------------------------------------


def saying(first: str, later: str) -> Callable[[str, int, Any], Any]:
    """The zygote says this of Landlock, and that once there was untrusted code."""

    def change(route: str, starts: int, answer: Any) -> Any:
        if route != "POST /session":
            return answer
        level = first if starts == 1 else later
        details = {**answer["details"], "kernel": f"start {starts}"}
        return {**answer, "walls": {**lying.WALLS, "landlock": [level, f"start {starts}"]}, "details": details}

    return change


def test_no_wall_is_raised_by_what_is_said_after_untrusted_code_has_run() -> None:
    with lying.session(policy(), dying(saying("none", "full"))) as session:
        before = session.report
        assert session.execute("die", None).resumed
        assert session.report == before
        assert session.report[Wall.LANDLOCK].level is Level.NONE
        assert session.report.details["kernel"] == "start 1"


def test_a_wall_that_is_taken_back_is_lower_and_marked() -> None:
    with lying.session(policy(), dying(saying("full", "none"))) as session:
        assert session.execute("die", None).resumed
        status = session.report[Wall.LANDLOCK]
        assert status.level is Level.NONE
        assert "after untrusted code had run: start 2" in status.evidence
    lease = lying.LyingLease(policy(), lying.Supervisor(dying(saying("full", "none"))))
    with RemoteSession(lease, policy(), required=(Wall.LANDLOCK,)) as session:
        result = session.execute("die", None)
        assert not result.resumed and "landlock" in result.stderr
        assert not session.alive


def test_the_next_session_of_a_sandbox_has_the_walls_of_its_first() -> None:
    lease = lying.LyingLease(policy(), lying.Supervisor(dying(saying("none", "full"))))
    for _ in range(2):
        with RemoteSession(lease, policy(), required=()) as session:
            assert session.report[Wall.LANDLOCK].level is Level.NONE
    assert len([route for route in lease.supervisor.asked if route == "POST /session"]) == 2


# -- outside of a cell ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [{"received": 10**400}, {"received": True}, {}, b"[]", b"\xff"], ids=repr)
def test_an_odd_answer_to_a_context_ends_its_session(said: Any) -> None:
    with lying.session(policy(), lambda route, asked, answer: said if route == "PUT /context" else answer) as session:
        with pytest.raises(ProtocolViolation):
            session.load_context("context", "x")
        assert not session.alive


def test_an_odd_answer_to_an_interrupt_ends_the_sandbox_and_raises_nothing() -> None:
    with lying.session(policy(), lambda route, asked, answer: b"{" if route == "POST /interrupt" else answer) as session:
        assert session.execute("1", None).error is None
        session.interrupt()
        assert session._lease is not None and session._lease.killed


def test_a_name_that_does_not_print_is_no_fact() -> None:
    names = {"\x1b[2J": 1, "a\nb": 1, "\u202e": 1, "n" * 41: 1, "": 1, "core": 0}
    around = signed.around({"limits": names, "supervisor": dict.fromkeys(names, "EPERM")})
    assert (around.limits, around.tried) == ({"core": 0}, {"core": "EPERM"})


def test_the_hosts_own_walls_are_those_of_each_session() -> None:
    lease = lying.LyingLease(policy(), lying.Supervisor(dying(saying("full", "full"))))
    for screen in (False, True, False):
        with RemoteSession(lease, policy(), required=(), screen=screen) as session:
            assert session.report[Wall.LANGUAGE].enforced is screen


def test_a_supervisor_that_drops_contexts_slowly_holds_up_no_other(monkeypatch) -> None:
    dropped: list[str] = []

    def slowly(route: str, asked: Any, answer: dict[str, Any]) -> Any:
        if route == "DELETE /context":
            dropped.append(route)
            time.sleep(0.2)
        return answer

    monkeypatch.setattr(contexts, "_DROP_SECONDS", 0.5)
    with lying.session(policy(), slowly) as opened:
        for number in range(20):
            opened.load_context(f"context_{number}", "text")
        assert dropped == []
        opened._log = None  # none of them is needed any more
        opened.load_context("another", "text")
        assert 1 <= len(dropped) <= 8  # before and after it
        held = len(opened._contexts._held)
        assert held == 21 - len(dropped)


@pytest.mark.parametrize("ask", [lambda opened: opened.assign("x", 1), lambda opened: opened.read_text("x")])
def test_calls_that_nobody_is_asked_for_are_answered_with_pauses(ask: Callable[[Any], Any], monkeypatch) -> None:
    asked: list[str] = []

    def calling(route: str, _: Any, answer: dict[str, Any]) -> Any:
        if begun and "pending" in answer:
            asked.append(route)
            event = {"id": "q1", "request": {"type": "single", "prompt": "x"}}
            return {**answer, "worker": "busy", "pending": [event]}
        return answer

    begun: list[bool] = []
    monkeypatch.setattr(worker, "KILL_SECONDS", 0.5)
    with lying.session(policy(start_seconds=0.5, cell_seconds=0.5, grace_seconds=0.2), calling) as opened:
        begun.append(True)
        with contextlib.suppress(RLMSecureError):
            ask(opened)
        assert not opened.alive
    assert len(asked) <= 60
