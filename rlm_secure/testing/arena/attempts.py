"""Single attempts in one lasting arena: `Attempts` is the client, `python -m rlm_secure.testing.arena.attempts` the
server.

Requests and answers are one line of JSON each; an answer is decoded into a Verdict and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Self

from pydantic import TypeAdapter, ValidationError

from rlm_secure.errors import RLMSecureError
from rlm_secure.inert import excerpt, inert
from rlm_secure.policy import Policy
from rlm_secure.testing import arena, battery
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Attack, Excuse, Layer
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.judge import bounds_of
from rlm_secure.testing.session import Session
from rlm_secure.testing.verdict import Verdict
from rlm_secure.untrusted_json import loads

_LINE_BYTES = 1 << 20
#: Timeout of one attempt, longer than any takes.
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Request:
    """One attack on one environment under one policy (as JSON). `own`: the attack is not in the shipped corpus."""

    attack: Attack
    environment: str
    policy: str
    own: bool = False


_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)


class Attempts:
    """An arena that judges one attack at a time. A context manager; the arena is built at the first attempt."""

    def __init__(self, given: arena.Arena | None = None) -> None:
        self._given = given or arena.Arena()
        self._running: arena.ArenaProcess | None = None
        self._told: IO[bytes] | None = None

    def attempt(self, attack: Attack, environment: str, policy: Policy, *, own: bool = False) -> Verdict:
        """The verdict on `attack`. Raises ArenaRefused, and RLMSecureError if no session opens or the judge dies.

        For an attack of your `own` the control runs first: if it loses in plain Python too, its defeat proves nothing.
        """
        request = Request(attack, environment, policy.model_dump_json(), own)
        if arena.waived():
            return _attempt(request)
        if self._running is None:
            self._start()
        assert self._running is not None and self._running.process.stdin is not None and self._told is not None
        try:
            _write(self._running.process.stdin.fileno(), _REQUEST.dump_json(request) + b"\n")
            answer = loads(self._line())
            if "failed" in answer:
                raise RLMSecureError(excerpt(str(answer["failed"]), 1000))
            verdict = _VERDICT.validate_python(answer["verdict"])
            return replace(verdict, name=attack.name, guarantee=attack.guarantee, evidence=inert(verdict.evidence))
        except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
            self.close()
            raise RLMSecureError(f"the judge of {attack.name} did not survive: {type(error).__name__}") from None

    def _line(self) -> bytes:
        """The judge's answer. Raises TimeoutError: an adapter may have stopped the judge."""
        assert self._told is not None
        if not select.select([self._told], [], [], _SECONDS)[0]:
            raise TimeoutError
        return self._told.readline(_LINE_BYTES)

    def close(self) -> None:
        """Kill the arena. Idempotent."""
        if self._told is not None:
            self._told.close()
        if self._running is not None:
            self._running.close()
        self._running = self._told = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        reader, writer = os.pipe()
        self._told = os.fdopen(reader, "rb")
        try:
            self._running = self._given.judge("rlm_secure.testing.arena.attempts", writer)
        finally:
            os.close(writer)
        assert self._running.process.stdin is not None
        os.set_blocking(self._running.process.stdin.fileno(), False)


def _write(pipe: int, line: bytes) -> None:
    """Write `line` to a non-blocking pipe. Raises TimeoutError: a stopped judge reads nothing, and a pipe is small."""
    until = time.monotonic() + _SECONDS
    poll = select.poll()
    poll.register(pipe, select.POLLOUT)
    left = memoryview(line)
    while left:
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise TimeoutError
        left = left[os.write(pipe, left) :]


def main() -> None:
    """Answer requests from standard input until it closes."""
    above = False
    with os.fdopen(int(sys.argv[1]), "wb") as told:
        for line in sys.stdin.buffer:
            request = _REQUEST.validate_json(line)
            try:
                if ":" in request.environment and not above:
                    arena.stand_above()
                    above = True
                verdict = _attempt(request)
                answer = {"verdict": _VERDICT.dump_python(verdict, mode="json")}
            except (RLMSecureError, ValueError) as error:
                answer = {"failed": str(error)}
            told.write(json.dumps(answer).encode("ascii") + b"\n")
            told.flush()


def _attempt(request: Request) -> Verdict:
    policy, name, attack = Policy.model_validate_json(request.policy), request.environment, request.attack
    checked = {attack.name: Control(attack.name, True, "", Excuse.NOTHING, "")}
    if request.own:
        checked = battery.controls([attack], bounds_of(policy))
    layered = attack.layer is not Layer.KERNEL
    with contextlib.ExitStack() as stack:
        foreign = None
        if ":" in name:
            foreign = ForeignGround(name, bounds_of(policy))  # per attempt: its programs belong to the attempt's target
            stack.callback(foreign.close)
        sessions = _ours(name, attack, policy) if foreign is None else foreign
        return battery.attempts([attack], sessions, policy, checked, layered=layered)[attack.name]


def _ours(name: str, attack: Attack, policy: Policy) -> Callable[[], Session]:
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.testing.bare import unscreened

    if attack.layer is Layer.KERNEL:
        return lambda: unscreened(name, policy)
    return lambda: Sandbox(policy=policy, environment=name)


if __name__ == "__main__":
    main()
