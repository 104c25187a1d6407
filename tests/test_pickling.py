"""What other processes get as a pickle: every exception and every result whole, and of the rest one clear sentence."""

from __future__ import annotations

import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import rlm_secure
from rlm_secure import RLM, AsyncSandbox, AuditLog, Policy, RLMLogger, Sandbox, load_policy
from rlm_secure.agents import ReActAgent
from rlm_secure.errors import BudgetExceededError, CallLimitExceededError, RLMSecureError, ValueUnavailable
from rlm_secure.events import Event
from rlm_secure.logger import Redactor, verify
from rlm_secure.policy import Decision
from tests.loops import Heard, cell, limited, scripted

#: Raised and caught within one file (a lease says what an error of a provider means), or within the guest: no caller
#: sees them.
INTERNAL = ("rlm_secure.guest", "rlm_secure.testing", "rlm_secure._data")
CAUGHT = {"InThread", "KubernetesError", "TooDeep", "Unread"}


def exceptions() -> list[type[BaseException]]:
    """Every exception class of the host with a public name."""
    for module in pkgutil.walk_packages(rlm_secure.__path__, "rlm_secure."):
        if not module.name.startswith(INTERNAL) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {each for each in subclasses(BaseException) if each.__module__.split(".")[0] == "rlm_secure"}
    public = [each for each in found if not each.__module__.startswith(INTERNAL) and each.__name__[0] != "_"]
    assert {each.__name__ for each in public} > CAUGHT
    public = [each for each in public if each.__name__ not in CAUGHT]
    return sorted(public, key=lambda each: (each.__module__, each.__name__))


def subclasses(kind: type) -> Iterator[Any]:
    """The classes below a class."""
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def made(kind: type[BaseException]) -> BaseException:
    """One of a class, each parameter of its own value where that can be."""
    if kind.__init__ in (Exception.__init__, ValueError.__init__, OSError.__init__, RLMSecureError.__init__):
        return kind("what happened")
    values: dict[str, Any] = {}
    for number, each in enumerate(list(inspect.signature(kind).parameters.values()), 3):
        note = str(each.annotation)
        if note == "Decided":
            values[each.name] = Decision(False, "lm-models", "the reason")
        elif note == "CellError":
            values[each.name] = rlm_secure.CellTimeout("late", limit="limits.cell_seconds")
        elif note == "BaseException":
            values[each.name] = ValueError("cause")
        elif "tuple" in note or "Sequence" in note:
            values[each.name] = ("seccomp",)
        elif "int" in note:
            values[each.name] = number
        elif "float" in note:
            values[each.name] = number / 2
        elif "bool" in note:
            values[each.name] = True
        elif each.kind is not each.VAR_POSITIONAL and each.kind is not each.VAR_KEYWORD and each.name != "package":
            values[each.name] = f"the {each.name}"
    return kind(*values.values()) if not keyword_only(kind) else kind(**values)


def keyword_only(kind: type) -> bool:
    """Whether a class takes arguments by their names."""
    return any(each.kind is each.KEYWORD_ONLY for each in inspect.signature(kind).parameters.values())


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}"[11:])
def test_every_exception_arrives_with_its_text_and_its_attributes(kind: type[BaseException]) -> None:
    error = made(kind)
    error.__cause__ = ValueError("sk-a-secret-of-a-provider")
    error.add_note("a note")
    sent = pickle.dumps(error)
    assert b"sk-a-secret" not in sent
    again = pickle.loads(sent)
    assert type(again) is kind
    assert (str(again), again.args) == (str(error), error.args)
    assert repr(vars(again)) == repr(vars(error))
    assert vars(again)["__notes__"] == ["a note"]
    if isinstance(error, ImportError):
        assert again.msg == error.msg


def exceed(number: int) -> int:
    """What a worker process runs: a limit that ends its work."""
    if number == 2:
        raise CallLimitExceededError(2, 2, 0.5, 1.0, "the answer so far")
    if number == 3:
        raise BudgetExceededError(2.0, 1.0)
    return number


def test_a_pool_of_processes_hands_over_a_limit_and_does_not_hang() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answers = [pool.apply_async(exceed, (number,)) for number in (1, 2, 3)]
        assert answers[0].get(60) == 1
        with pytest.raises(CallLimitExceededError, match="2 of 2 model calls") as limit:
            answers[1].get(60)
        assert (limit.value.calls, limit.value.partial_answer) == (2, "the answer so far")
        with pytest.raises(BudgetExceededError):
            answers[2].get(60)


# -- results and configurations ------------------------------------------------------------------------------


class Invoice(BaseModel):
    """An answer."""

    total: int


def tool(number: int) -> int:
    """A tool that another process finds by its name."""
    return number + 1


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal; errors have no equality of their own."""
    if isinstance(one, BaseException):
        return type(one) is type(other) and str(one) == str(other) and repr(vars(one)) == repr(vars(other))
    if is_dataclass(one):
        named = [each.name for each in fields(one)]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in named)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one).__eq__ is object.__eq__:
        return type(one) is type(other) and repr(one) == repr(other)
    return bool(one == other)


def test_results_items_and_events_of_runs_arrive_whole() -> None:
    heard = Heard()
    turns = [cell("x = [1, 2]\nprint(llm_query('q'), 1 / 0)"), cell("final_answer({'total': 3})")]
    rlm = scripted(turns, "r", on_event=heard, logger=RLMLogger(), answer_schema=Invoice, policy=limited(calls=4))
    items = rlm.batch(["a context", "another"], concurrency=1)
    assert items[0].completion.parsed == Invoice(total=3)
    assert isinstance(items[1].error, CallLimitExceededError)
    assert len({type(event) for event in heard}) > 8
    for each in (*items, items[0].completion.metadata, *heard):
        again = pickle.loads(pickle.dumps(each))
        if isinstance(each, Event) or is_dataclass(each):
            assert same(each, again), each
    assert pickle.loads(pickle.dumps(items[0].completion)).to_dict() == items[0].completion.to_dict()


def test_cell_results_reports_and_policies_arrive_whole() -> None:
    with Sandbox() as sandbox:
        sandbox.run("far = {'a': 1}")
        result = sandbox.run("near = (1, {2})\nf = lambda: 1\n1 / 0")
        report = sandbox.report
        again = pickle.loads(pickle.dumps(result))
        assert (again.values["near"], again.stderr) == ((1, {2}), result.stderr)
        assert isinstance(again.values.refused["f"], ValueUnavailable)
        assert "far" in again.values
        with pytest.raises(ValueUnavailable, match="read it in the process of its session"):
            again.values["far"]
        assert result.values["far"] == {"a": 1}
    assert pickle.loads(pickle.dumps(report)) == report
    for policy in (load_policy("strict"), Policy(name="mine", lm={"calls": 3})):
        assert pickle.loads(pickle.dumps(policy)) == policy


def test_an_rlm_is_made_again_from_its_configuration(tmp_path: Path) -> None:
    rlm = scripted(
        [cell("final_answer({'total': grown(41)})")],
        policy=limited(calls=4),
        answer_schema=TypeAdapter(Invoice),
        custom_tools={"grown": {"tool": tool, "description": "adds one"}},
        prices={"m": (1, 2)},
        windows={"scripted": 5_000_000},
        logger=RLMLogger(tmp_path / "logs"),
        audit=AuditLog(tmp_path / "audit.jsonl", key=b"k" * 32),
        max_iterations=7,
        verbose=False,
    )
    again = pickle.loads(pickle.dumps(rlm))
    completion = again.completion("a context")
    assert (completion.parsed, again.max_iterations, again.policy) == (Invoice(total=42), 7, rlm.policy)
    assert len(list((tmp_path / "logs").iterdir())) == 1
    assert verify(tmp_path / "audit.jsonl", key=b"k" * 32).lines == 2
    assert rlm.completion("a context").parsed == Invoice(total=42)  # its own script, its own log, the same chain
    assert len(list((tmp_path / "logs").iterdir())) == 2
    assert verify(tmp_path / "audit.jsonl", key=b"k" * 32).lines == 4
    assert type(copy.copy(rlm)) is RLM


def test_secrets_of_the_environment_stay_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-1234")
    redactor = Redactor([r"PIN \d+"])
    redactor.learn(["told-by-the-user-5678"])
    sent = pickle.dumps(redactor)
    assert b"sk-of-the-environment-1234" not in sent
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-readers-own-9999")
    text = pickle.loads(sent).text("told-by-the-user-5678, PIN 77 and sk-of-the-readers-own-9999")
    assert not any(each in text for each in ("told-by", "77", "9999"))


class Held:
    """An open client: it has a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"on_event": lambda event: None}, r"its on_event is '.*<lambda>'"),
        ({"on_iteration_start": Held().lock.acquire}, "its on_iteration_start is or holds a lock"),
        ({"backend_kwargs": {"turns": ["x", lambda messages: "x"]}}, r"its backend_kwargs\['turns'\]\[1\] is '.*lambda"),
        ({"backend_kwargs": {"turns": ["x"], "client": Held()}}, r"its backend_kwargs\['client'\] is or holds a lock"),
        ({"custom_tools": {"f": lambda number: number}}, r"its custom_tools\['f'\] is '.*lambda"),
        ({"answer_schema": TypeAdapter(type("Local", (BaseModel,), {}))}, "its answer_schema is"),
    ],
)
def test_what_an_rlm_cannot_take_along_is_named(arguments: dict[str, Any], named: str) -> None:
    rlm = RLM(backend="scripted", **{"backend_kwargs": {"turns": ["FINAL(x)"]}, **arguments})
    with pytest.raises(TypeError, match=f"^RLM cannot be pickled: {named}.*; .*or leave it out$"):
        pickle.dumps(rlm)


def test_a_live_session_says_what_to_send_instead() -> None:
    with Sandbox() as sandbox:
        for send in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError, match="^a Sandbox cannot be pickled: .*create a sandbox there$"):
                send(sandbox)
        with sandbox.snapshot() as snapshot, pytest.raises(TypeError, match="Snapshot cannot be pickled"):
            pickle.dumps(snapshot)
    with pytest.raises(TypeError, match="AsyncSandbox cannot be pickled: .*create a sandbox there"):
        pickle.dumps(AsyncSandbox())
    with pytest.raises(TypeError, match="ReActAgent cannot be pickled: .*and create it there"):
        pickle.dumps(ReActAgent(backend="scripted"))
