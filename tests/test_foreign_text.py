"""Text from a sandbox, a supervisor, a provider or an engine in an error, a wall or a log line prints, and no more."""

from __future__ import annotations

import ast
import inspect
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

import rlm_secure
from rlm_secure import errors
from rlm_secure.broker.client import Declined, Lost
from rlm_secure.broker.protocol import CellResult, event
from rlm_secure.broker.signed import Ended
from rlm_secure.environments.docker import engine
from rlm_secure.environments.remote import log_refusals
from rlm_secure.environments.remote.worker import verdict
from rlm_secure.environments.replay import NotReplayed
from rlm_secure.errors import CallFailed, CellError, EnvironmentUnavailable, RLMSecureError, WallViolation
from rlm_secure.events import tell
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.inert import inert_line
from rlm_secure.loggers import LOGGERS, logger
from rlm_secure.policy import Decision, load_policy
from tests.broker import lying
from tests.broker.support import policy

#: An escape, C1, NUL, line ends, a tab, text that runs backwards, text that shows nothing, half of a pair.
ACTS = "\x1b]0;x\x07 \x9b2J \x00 one\ntwo\rthree\u2028four\tfive \u202ereversed\u2066 hid\u200bden \U000e0041 \ud800"
PACKAGE = Path(rlm_secure.__file__).parent


def prints(text: str) -> bool:
    """Whether printing `text` writes one line, and does nothing else."""
    text.encode("utf-8")
    return text == inert_line(text) and "\n" not in text


def kinds(base: type[RLMSecureError] = RLMSecureError) -> Iterator[type[RLMSecureError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def made(kind: type[RLMSecureError]) -> RLMSecureError:
    """One of that kind, with hostile text wherever it takes text."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        annotated = str(parameter.annotation)
        if parameter.kind is parameter.VAR_POSITIONAL:
            given.append(ACTS)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named |= {parameter.name: ACTS} if "str" in annotated and "tuple" not in annotated else {}
            named |= {parameter.name: 1} if annotated == "int" and parameter.default is parameter.empty else {}
        else:
            decision = Decision(False, "rule", ACTS)
            value = ACTS if "str" in annotated else decision if "Decided" in annotated else 1
            given.append(value)
    return kind(*given, **named)


OURS = sorted({kind for kind in kinds() if kind.__module__.startswith("rlm_secure")}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_no_error_of_this_library_has_a_message_that_acts(kind: type[RLMSecureError]) -> None:
    error = made(kind)
    if isinstance(error, CallFailed):  # a cell's, and raised there as it was said
        assert str(error) == ACTS
    else:
        assert prints(str(error)), str(error)


def test_the_errors_that_were_looked_at_are_all() -> None:
    named = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, RLMSecureError)}
    assert {kind.__name__ for kind in OURS} >= named - {"RLMSecureError"} | {"Lost", "Declined", "NotThere"}


def raised(change: lying.Change, *use: Callable[[Any], Any]) -> RLMSecureError:
    """What a session raises, or its result holds, in the sandbox of a supervisor that says something."""
    try:
        with lying.session(policy(start_seconds=1.0), change) as session:
            for step in use:
                step(session)
            error = session.execute("1", None).error
            assert error is not None
            return error
    except RLMSecureError as caught:
        return caught


def refusing(route: str) -> lying.Change:
    return lambda at, asked, answer: (409, {"error": ACTS, "rule": "busy"}) if at == route else answer


def ending(**fields: Any) -> lying.Change:
    def change(route: str, asked: Any, answer: Any) -> Any:
        if route == "POST /execute" and asked["op"] == "exec":
            return {**answer, "worker": "none", "pending": [{"id": "9", "end": fields}]}
        return answer

    return change


def failing(kind: str) -> lying.Change:
    def change(route: str, asked: Any, answer: Any) -> Any:
        if route == "POST /execute" and asked["op"] == "exec":
            error = {"kind": kind, "message": ACTS, "rule": ACTS}
            return {**answer, "pending": [supervisor.frame(lying.done(error=error), asked["nonce"])]}
        return answer

    supervisor = lying.Supervisor()
    return change


def unhandled_engine() -> RLMSecureError:
    with pytest.raises(EnvironmentUnavailable) as caught, engine.explained("create a container"):
        raise docker.errors.APIError("no", explanation=ACTS)
    return caught.value


SAID: dict[str, Callable[[], RLMSecureError]] = {
    "refused at its start": lambda: raised(refusing("POST /session")),
    "a context refused": lambda: raised(refusing("PUT /context"), lambda session: session.load_context("c", "x")),
    "what a worker did": lambda: raised(ending(status=9, cpu=0, oom_kills=0, said=ACTS)),
    "a verdict": lambda: verdict(Ended(9, 0.0, 0, ACTS, None), load_policy("strict").limits),
    **{kind: lambda kind=kind: raised(failing(kind)) for kind in ("exception", "refused", "memory")},
    "an engine": unhandled_engine,
    "the way": lambda: Lost(f"the broker does not answer ({ACTS})"),
    "a refusal": lambda: Declined(409, "busy", f"the broker refused: {ACTS}"),
}


@pytest.mark.parametrize("said", SAID, ids=str)
def test_what_a_sandbox_says_prints_in_the_error_that_it_ends_in(said: str) -> None:
    error = SAID[said]()
    assert "reversed" in str(error) and prints(str(error)), str(error)
    if isinstance(error, CellError):
        assert prints(error.rule or "")


def test_what_a_lost_sandbox_said_is_logged_and_prints(caplog: pytest.LogCaptureFixture) -> None:
    assert str(raised(refusing("POST /execute"))) == "the sandbox is gone: it lies", "a cell reads the error"
    (record,) = (each for each in caplog.records if "is gone" in each.msg)
    assert "reversed" in record.getMessage() and prints(record.getMessage())


def test_stderr_of_a_cell_stays_as_it_is() -> None:
    done = lying.done(stdout=ACTS.replace("\ud800", ""), stderr="\x1b[1m\n")
    result = event(json.loads(json.dumps(done)), value_bytes=9, stdout_bytes=999, result_bytes=999)
    assert isinstance(result, CellResult)
    assert (result.stdout, result.stderr) == (ACTS.replace("\ud800", ""), "\x1b[1m\n")


def test_the_evidence_of_a_wall_prints() -> None:
    assert prints(WallStatus(Wall.SECCOMP, Level.FULL, ACTS).evidence)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_a_line_of_the_log_prints(caplog: pytest.LogCaptureFixture) -> None:
    log_refusals(ACTS, 3)
    for name in LOGGERS:
        log = logger(name)
        log.warning("a sandbox said %s, and %s", ACTS, WallViolation(ACTS))
        log.warning("%s: %d of %r", OSError(ACTS), 1, ("one", 2))
        log.warning("nothing but %s", Unspeakable())
        log.warning(ACTS)
        log.warning("%(said)s, %(times)d times", {"said": ACTS, "times": 2})
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1 + 5 * len(LOGGERS)
    assert [message for message in messages if not prints(message)] == []
    assert "of ('one', 2)" in messages[2] and "Unspeakable" in messages[3]


def test_a_traceback_writes_no_record(caplog: pytest.LogCaptureFixture) -> None:
    def listener(_: object) -> None:
        raise ValueError(f"unexpected output: {ACTS}\nCRITICAL rlm_secure.audit a forged line")

    tell(listener, None)
    text = logging.Formatter("%(levelname)s %(message)s").format(caplog.records[0])
    lines = text.split("\n")
    assert lines[0] == "ERROR a callback raised; the run goes on"
    assert all(line.startswith("  ") and prints(line) for line in lines[1:])
    assert any("a forged line" in line for line in lines)


def test_every_logger_of_this_library_is_one_of_those() -> None:
    found = {
        (ast.unparse(node.func), node.args[0].value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("getLogger", "logger")) and node.args
        if isinstance(node.args[0], ast.Constant)
    }
    assert {name for _, name in found if name.startswith("rlm_secure")} == set(LOGGERS)
    # What logging has may not have the filter yet.
    assert not [name for function, name in found if function == "logging.getLogger" and name.startswith("rlm_secure")]
    with pytest.raises(ValueError, match="name it in LOGGERS first"):
        logger("rlm_secure.another")


def test_a_cell_reads_the_messages_of_classes_that_name_nothing_of_the_host() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, RLMSecureError)}
    assert {name for name, kind in kinds.items() if not kind.for_cells} == {
        "RLMSecureError", "PolicyError", "EnvironmentUnavailable", "EnforcementError", "AuditLogError", "LogError",
        "ContextError", "TableError",
    }  # fmt: skip
    assert errors.told_to_cells(NotReplayed("its cells")) == "its cells"
    assert errors.told_to_cells(Lost("api.provider.example")) == "Lost"
    assert errors.told_to_cells(ValueError("/home/me")) == "ValueError"
    assert errors.told_to_cells(CallFailed("words")) == "words"
