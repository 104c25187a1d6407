"""Actors of nodes that are out of order: where, and what they leave there, is in the arguments of their scripted model."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import ray

from rlm_secure.rlm.budget import Spent
from rlm_secure.rlm.rlm import RLM
from rlm_secure.scale import node
from rlm_secure.scale.leases import Account, LeaseNeed
from rlm_secure.scale.node import Answer, Examined, NodeOrder
from rlm_secure.scale.ray import _Actor
from tests.scale.calls import reply


def reply_out_of_order(path: str, doomed: str, prompt: str) -> str:
    """A model that leaves some work for the node that is doomed, until each of its actors had some."""
    here = ray.get_runtime_context().get_node_id()
    deadline = time.monotonic() + 240
    while here != doomed and len(seen(path)) < len(HOW) and time.monotonic() < deadline:
        time.sleep(0.05)
    return reply(path, 0.0, prompt)


def seen(path: str) -> list[str]:
    """The ways in which actors of the doomed node have been out of order."""
    told = Path(f"{path}-ways")
    return list(dict.fromkeys(told.read_text().splitlines())) if told.exists() else []


def _also(*message: Any) -> Callable[..., Any]:
    """One more message."""

    def change(confirmed: int, messages: list[Any], heard: int, account: Account) -> Any:
        number = messages[-1][0] if messages else confirmed
        return [*messages, (number + 1, message)], heard, account

    return change


def _with_account(account: Any) -> Callable[..., Any]:
    return lambda confirmed, messages, heard, _: (messages, heard, account)


def _with_names(_: int, messages: list[Any], heard: int, account: Account) -> Any:
    """Log files whose names are none."""
    changed = [(number, (kind, (content[0], {7: b"log"}) if kind == "item" else content)) for number, (kind, content) in messages]
    return changed, heard, account


def _stopped(_: int, *told: Any) -> Any:
    """A process that goes on when somebody says so."""
    os.kill(os.getpid(), signal.SIGSTOP)
    return told


HOW: Final[dict[str, Callable[..., Any]]] = {
    "a message of no kind": _also("nonsense", ()),
    "no message": lambda *_: None,
    "a need of no amount": _also("need", LeaseNeed((1, None, None), 1, math.nan, True)),
    "a need that is none": _also("need", "all"),
    "an unknown price that is no error": _also("unknown", "x"),
    "an item that is none": _also("item", ("item", {})),
    "a message is missing": lambda _, messages, *told: ([(number + 1, message) for number, message in messages], *told),
    "no record": _also("audit", ("refusal", ())),
    "an account that goes down": _with_account(Account(Spent(-5))),
    "an account of text": _with_account("account"),
    "names of no file": _with_names,
    "a process that is stopped": _stopped,
}


class OutOfOrder(_Actor):
    """On the node that is doomed, it changes an answer to a poll, once it has work: each actor in the next way of `HOW`."""

    def begin(self, rlm: RLM, order: NodeOrder) -> Examined:
        self._path, self._doomed = rlm.backend_kwargs["replies"].args
        self._ways = list(HOW.values())[len(seen(self._path)) :]
        return super().begin(rlm, order)

    def poll(self, confirmed: int, seconds: float) -> Answer:
        told = super().poll(confirmed, seconds)
        if self._doomed != ray.get_runtime_context().get_node_id() or not told[1] or not self._ways:
            return told
        with open(f"{self._path}-ways", "a") as file:
            print(list(HOW)[-len(self._ways)], file=file, flush=True)
            return self._ways[0](confirmed, *told)


class Impatient(_Actor):
    """It soon ends its runs where it hears nothing of its driver."""

    def __init__(self) -> None:
        super().__init__()
        node.SILENCE = 6.0
