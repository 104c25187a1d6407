"""The base of upstream's environment classes: a REPL with upstream's parameters, in upstream's order.

Differences from upstream:
- `lm_handler_address` takes the handler (`LMHandler.address` gives it) or any callable of a Call: there is no
  unauthenticated TCP port to connect to.
- `locals` hold JSON values and safe reprs, never live objects of the cell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rlm_secure.broker.protocol import Call
from rlm_secure.environments import REPL, AuditSink, HostCalls, create_environment
from rlm_secure.environments.repl import no_host
from rlm_secure.environments.turn import refuse
from rlm_secure.errors import CallFailed, told_to_cells
from rlm_secure.policy import Gate, Policy, load_policy
from rlm_secure.rlm.budget import Records
from rlm_secure.rlm.handler import record_bytes
from rlm_secure.rlm.slots import ChildSlots
from rlm_secure.tools.hostcall import on_abandon
from rlm_secure.types import RLMChatCompletion

#: Upstream's parameters that all environments share, in upstream's order.
_COMMON = (
    "lm_handler_address",
    "context_payload",
    "setup_code",
    "persistent",
    "depth",
    "subcall_fn",
    "custom_tools",
    "custom_sub_tools",
    "compaction",
    "max_concurrent_subcalls",
)


class UpstreamREPL(REPL):
    """A REPL in the environment named `environment`. `leading` are its own parameters that precede the shared ones.

    Takes upstream's parameters, also by position, `policy`, `audit`, and the options of the environment.
    """

    environment: ClassVar[str]
    leading: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        *args: Any,
        policy: Policy | str | Mapping[str, Any] = "strict",
        audit: AuditSink | None = None,
        **kwargs: Any,
    ) -> None:
        options = _bound(type(self).__name__, (*self.leading, *_COMMON), args, kwargs)
        own = {name: options.pop(name) for name in _COMMON if name in options}
        policy = load_policy(policy)
        subcall_fn, width = own.pop("subcall_fn", None), own.get("max_concurrent_subcalls", 4)
        self._calls = _Calls(subcall_fn, width, Gate(policy))
        self._calls.handler = _handler(own.pop("lm_handler_address", None))
        super().__init__(
            create_environment(self.environment, **options), policy=policy, calls=self._calls, audit=audit, **own
        )

    def setup(self) -> None:
        """Do nothing: the constructor has set everything up. For programs that call it, as with upstream."""

    def update_handler_address(self, lm_handler_address: Any) -> None:
        """Serve the model calls of later cells with another handler, and reset `answer`."""
        self._calls.handler = _handler(lm_handler_address)
        self.reset_answer()

    @property
    def lm_handler_address(self) -> HostCalls | None:
        """The handler that serves the model calls of cells."""
        return self._calls.handler


def _bound(kind: str, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Bind positional arguments to names. Raises TypeError for too many, and for one that is given twice."""
    if len(args) > len(names):
        raise TypeError(f"{kind} takes at most {len(names)} positional arguments, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    if twice := sorted(given.keys() & kwargs.keys()):
        raise TypeError(f"{kind} got {twice[0]!r} twice")
    return {**given, **kwargs}


def _handler(address: Any) -> HostCalls | None:
    if address is not None and not callable(address):
        raise TypeError(
            f"lm_handler_address is the handler itself (LMHandler.address), not {address!r}: there is no TCP port to "
            "connect to"
        )
    handler: HostCalls | None = address
    return handler


class _Calls:
    """Upstream's two kinds of calls from a cell, as one HostCalls. An exception of `subcall_fn` becomes error text.

    `gate` checks the model and the prompts before they reach `subcall_fn`, and its replies, as an LMHandler does. Of a
    cell's calls, as many are kept for `drain` as limits.kept_bytes has room for.
    """

    def __init__(self, subcall_fn: Callable[..., Any] | None, width: int, gate: Gate) -> None:
        self.handler: HostCalls | None = None
        self._gate = gate
        self._subcall_fn = subcall_fn
        self._width = max(1, width)
        self._lock = threading.Lock()
        self._made: list[Any] = []
        self._asked = 0
        self._records = Records(gate.policy.limits.kept_bytes)

    def __call__(self, call: Call) -> Any:
        if call.kind.startswith("rlm") and self._subcall_fn is not None:
            texts = self._recurse(call.prompts, call.model)
            return texts if call.kind.endswith("_batched") else texts[0]
        if self.handler is None:
            return no_host(call)
        for decision in (self._gate.batch(len(call.prompts)), self._gate.prompts(call.prompts)):
            if not decision.allowed:
                refuse()
                texts = [f"Error: {decision.reason}"] * len(call.prompts)
                return texts if call.kind.endswith("_batched") else texts[0]
        answer = self.handler(call)
        self._keep(getattr(self.handler, "drain", list)())  # now, so that calls of both kinds stay in order
        return list(map(self._bounded, answer)) if isinstance(answer, list) else self._bounded(answer)

    def _bounded(self, reply: Any) -> Any:
        """A reply within lm.reply_bytes, else why it is not given."""
        decision = self._gate.reply(reply)
        return reply if decision.allowed else f"Error: {decision.reason}"

    def _recurse(self, prompts: Sequence[str], model: str | None) -> list[str]:
        """Answer each prompt with a reply or an error, several at a time; start none after the call is abandoned."""
        decision = self._gate.subcalls(prompts, model)
        if not decision.allowed:
            refuse()
            return [f"Error: {decision.reason}"] * len(prompts)
        over = threading.Event()
        if on_abandon(over.set):
            over.set()

        def ask(prompt: str) -> RLMChatCompletion | str:
            if over.is_set():
                raise CallFailed("nobody waits for the call any more")
            return self._ask(prompt, model)

        made = ChildSlots(self._width).map(ask, prompts)
        answered = [(prompt, each) for prompt, each in zip(prompts, made, strict=True) if not isinstance(each, str)]
        self._keep([each for prompt, each in answered if self._records.take(record_bytes(prompt, each.response))])
        return [each if isinstance(each, str) else each.response for each in made]

    def _ask(self, prompt: str, model: str | None) -> RLMChatCompletion | str:
        assert self._subcall_fn is not None
        with self._lock:
            if self._asked >= self._gate.policy.lm.calls:
                refuse()
                return f"Error: Call limit reached: lm.calls = {self._asked:,} of this session are used up"
            self._asked += 1
        try:
            made: RLMChatCompletion = self._subcall_fn(prompt, model)
            if not isinstance(made.response, str):
                raise TypeError
        except Exception as error:  # noqa: BLE001 - the caller's own: its text may hold paths and secrets
            return f"Error: RLM query failed - {told_to_cells(error)}"
        return made if (reply := self._bounded(made.response)) is made.response else str(reply)

    def _keep(self, made: Sequence[Any]) -> None:
        with self._lock:
            self._made += made

    def drain(self) -> list[Any]:
        """The model calls of the last cell, in order, if its handler keeps them; each is returned once."""
        with self._lock:
            made, self._made = self._made, []
            self._records = Records(self._records.limit)
        return made
