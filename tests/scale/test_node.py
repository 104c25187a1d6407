"""One node without a cluster: what it is told twice it does once, and what was not confirmed it says again."""

from __future__ import annotations

import json
import pickle
import re
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from rlm_secure import RLM, CancellationError, Limits, Policy, Refused, RLMSecureError, RunCompleted
from rlm_secure.environments.context import flatten
from rlm_secure.policy import Gate
from rlm_secure.rlm.batch import Item
from rlm_secure.rlm.budget import Allowance, Spent
from rlm_secure.scale import node as module
from rlm_secure.scale.leases import Amount
from rlm_secure.scale.node import Examined, Node, NodeOrder
from rlm_secure.types import QueryMetadata, not_kept
from tests.loops import cell, scripted

ASKS = [cell("final_answer(context)")]


def order(**kwargs: Any) -> NodeOrder:
    named = {"slots": 1, "calls": 4, "children": 1, **kwargs}
    return NodeOrder(Allowance(100, 10**6, 1.0, 60), deadline=time.time() + 60, **named)


class Driver:
    """What a driver does, in this process; each message is told twice."""

    def __init__(self, rlm: RLM, **kwargs: Any) -> None:
        self.node = Node()
        self.examined = self.node.begin(rlm, order(**kwargs))
        self.number = 0
        self.confirmed = 0
        self.heard = 0
        self.messages: list[tuple[str, Any]] = []

    def tell(self, kind: str, *content: Any) -> None:
        self.number += 1
        for _ in range(2):
            self.node.tell([(self.number, (kind, content))])

    def poll(self, answer: Any = None) -> None:
        messages, self.heard, _ = answer or self.node.poll(self.confirmed, 10)
        for number, message in messages:
            if number > self.confirmed:
                self.confirmed = number
                self.messages.append(message)
                if message[0] == "need":
                    self.tell("lease", message[1].kind, Amount(5, 10_000, 0.1), Spent())

    def items(self, count: int) -> list[Item]:
        """The items that came, at least so many."""
        while len(found := [content[0] for kind, content in self.messages if kind == "item"]) < count:
            self.poll()
        return found

    def end(self) -> None:
        self.poll(self.node.end(self.confirmed))


def test_each_message_counts_once_and_is_repeated_until_it_is_confirmed() -> None:
    driver = Driver(scripted(ASKS))
    assert driver.examined.report is not None
    assert driver.examined.missing == ()
    driver.tell("run", 0, "a", None, None)
    driver.tell("run", 1, "b", None, None)
    assert [item.response for item in driver.items(2)] == ["a", "b"]
    unread, heard, account = driver.node.poll(driver.confirmed, 0)
    assert (unread, heard) == ([], driver.number)
    assert (account.spent.calls, account.got.calls) == (2, 5 * (driver.number - 2))
    assert account.left == Amount()  # nothing runs: it gave back
    driver.tell("run", 2, "c", None, None)
    said = driver.node.poll(driver.confirmed, 10)[0]
    assert said
    assert driver.node.poll(driver.confirmed, 0)[0][: len(said)] == said
    assert driver.items(3)[2].response == "c"
    driver.end()


def test_messages_may_arrive_in_any_order() -> None:
    driver = Driver(scripted(ASKS))
    driver.node.tell([(2, ("run", (1, "b", None, None)))])
    assert driver.node.poll(0, 0)[1] == 0
    driver.node.tell([(1, ("run", (0, "a", None, None))), (2, ("run", (1, "b", None, None)))])
    driver.number = 2
    assert sorted(item.response for item in driver.items(2)) == ["a", "b"]
    driver.end()
    assert driver.heard == driver.number


def test_a_context_that_prompts_share_is_fetched_once() -> None:
    fetched: list[str] = []

    def fetch(place: str) -> str:
        fetched.append(place)
        return f"at {place}"

    driver = Driver(scripted(ASKS))
    driver.node._fetch = fetch
    for index, place in enumerate("xxyzuvx"):
        driver.tell("run", index, ord(place), place, None)
    assert [item.response for item in driver.items(7)] == [f"at {place}" for place in "xxyzuvx"]
    assert fetched == list("xyzuvx")  # four are kept
    driver.end()


def test_prompts_that_share_a_context_have_one_memfd_of_its_bytes() -> None:
    texts = {0: "\u20ac" * 3000, 1: {"one": "a" * 5000, "two": [1]}, 2: "c" * 9}
    gate = Gate(Policy(limits=Limits(context_bytes=20_000)))
    places = {number: replace(flatten(each, gate), facts=QueryMetadata(each)) for number, each in texts.items()}
    places[2] = replace(places[2], view=memoryview(b"c" * 30_000))
    turns = [cell("final_answer([type(context).__name__, len(context), context if type(context) is dict else 0])")]
    rlm = scripted(turns, policy=Policy(limits=Limits(context_bytes=20_000)), on_event=print)
    driver = Driver(rlm, slots=2, heard=("on_event",))
    driver.node._fetch = places.get
    for index, number in enumerate([0, 1, 0, 1, 2]):
        driver.tell("run", index, number, number, None)
    items = sorted(driver.items(5), key=lambda item: item.index)
    assert [item.response for item in items[:4]] == [str(["str", 3000, 0]), str(["dict", 2, texts[1]])] * 2
    assert isinstance(items[4].error, Refused)
    assert set(driver.node._contexts) == {0, 1}
    assert {each.completion.prompt for each in items[:4]} == {""}
    told = [content[1][0] for kind, content in driver.messages if kind == "call"]
    ended = [event.completion.prompt for event in told if isinstance(event, RunCompleted) and event.completion]
    assert sorted(ended) == sorted([not_kept(6000), not_kept(len(json.dumps(texts[1])))] * 2)
    pickle.dumps(told)
    driver.end()


class Foreign(Exception):
    """An error of another package, which cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("what happened")


class Mute(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise ValueError("no words")


def raises(messages: Any) -> str:
    """A model of the caller's own that fails."""
    last = str(messages)
    if "be foreign" in last:
        raise Foreign(1, 2)
    if "be exit" in last:
        sys.exit(1)
    if "be lock" in last:
        error = RLMSecureError("it holds a lock")
        error.lock = threading.Lock()
        raise error
    if "be held" in last:
        raise ValueError("it has", threading.Lock())
    if "be several" in last:
        raise ExceptionGroup("several", [Foreign(1, 2)])
    if "be mute" in last:
        raise Mute
    raise ValueError("plain")


@pytest.mark.parametrize(
    ("question", "kind", "said"),
    [("plain", ValueError, "plain"), ("foreign", RLMSecureError, "Foreign: what happened"),
     ("lock", RLMSecureError, "it holds a lock"), ("exit", RLMSecureError, "the run raised SystemExit"),
     ("held", RLMSecureError, r"\('it has', <unlocked _thread.lock object at \w+>\)"),
     ("several", RLMSecureError, r"ExceptionGroup: several \(1 sub-exception\)"),
     ("mute", RLMSecureError, "the run raised ValueError")],
)  # fmt: skip
def test_every_failure_is_an_error_that_the_driver_can_read(question: str, kind: type, said: str) -> None:
    driver = Driver(scripted(raises))
    driver.tell("run", 0, "a context", None, f"be {question}")
    error = driver.items(1)[0].error
    assert type(error) is kind
    assert re.fullmatch(said, str(error))
    assert pickle.loads(pickle.dumps(error)).args == error.args
    assert "lock" not in vars(error)
    driver.end()


def test_another_version_gets_no_prompt() -> None:
    examined = Node().begin(scripted(ASKS), order(version="0.0.1"))
    assert examined == Examined(problem="it has rlm-secure 0.1.0, and the program 0.0.1; install the same")


def test_a_driver_that_is_gone_ends_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE", 0.5)
    driver = Driver(scripted([cell("while True: pass")]))
    driver.tell("run", 0, "a", None, None)
    driver.poll()
    time.sleep(2.5)
    (item,) = driver.items(1)
    assert isinstance(item.error, CancellationError)
    assert str(item.error) == module._GONE
    driver.end()


def test_a_driver_that_is_heard_again_wakes_the_calls_that_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a stop of the whole process, when its driver is heard before it looks at the clock itself."""
    monkeypatch.setattr(Node, "_watch", lambda self: None)
    driver = Driver(scripted([cell("final_answer(llm_query('q'))")], "r"))
    driver.node._heard_at -= 2 * module.SILENCE
    driver.tell("run", 0, "a", None, None)
    time.sleep(1.0)
    assert not driver.node._outbox.get(0, 0.5), "its calls wait, and ask for nothing"
    (item,) = driver.items(1)
    assert item.completion is not None and item.completion.response == "r"
    driver.end()


def test_too_many_events_are_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVENTS", 2)
    outbox = module._Outbox()
    for number in range(5):
        outbox.event(("call", number))
    waiting = outbox.get(0, 0)
    assert waiting == [(1, ("call", 0)), (2, ("call", 1))]
    outbox.get(2, 0)
    outbox.event(("call", 5))
    assert [message for _, message in outbox.get(2, 0)] == [("dropped", 3), ("call", 5)]
