"""Serves the model calls of cells: the gate allows them, the ledger reserves them, a client or a child run answers.

`LMHandler` is upstream's name. There it is a TCP server that any process on the machine can reach; here it is
the object that an environment calls with a decoded `Call`, so there is no port to protect.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Protocol, Self

from rlm_secure.broker.protocol import Call
from rlm_secure.clients.base import (
    Client,
    Completion,
    InThread,
    OnText,
    Prompt,
    Tally,
    adapt,
    asked_by,
    message_text,
)
from rlm_secure.clients.media import described, media_type, most_tokens, with_media
from rlm_secure.clients.prices import REPORTED, Price
from rlm_secure.clients.tool_calls import ToolSpec, offered_text
from rlm_secure.clients.windows import fewest_tokens, prompt_characters
from rlm_secure.decision import Decided
from rlm_secure.environments import AuditSink
from rlm_secure.environments.turn import refuse
from rlm_secure.errors import (
    AuditLogError,
    CallFailed,
    CallRefused,
    CellCallsRefused,
    PriceUnknownError,
    PromptTooLarge,
    ProviderError,
    TimeoutExceededError,
    told_to_cells,
)
from rlm_secure.events import LimitReached, ModelCalled, Violation
from rlm_secure.policy import Gate, load_policy
from rlm_secure.rlm.budget import LIMITS, Allowance, Ledger, exhausted, limit_name
from rlm_secure.rlm.deltas import Deltas
from rlm_secure.rlm.tree import Tree
from rlm_secure.turns import Messages
from rlm_secure.types import (
    ModelUsageSummary,
    RefusedCall,
    RLMChatCompletion,
    UsageSummary,
    held_bytes,
    not_kept,
)

NO_USAGE: Final = ModelUsageSummary(0, 0, 0)

#: A free model's price.
_FREE: Final = Price(0.0, 0.0)
#: Seconds of tolerance after the timeout, for a busy machine.
_LATE: Final = 1.0
#: Bytes of a record besides its texts: the objects that hold them.
_RECORD: Final = 2_048


class Recursion(Protocol):
    """Starts a child run. Returns its completion, with `error` set if it failed; never raises Exception."""

    def __call__(self, prompt: str, model: str | None) -> RLMChatCompletion:
        """Run the child to its end."""
        ...


class LMHandler:
    """Serves the model calls of one run's cells, and the run's own turns. Thread-safe.

    `depth` is the depth of the run; if the run is the root, calls of its cells go to `other_backend_client` when there
    is one, as in upstream. `recursion` starts children; without it `rlm_query` is a plain model call. `make_client`
    builds a client for a model that the policy allows and that is not registered. `audit` records what the gate
    refuses: calls of cells, and replies of models. `host`, `port` are accepted and unused. Used alone (not by RLM), the
    handler works under the policy `strict`.
    """

    def __init__(
        self,
        client: Any,
        host: str = "127.0.0.1",
        port: int = 0,
        other_backend_client: Any = None,
        batch_max_concurrent: int = 16,
        *,
        tree: Tree | None = None,
        gate: Gate | None = None,
        depth: int = 0,
        recursion: Recursion | None = None,
        make_client: Callable[[str], Any] | None = None,
        audit: AuditSink | None = None,
    ) -> None:
        del host, port
        self.depth = depth
        self.tally = Tally()
        self.recursion = recursion
        self.batch_max_concurrent = batch_max_concurrent
        self._make_client = make_client
        self._audit = audit
        self._lock = threading.Lock()
        self._answered: list[RLMChatCompletion] = []
        self._dropped = 0
        self._clients: dict[str, Client] = {}
        self._default = adapt(client)
        self._other = None if other_backend_client is None else adapt(other_backend_client)
        for known in (self._other, self._default):
            if known is not None and known.model_name:
                self._clients[known.model_name] = known
        self._own = ExitStack()
        self._gate = gate or Gate(load_policy("strict"), frozenset(self._clients))
        self._tree = tree
        #: Whether stopping the run ends its calls, so that a session need not abandon them. True under RLM.
        self.interruptible = tree is not None
        #: The owner whose sessions share one limit of abandoned calls.
        self.owner = None if tree is None else tree.whose

    # -- upstream's interface ------------------------------------------------------------------------

    def register_client(self, model_name: str, client: Any) -> None:
        """Let cells use `client` by `model=model_name`, if the gate allows that name."""
        with self._lock:
            self._clients[model_name] = adapt(client)

    def get_client(self, model: str | None = None, depth: int = 0) -> Client:
        """The client for a call: by the model's name, else the sub-call client at depth 1, else the default.

        A model that is not registered gets a client from `make_client`, whose exceptions pass through.
        """
        with self._lock:
            if model is not None and model in self._clients:
                return self._clients[model]
        if model is not None and self._make_client is not None:
            made = adapt(self._make_client(model))
            with self._lock:
                return self._clients.setdefault(model, made)
        if self._other is not None and depth == 1:
            return self._other
        return self._default

    def start(self) -> Self:
        """Get ready to serve. Returns itself: the object that an environment calls."""
        if self._tree is None:
            policy = load_policy("strict")
            ledger = Ledger(Allowance.of(policy))
            tree = Tree(ledger, concurrency=self.batch_max_concurrent, children=1)
            self._tree = self._own.enter_context(tree)
            for client in {id(client): client for client in self._clients.values()}.values():
                self._tree.adopt(client)
        return self

    def stop(self) -> None:
        """Stop what start() started. Idempotent."""
        self._own.close()

    @property
    def address(self) -> Self:
        """What to pass to an environment as its handler: this object, which is called with each Call."""
        return self

    def completion(self, prompt: Prompt, model: str | None = None) -> str:
        """The reply of the run's own model, charged to the ledger. Raises what the provider or the ledger raise."""
        return self.ask(prompt, model=model).text

    def get_usage_summary(self) -> UsageSummary:
        """The usage of this run, including its children."""
        return self.tally.summary()

    def complete_all(
        self, prompts: Sequence[str], model: str | None = None, depth: int | None = None
    ) -> list[RLMChatCompletion]:
        """One completion per prompt, in order, each with its own usage or its error. drain() returns them as well.

        Raises CallRefused if the gate refuses the whole batch.
        """
        decision = self._gate.subcalls(prompts, model)
        if not decision.allowed:
            self.write_down(decision)
        decision.require(CallRefused)
        completions = self._ask_all(prompts, model, self.depth + 1 if depth is None else depth, "llm_query")
        self._record(completions)
        return completions

    # -- used by the loop ----------------------------------------------------------------------------

    def ask(
        self,
        prompt: Prompt | Messages,
        *,
        model: str | None = None,
        purpose: str = "turn",
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """Call the run's own model, reserved and settled in the ledger. Raises what the client or the ledger raise.

        With `tools`, which a client with `native_tools` takes, the reply may have `tool_calls`; it is not streamed.

        Raises PromptTooLarge for a prompt that cannot fit into the model's window, and ProviderError for a reply longer
        than lm.reply_bytes: it would be sent again with every turn.
        """
        snapshot = prompt if isinstance(prompt, str | Messages) else list(map(dict, prompt))
        deltas = None if tools else self._deltas(purpose)
        completion = self._running_tree().call(self._metered(self._default, snapshot, model, purpose, deltas, tools))
        if deltas is not None:
            deltas.end()
        decision = self._gate.reply(completion.text)
        if not decision.allowed:
            self._refuse(decision)
            raise ProviderError(decision.reason)
        return completion

    def drain(self) -> list[RLMChatCompletion]:
        """The sub-calls recorded since the last drain, in the order recorded; `dropped()` counts those not kept."""
        with self._lock:
            answered, self._answered = self._answered, []
            return answered

    def dropped(self) -> int:
        """The number of sub-calls since the last dropped() that limits.kept_bytes left no room for."""
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            return dropped

    def __call__(self, call: Call) -> Any:
        """As serve(): a session calls the handler itself."""
        return self.serve(call)

    def serve(self, call: Call) -> Any:
        """The value returned to the cell. Errors of model calls are strings that begin with "Error: ".

        Raises CallFailed for a tool call (this handler has no tools), CellCallsRefused after too many refused calls,
        and as Tree.check() once the run is stopped: the last two end the cell.
        """
        tree = self._running_tree()
        tree.check()
        if call.kind == "tool":
            refuse()
            raise CallFailed(f"there is no tool {call.tool!r} here")
        decision = self._gate.subcalls(call.prompts, call.model)
        if decision.allowed and call.media:
            size = sum(map(len, call.media)) + _size(call.prompts[0])
            decision = self._gate.media([media_type(each) for each in call.media], size)
        if not decision.allowed:
            refuse()
            self._refuse(decision)
            self._count_refusal()
            texts = [f"Error: {decision.reason}"] * len(call.prompts)
        else:
            calls = tree.ledger.spent.calls
            if call.kind.startswith("rlm") and self.recursion is not None:
                completions = self._recurse(call.prompts, call.model)
            else:
                depth = 1 if call.kind.startswith("rlm") else self.depth + 1
                purpose = call.kind.removesuffix("_batched")
                completions = self._ask_all(call.prompts, call.model, depth, purpose, call.media)
            self._record(completions)
            # A child that failed without a single model call counts as a refused call.
            failed = all(each.error is not None for each in completions) and tree.ledger.spent.calls == calls
            if all(isinstance(each, RefusedCall) for each in completions):
                refuse()
            if failed or any(isinstance(each, RefusedCall) for each in completions):
                self._count_refusal()
            texts = [self._text(each, call) for each in completions]
        tree.check()
        return texts if call.kind.endswith("_batched") else texts[0]

    # -- internal ------------------------------------------------------------------------------------

    def _recurse(self, prompts: Sequence[str], model: str | None) -> list[RLMChatCompletion]:
        recursion = self.recursion
        assert recursion is not None
        tree = self._running_tree()
        held: list[int] = []

        def child(prompt: str) -> RLMChatCompletion:
            completion = recursion(prompt, model)
            self.tally.add_all(completion.usage_summary)
            problem = self._problem(completion.response, held)
            if problem is None:
                return completion
            error = f"Error: Child RLM completion failed - {problem}"
            return replace(completion, response=error, error=error)

        try:
            return tree.slots.map(child, prompts)
        finally:
            tree.batch_bytes.give_back(sum(held))

    def _problem(self, reply: str, held: list[int]) -> str | None:
        """Why a reply may not enter the sandbox; else None, with its bytes reserved in `batch_bytes` and in `held`."""
        decision = self._gate.reply(reply)
        if not decision.allowed:
            self._refuse(decision)
            return decision.reason
        size, batch_bytes = held_bytes(reply), self._running_tree().batch_bytes
        if not batch_bytes.take(size):
            return f"the replies of one batch take more than limits.kept_bytes = {batch_bytes.limit:,}; ask for less"
        held.append(size)
        return None

    def _ask_all(
        self, prompts: Sequence[str], model: str | None, depth: int, purpose: str, media: Sequence[bytes] = ()
    ) -> list[RLMChatCompletion]:
        """One completion per prompt, in order, each with its own usage or its error."""
        tree = self._running_tree()
        held: list[int] = []

        async def ask_all(client: Client, named: str | None) -> list[RLMChatCompletion]:
            return await asyncio.gather(
                *(self._answer(client, prompt, named, purpose, held, media) for prompt in prompts)
            )

        try:
            # Get the client in this thread: making one may import an SDK, which would block the whole tree's loop.
            client = self.get_client(model, depth)
            # A client registered under the name serves it by default; any other client needs the name.
            named = None if model in self._clients else model
            return tree.call(ask_all(client, named))
        except (InThread, AuditLogError):
            raise
        except Exception as error:  # noqa: BLE001  a foreign error may hold secrets: only its type leaves the host
            return [self._refused(prompt, model or "unknown", 0.0, _shown(error)) for prompt in prompts]
        finally:
            tree.batch_bytes.give_back(sum(held))

    async def _answer(
        self, client: Client, prompt: str, model: str | None, purpose: str, held: list[int], media: Sequence[bytes] = ()
    ) -> RLMChatCompletion:
        """Make one sub-call; return its failure as a value whose text may enter a sandbox.

        Appends to `held` the bytes that its reply reserves in `batch_bytes`.
        """
        began = time.monotonic()
        name = model or client.model_name or "unknown"
        try:
            asked = with_media(prompt, media) if media else prompt
            prompt = described(prompt, media)
            completion = await self._metered(client, asked, model, purpose)
        except (InThread, AuditLogError):  # what cannot be audited does not go on
            raise
        except LIMITS as limit:
            return self._refused(prompt, name, time.monotonic() - began, _shown(limit))
        except PromptTooLarge as large:
            return self._refused(prompt, name, time.monotonic() - began, f"Error: {large}")
        except Exception as error:  # noqa: BLE001  as above
            return self._failed(prompt, name, time.monotonic() - began, _shown(error))
        if (problem := self._problem(completion.text, held)) is not None:
            return self._failed(prompt, name, time.monotonic() - began, problem, completion.usage)
        return RLMChatCompletion(
            root_model=completion.model,
            prompt=prompt,
            response=completion.text,
            usage_summary=UsageSummary(model_usage_summaries={completion.model: completion.usage}),
            execution_time=time.monotonic() - began,
        )

    def _deltas(self, purpose: str) -> Deltas | None:
        """What tells the listeners of the root's reply while it arrives, if they want to hear of it."""
        tree = self._running_tree()
        if not tree.streams or self.depth or purpose == "summary":
            return None
        return Deltas(tree.emit, purpose, self._gate.policy.data.redact)

    async def _metered(
        self,
        client: Client,
        prompt: Prompt | Messages,
        model: str | None,
        purpose: str,
        on_text: OnText | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """Call a model: the only place that does. Reserves before, settles after, and notifies the listeners."""
        tree = self._running_tree()
        self._require_fit(prompt, model or client.model_name or "unknown")
        price = self._price(client, model)
        try:
            size = _size(prompt) + len(offered_text(tools).encode())
            async with tree.reserve(size, price, client.max_output_tokens) as reservation:
                seconds = min(self._gate.policy.lm.timeout_seconds, max(0.001, tree.ledger.seconds_left))
                began = time.monotonic()
                usage = NO_USAGE
                error: str | None = "cancelled"
                try:
                    if tools:
                        answering = client.acall(asked_by(client.acall, prompt), tools, model=model, timeout=seconds)
                    elif on_text is None:
                        answering = client.acomplete(asked_by(client.acomplete, prompt), model=model, timeout=seconds)
                    else:
                        asked = asked_by(client.astream, prompt)
                        answering = client.astream(asked, on_text, model=model, timeout=seconds)
                    completion = self._priced(await answering, price)
                    usage, error = completion.usage, None
                    reservation.settle(usage)
                    self.tally.add(completion.model, usage)
                    if usage.total_cost is None and client.billing != "none":
                        self._unpriced(completion.model)
                    self._in_time(time.monotonic() - began)
                    return completion
                except Exception as failure:
                    error = _shown(failure)
                    # Else it is charged with its estimate, as it leaves the block.
                    if not (isinstance(failure, ProviderError) and failure.cut_off):
                        reservation.refuse()
                    raise
                finally:
                    name = model or client.model_name or "unknown"
                    tree.emit(
                        ModelCalled(
                            depth=self.depth,
                            model=name,
                            purpose=purpose,
                            seconds=time.monotonic() - began,
                            usage=usage,
                            error=error,
                        )
                    )
        except LIMITS as limit:
            tree.emit(LimitReached(depth=self.depth, limit=limit_name(limit), message=str(limit)))
            raise

    def _require_fit(self, prompt: Prompt | Messages, model: str) -> None:
        """Raise PromptTooLarge for a prompt that cannot fit into the model's window, if that is known."""
        window = self._running_tree().windows.of(model)
        if window is None:
            return
        characters = prompt.total(_characters) if isinstance(prompt, Messages) else prompt_characters(prompt)
        if characters <= window:
            return
        tokens = prompt.total(_fewest_tokens) if isinstance(prompt, Messages) else fewest_tokens(prompt)
        conversation = not isinstance(prompt, str)
        try:
            self._gate.require_window(model, characters, tokens, window, conversation=conversation)
        except PromptTooLarge as refused:
            self._refuse(refused.decision)
            raise

    def _in_time(self, seconds: float) -> None:
        """Raise if a reply was too late: parsing one can block the event loop, and with it every timeout on it."""
        ledger, limit = self._running_tree().ledger, self._gate.policy.lm.timeout_seconds
        if ledger.seconds_left <= 0:
            raise TimeoutExceededError(ledger.elapsed, ledger.allowance.seconds)
        if seconds > limit + _LATE:
            raise ProviderError(f"the model's reply took {seconds:.1f} s, more than lm.timeout_seconds = {limit:g}")

    def _price(self, client: Client, model: str | None) -> Price | None:
        """The price of a call, if it is known before the call is made."""
        if client.billing == "none":
            return _FREE
        price = self._running_tree().prices.of(model or client.model_name or "unknown")
        return None if price == REPORTED else price

    def _priced(self, completion: Completion, price: Price | None) -> Completion:
        """The completion, with the table's cost if the provider reported none."""
        usage = completion.usage
        if usage.total_cost is not None or price is None or price is _FREE:
            return completion
        cost = price.cost(usage.total_input_tokens, usage.total_output_tokens)
        return replace(completion, usage=replace(usage, total_cost=cost))

    def _unpriced(self, model: str) -> None:
        """Handle a reply whose cost is unknown: if a cost limit must hold, no further call is made."""
        tree = self._running_tree()
        try:
            tree.price_unknown(self.depth, model)
        except PriceUnknownError as unknown:
            tree.ledger.refuse_unknown(unknown)

    def _text(self, completion: RLMChatCompletion, call: Call) -> str:
        """The text that the cell gets for one prompt."""
        if completion.error is None:
            return completion.response
        if completion.error.startswith("Error: "):
            return completion.error
        if call.kind == "llm_query_batched":
            return f"Error: llm() call failed - {completion.error}"
        where = " at max depth" if call.kind.startswith("rlm") else ""
        return f"Error: LM query failed{where} - {completion.error}"

    def _failed(
        self, prompt: str, model: str, seconds: float, error: str, usage: ModelUsageSummary | None = None
    ) -> RLMChatCompletion:
        return RLMChatCompletion(
            root_model=model,
            prompt=prompt,
            response="",
            usage_summary=UsageSummary(model_usage_summaries={} if usage is None else {model: usage}),
            execution_time=seconds,
            error=error,
        )

    def _refused(self, prompt: str, model: str, seconds: float, error: str) -> RefusedCall:
        """A call that was not made. Its prompt is not kept: a cell may make many such calls."""
        return RefusedCall(
            root_model=model,
            prompt=not_kept(len(prompt), "characters"),
            response="",
            usage_summary=UsageSummary(),
            execution_time=seconds,
            error=error,
        )

    def _record(self, completions: Sequence[RLMChatCompletion]) -> None:
        """Keep the calls for drain(), as far as the run's records have room."""
        tree = self._running_tree()
        kept = [each for each in completions if tree.records.take(record_bytes(each.prompt, each.response))]
        with self._lock:
            self._answered.extend(kept)
            self._dropped += len(completions) - len(kept)
        if len(kept) < len(completions):
            message = f"calls were made that are counted and not kept: limits.kept_bytes = {tree.records.limit:,}"
            tree.notice(self.depth, "records", message)

    def _count_refusal(self) -> None:
        """Count a refused call. Raises CellCallsRefused, which ends the cell, above the limit."""
        decision = self._gate.refusals(self._running_tree().refused())
        if not decision.allowed:
            raise CellCallsRefused(decision.reason, limit="lm.refusals")

    def report(self, decision: Decided) -> None:
        """Report a refusal to the listeners."""
        self._running_tree().emit(Violation(depth=self.depth, rule=decision.rule, message=decision.reason))

    def write_down(self, decision: Decided) -> None:
        """Write a refusal to the audit log. Raises AuditLogError, whatever a sink of the caller's own raises."""
        if self._audit is None:
            return
        try:
            self._audit.refusal(f"run at depth {self.depth}", rule=decision.rule, reason=decision.reason)
        except AuditLogError:
            raise
        except Exception as error:  # it would count as the failure of one call, and the run would go on
            raise AuditLogError(f"the audit sink did not take a refusal: {type(error).__name__}") from error

    def _refuse(self, decision: Decided) -> None:
        """Report a refusal to the listeners, and write it to the audit log."""
        self.report(decision)
        self.write_down(decision)

    def _running_tree(self) -> Tree:
        if self._tree is None:
            raise RuntimeError("the handler is not started; call start(), or use it in a with block")
        return self._tree

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop()


def record_bytes(prompt: Any, response: str) -> int:
    """Bytes of memory that a kept call takes."""
    return _RECORD + held_bytes([prompt, response])


def _shown(error: Exception) -> str:
    """An error as text that may enter a sandbox or a log: our own message, or the type of a foreign exception."""
    return exhausted(error) if isinstance(error, LIMITS) else told_to_cells(error)


def _size(prompt: Prompt | Messages) -> int:
    """Bytes of a prompt's text, and as many more as its media may have tokens."""
    if isinstance(prompt, str):
        return _text_bytes(prompt)
    return max(0, (prompt.total(_bytes) if isinstance(prompt, Messages) else sum(map(_bytes, prompt))) - 1)


def _characters(message: Mapping[str, Any]) -> int:
    return len(message_text(message))


def _fewest_tokens(message: Mapping[str, Any]) -> int:
    return fewest_tokens([dict(message)])


def _bytes(message: Mapping[str, Any]) -> int:
    """Bytes of a message in a prompt, with the end of its line."""
    return _text_bytes(message_text(message)) + 1 + most_tokens(message.get("content"))


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
