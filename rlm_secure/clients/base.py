"""The interface of a language-model backend: a prompt in, text and the usage of that one call out.

`BaseLM` is upstream's abstract class: subclass it to bring your own backend. `Client` is the base of the
backends shipped here: thread-safe, usage per call, and errors that contain none of the provider's text.
`adapt` wraps any object with upstream's methods as a Client.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import itertools
import math
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from rlm_secure import threads
from rlm_secure.causes import local_cause
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.failures import provider_error
from rlm_secure.clients.media import text_of
from rlm_secure.clients.tool_calls import ToolCall, ToolSpec, calls_in, offered_text
from rlm_secure.errors import ProviderError, RLMSecureError
from rlm_secure.turns import Messages
from rlm_secure.types import ModelUsageSummary, UsageSummary, encodable

T = TypeVar("T")

#: Plain text, or chat messages: dicts with "role" and "content".
Prompt: TypeAlias = str | list[dict[str, Any]]

#: Gets the number of a piece of a reply's text, from 0, and the piece.
OnText: TypeAlias = Callable[[int, str], None]

DEFAULT_TIMEOUT = 300.0
#: Same as `lm.reply_bytes` of the shipped policies.
DEFAULT_REPLY_BYTES = 4 * 1024 * 1024
#: Seconds before the second attempt, and the longest pause before any, unless the provider asks for a pause. Each
#: pause is twice the one before.
_PAUSE = 0.5
_LONGEST_PAUSE = 8.0

#: Names of the sampling argument that limits a reply's tokens.
_MOST_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")

#: Upper bound on the tokens of one call: up to this integer, every integer is exact as a float.
_MOST_TOKENS_OF_A_CALL = 2**53


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of a model. `usage` counts this call only. Lone surrogates in the text are made encodable.

    `tool_calls` are those of tools that the call offered; with them, the text may be empty.
    """

    text: str
    """The reply."""
    model: str
    """The name of the model that gave it."""
    usage: ModelUsageSummary
    tool_calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", encodable(self.text))

    @property
    def size(self) -> int:
        """Bytes of the text and of the tool calls, their ids included."""
        called = [text for each in self.tool_calls for text in (each.id, *each.texts)]
        return sum(len(text.encode()) for text in (self.text, *called))


class Tally:
    """Usage by model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[str, ModelUsageSummary] = {}
        self._last = ModelUsageSummary(0, 0, 0)

    def add(self, model: str, usage: ModelUsageSummary) -> None:
        """Count one call, or a child's total, under `model`."""
        with self._lock:
            self._last = usage
            self._models[model] = plus(self._models.get(model), usage)

    def add_all(self, summary: UsageSummary) -> None:
        """Count everything in `summary`."""
        for model, usage in summary.model_usage_summaries.items():
            self.add(model, usage)

    @property
    def last(self) -> ModelUsageSummary:
        """The usage added last."""
        with self._lock:
            return self._last

    def summary(self) -> UsageSummary:
        """A copy of the totals."""
        with self._lock:
            return UsageSummary(model_usage_summaries={m: plus(None, u) for m, u in self._models.items()})


class BaseLM(ABC):
    """Upstream's client interface. `timeout` is in seconds, for one call."""

    def __init__(
        self,
        model_name: str | None,
        timeout: float = DEFAULT_TIMEOUT,
        sampling_args: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.model_name = model_name
        """The model that is asked where a call names none."""
        self.timeout = timeout
        self.sampling_args = dict(sampling_args or {})
        """Arguments of every call, such as the temperature."""
        self.kwargs = kwargs
        """Further arguments of the provider's client."""

    @abstractmethod
    def completion(self, prompt: Prompt) -> str:
        """The model's reply to `prompt`."""

    @abstractmethod
    async def acompletion(self, prompt: Prompt) -> str:
        """As completion(), without blocking the event loop."""

    @abstractmethod
    def get_usage_summary(self) -> UsageSummary:
        """Usage of every call so far, by model."""

    @abstractmethod
    def get_last_usage(self) -> ModelUsageSummary:
        """Usage of the call that ended last. With parallel calls, use the result of Client.complete() instead."""


class Client(BaseLM):
    """A backend that returns the usage of every call; safe to share between threads.

    `retries` is how often a failed call may be repeated, within the one `timeout` of the call. `reply_bytes` limits
    the text of a reply, in bytes: a larger reply is refused while it is received. `billing` says where the cost of a
    call comes from: the provider ("reported"), nowhere since it is free ("none"), or the price table ("table").
    `native_tools` says whether the provider has tool calls of its own, for acall().
    """

    vendor: ClassVar[str]
    """The provider's name, for messages."""
    native_tools: bool = False
    reply_bytes: int = DEFAULT_REPLY_BYTES
    billing: Literal["reported", "none", "table"] = "table"

    def __init__(
        self,
        model_name: str | None,
        timeout: float = DEFAULT_TIMEOUT,
        sampling_args: Mapping[str, Any] | None = None,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name, timeout, sampling_args, **kwargs)
        self.retries = max_retries
        self.tally = Tally()
        """The usage of all calls."""

    @abstractmethod
    def complete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """As completion(), with the usage of this call. `timeout` (seconds, retries included) lowers the client's own.

        Raises ValueError for an invalid prompt or a missing model name, and ProviderError for every failure of the
        provider.
        """

    @abstractmethod
    async def acomplete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """As complete(), for an event loop. Cancelling it ends the call, or at least stops waiting for it."""

    async def astream(
        self, prompt: Prompt, on_text: OnText, *, model: str | None = None, timeout: float | None = None
    ) -> Completion:
        """As acomplete(); `on_text` gets the text as it arrives, or all of it at once where a backend does not stream.

        A piece with the number 0 begins the text anew: what was before it is of an attempt that failed.
        """
        completion = await self.acomplete(prompt, model=model, timeout=timeout)
        on_text(0, completion.text)
        return completion

    async def acall(
        self, prompt: Prompt, tools: Sequence[ToolSpec], *, model: str | None = None, timeout: float | None = None
    ) -> Completion:
        """As acomplete(), with `tools` that the model may call. Raises ProviderError unless `native_tools` is true.

        A prompt may hold earlier calls and their results, in the form of rlm_secure.clients.tool_calls.
        """
        del prompt, tools, model, timeout
        raise ProviderError(
            f"the {self.vendor} client has no tool calls of its own; pass native_tools=False: calls are made in text"
        )

    def completion(self, prompt: Prompt, model: str | None = None) -> str:
        """The model's reply to `prompt`. `model` overrides the client's own for this call."""
        return self.complete(prompt, model=model).text

    async def acompletion(self, prompt: Prompt, model: str | None = None) -> str:
        """As completion(), without blocking the event loop."""
        return (await self.acomplete(prompt, model=model)).text

    def get_usage_summary(self) -> UsageSummary:
        """Usage of every call so far, by model."""
        return self.tally.summary()

    def get_last_usage(self) -> ModelUsageSummary:
        """Usage of the call that ended last."""
        return self.tally.last

    def inherit(self, parent: Client) -> None:
        """Share what can be shared with the client of a parent run: connections, or a script."""

    async def aclose(self) -> None:
        """Close the connections that belong to the running event loop."""

    def name_of(self, model: str | None) -> str:
        """The model of one call. Raises ValueError when neither the call nor the client names one."""
        name = model or self.model_name
        if not name:
            raise ValueError(f"Model name is required for {self.vendor} client.")
        return name

    @property
    def max_output_tokens(self) -> int | None:
        """Most output tokens of a reply, if a request limits them; None if only the provider knows."""
        found = [self.sampling_args.get(name) for name in _MOST_TOKENS]
        known = [each for each in found if isinstance(each, int) and not isinstance(each, bool) and each > 0]
        replies = self.sampling_args.get("n")
        return max(known) * (replies if isinstance(replies, int) and replies > 1 else 1) if known else None

    def seconds_of(self, timeout: float | None) -> float:
        """The timeout of one call, in seconds."""
        return self.timeout if timeout is None else min(self.timeout, timeout)


Asking = TypeVar("Asking", bound=Callable[..., Any])

#: Methods of clients that take Messages as well. No attribute of theirs: functools.wraps() would copy it.
_READS_ONLY: Final[set[Any]] = set()


def reads_only(method: Asking) -> Asking:
    """Mark a method of a client that also takes Messages as its prompt, and copies what it hands on: see asked_by().

    A method that overrides it is not marked.
    """
    _READS_ONLY.add(method)
    return method


def asked_by(method: Callable[..., Any], prompt: Prompt | Messages) -> Any:
    """`prompt` as `method` of a client takes it: Messages as a list of copies, which it may change, unless marked."""
    if isinstance(prompt, Messages) and getattr(method, "__func__", None) not in _READS_ONLY:
        return list(prompt)
    return prompt


class SDKClient(Client):
    """A provider used through its SDK. Subclasses implement `_send` and `_asend`, which make one attempt.

    This class provides what all of them share: one deadline for all attempts, a limit on the reply's bytes, retries,
    and errors that contain none of the provider's text. Where `native_tools` is true, an attempt offers `call.tools`.
    """

    def complete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """Make one call on this thread."""
        messages, name, call = as_messages(prompt), self.name_of(model), self._call(timeout)
        with call.running():
            for attempt in itertools.count():
                try:
                    return self._counted(self._send(messages, name, call), call)
                except Exception as error:  # noqa: BLE001  the text of any SDK error may contain a key
                    pause, failure = self._pause(error, call, attempt)
                if failure is not None:
                    raise failure from failure.__cause__
                time.sleep(pause)
        raise AssertionError("an attempt returns or raises")

    @reads_only
    async def acomplete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """Make one call on the running event loop; cancelling it aborts the request."""
        return await self._awaited(prompt, model, self._call(timeout))

    @reads_only
    async def astream(
        self, prompt: Prompt, on_text: OnText, *, model: str | None = None, timeout: float | None = None
    ) -> Completion:
        """As acomplete(), with the reply as a stream. See Client.astream."""
        call = self._call(timeout)
        call.on_text = on_text
        return await self._awaited(prompt, model, call)

    @reads_only
    async def acall(
        self, prompt: Prompt, tools: Sequence[ToolSpec], *, model: str | None = None, timeout: float | None = None
    ) -> Completion:
        """As acomplete(), with `tools` that the model may call. See Client.acall."""
        if not self.native_tools:
            return await super().acall(prompt, tools, model=model, timeout=timeout)
        call = self._call(timeout)
        call.tools = tuple(tools)
        return await self._awaited(prompt, model, call)

    async def _awaited(self, prompt: Prompt, model: str | None, call: ModelCall) -> Completion:
        messages, name = as_messages(prompt), self.name_of(model)
        limit = asyncio.timeout(call.left)
        try:
            async with limit:
                with call.running():
                    for attempt in itertools.count():
                        try:
                            if not call.streams:
                                return self._counted(await self._asend(messages, name, call), call)
                            call.begin_text()
                            return self._counted(await self._astream(messages, name, call), call)
                        except Exception as error:  # noqa: BLE001  as above
                            pause, failure = self._pause(error, call, attempt)
                        if failure is not None:
                            raise failure from failure.__cause__
                        await asyncio.sleep(pause)
        except TimeoutError:
            if not limit.expired():
                raise
        raise call.timed_out()

    def _call(self, timeout: float | None) -> ModelCall:
        return ModelCall(self.vendor, self.seconds_of(timeout), self.reply_bytes)

    def _counted(self, completion: Completion, call: ModelCall) -> Completion:
        """Count the usage and return the completion. Raises ProviderError if parsing it went past the deadline.

        Also for tool calls that are too large with the text: the text alone is measured by the gate.
        """
        self.tally.add(completion.model, completion.usage)
        if completion.tool_calls and completion.size > call.reply_bytes:
            raise call.too_large()
        call.wait()
        return completion

    def _pause(self, error: Exception, call: ModelCall, attempt: int) -> tuple[float, RLMSecureError | None]:
        """Seconds until the next attempt, or the error that ends the call: one of this package's, with a local cause.

        Raise it outside the `except` block of `error`: an exception keeps the one being handled as its context, and
        an SDK's exception holds the request with its key, and the provider's reply.
        """
        pause, failure = self._decided(error, call, attempt)
        if isinstance(failure, ProviderError):
            failure.cut_off = failure.cut_off or call.cut_off
        return pause, failure

    def _decided(self, error: Exception, call: ModelCall, attempt: int) -> tuple[float, RLMSecureError | None]:
        """As _pause()."""
        if call.failure is not None:
            return 0, _alone(call.failure)
        if call.left <= 0:
            return 0, _alone(call.timed_out(), local_cause(error))
        if isinstance(error, RLMSecureError):
            return 0, _alone(error, error.__cause__)
        failure = provider_error(self.vendor, error, call.seconds)
        pause = call.retry_after or min(_LONGEST_PAUSE, _PAUSE * 2**attempt) * random.uniform(0.75, 1)  # noqa: S311
        if not failure.retryable or not call.may_retry or attempt >= self.retries or pause >= call.left:
            return 0, _alone(failure, local_cause(error))
        return pause, None

    @abstractmethod
    def _send(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        """Make one attempt within `call.wait()` seconds, without retries of its own."""

    @abstractmethod
    async def _asend(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        """As _send(), on the running event loop."""

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        """As _asend(), with `call.say()` for each piece of text. By default, one piece."""
        completion = await self._asend(messages, model, call)
        call.say(completion.text)
        return completion


def _alone(error: RLMSecureError, cause: BaseException | None = None) -> RLMSecureError:
    """`error` with this cause, without its exception context and traceback."""
    error.__cause__, error.__context__ = cause, None
    return error.with_traceback(None)


class Foreign(Client):
    """A Client that wraps an object with upstream's four methods.

    The usage of a call is the increase of `get_usage_summary()` since the last call: exact in total, and exact
    per call unless calls overlap. Exceptions of the object pass through: they are the user's, not a provider's.
    """

    vendor = "custom"

    def __init__(self, wrapped: Any) -> None:
        name = getattr(wrapped, "model_name", None)
        super().__init__(name if isinstance(name, str) else None)
        self.wrapped = wrapped
        self._awaits = inspect.iscoroutinefunction(getattr(wrapped, "acompletion", None))
        self._seen = ModelUsageSummary(0, 0, 0)
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """Make one call, without a timeout: upstream's methods take none."""
        del timeout
        self._check_model(model)
        return self._accounted(self.wrapped.completion(prompt))

    async def acomplete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """Make one call and wait at most `timeout` seconds; a blocking call then continues in its thread."""
        self._check_model(model)
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                if self._awaits:
                    text = await self.wrapped.acompletion(prompt)
                else:
                    text = await in_thread(lambda: self.wrapped.completion(prompt))
        except TimeoutError:
            if limit.expired():
                said = f"the client did not reply within {timeout:g} seconds"
                raise ProviderError(said, retryable=True, cut_off=True) from None
            raise
        return self._accounted(text)

    def _check_model(self, model: str | None) -> None:
        if model is not None and self.model_name is not None and model != self.model_name:
            raise ProviderError(f"this client cannot serve the model {model!r}; register one that can")

    def _accounted(self, text: Any) -> Completion:
        if not isinstance(text, str):
            raise ProviderError(f"the client returned {type(text).__name__}, not text")
        summary = self.wrapped.get_usage_summary()
        with self._lock:
            total = total_usage(summary)
            grown = minus(total, self._seen)
            self._seen = total
        # Count this call even if the client does not count its calls.
        grown.total_calls = 1
        named = list(summary.model_usage_summaries) if isinstance(summary, UsageSummary) else []
        completion = Completion(text, self.model_name or (named[0] if len(named) == 1 else "unknown"), grown)
        self.tally.add(completion.model, grown)
        return completion


class InThread(Exception):
    """Carries an exception that a future cannot hold (KeyboardInterrupt, SystemExit, StopIteration) out of a thread."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


def adapt(client: Any) -> Client:
    """`client` itself if it is a Client, else a Client that wraps it and calls upstream's four methods."""
    return client if isinstance(client, Client) else Foreign(client)


async def in_thread(call: Callable[[], T]) -> T:
    """Await `call()` on a daemon thread that does nothing else meanwhile, with this task's context variables.

    Cancelling stops the wait, not the thread. Raises InThread for an exception that a future cannot hold.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)  # type: ignore[arg-type]  # the value is a T when there is no error
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:
            future.set_exception(InThread(error))

    def work() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = call()
        except BaseException as raised:  # noqa: BLE001  delivered to the task that awaits
            error = raised
        try:
            loop.call_soon_threadsafe(deliver, value, error)
        except RuntimeError:
            return  # the loop is closed: no task is waiting

    threads.start(functools.partial(context.run, work), "rlm-secure-call")
    return await future


def as_messages(prompt: object) -> list[dict[str, Any]]:
    """`prompt` as chat messages, new dicts each time, with lone surrogates made encodable.

    Raises ValueError for anything else, and for tool calls that are not in the form of rlm_secure.clients.tool_calls.
    """
    if isinstance(prompt, str):
        return [{"role": "user", "content": encodable(prompt)}]
    if isinstance(prompt, Messages):
        prompt = prompt.read()
    if isinstance(prompt, list) and all(isinstance(item, dict) and "role" in item for item in prompt):
        return [_as_message(item) for item in prompt]
    raise ValueError(f"Invalid prompt type: {type(prompt)}")


def _as_message(message: dict[str, Any]) -> dict[str, Any]:
    role, content = message["role"], message.get("content")
    plain = len(message) == 2 and isinstance(content, str) and content.isascii()
    if plain and isinstance(role, str) and role.isascii() and role != "tool":
        return message.copy()  # nearly every message of a long conversation
    calls_in(message)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise ValueError("Invalid message of a tool: it has no tool_call_id")
    return {key: encodable(value) for key, value in message.items()}


def estimated_tokens(text: str) -> int:
    """Estimated tokens of `text`: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / 4)


def estimated_prompt_tokens(messages: list[dict[str, Any]] | Messages) -> int:
    """As estimated_tokens() of prompt_text(); of Messages, each is counted once."""
    characters = messages.total(_line) if isinstance(messages, Messages) else sum(map(_line, messages))
    return math.ceil(max(0, characters - 1) / 4)


def _line(message: Mapping[str, Any]) -> int:
    """Characters of a message in prompt_text(), with the end of its line."""
    return len(encodable(message_text(message))) + 1


def prompt_text(messages: list[dict[str, Any]]) -> str:
    """All text of `messages`, for counting: their contents, and the names and arguments of tool calls."""
    return "\n".join(message_text(message) for message in messages)


def message_text(message: Mapping[str, Any]) -> str:
    """The text of one message, for counting. Raises ValueError as as_messages() does."""
    content = message.get("content")
    if type(content) is str and "tool_calls" not in message:
        return content
    return "\n".join((text_of(content), *(text for each in calls_in(message) for text in each.texts)))


def estimated_usage(
    messages: list[dict[str, Any]], call: ModelCall, text: str, calls: Sequence[ToolCall] = ()
) -> ModelUsageSummary:
    """The usage of one call where the provider reports none: of `messages` and tools, and of a text and tool calls."""
    written = text + "".join(part for each in calls for part in each.texts)
    return call_usage(estimated_tokens(prompt_text(messages) + offered_text(call.tools)), estimated_tokens(written))


def call_usage(input_tokens: Any, output_tokens: Any, cost: Any = None) -> ModelUsageSummary:
    """The usage of one call, as a provider reports it. A cost that is not a finite, positive number counts as unknown.

    Raises ProviderError for token counts that are not numbers: budgets depend on them.
    """
    amount = 0.0 if isinstance(cost, bool) or not isinstance(cost, int | float) else _finite(cost)
    return ModelUsageSummary(1, _tokens(input_tokens), _tokens(output_tokens), amount if amount > 0 else None)


def _tokens(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int | float) or count != count:
        raise ProviderError(f"the provider reported {type(count).__name__} where it counts tokens; check base_url")
    # An integer too large for a float could not be multiplied with a price.
    return int(max(0, min(count, _MOST_TOKENS_OF_A_CALL)))


def _finite(amount: float) -> float:
    """`amount` as a float; 0 if it is infinite, NaN, or an integer too large for a float."""
    try:
        return float(amount) if math.isfinite(amount) else 0.0
    except OverflowError:
        return 0.0


def total_usage(summary: Any) -> ModelUsageSummary:
    """The sum over all models of a UsageSummary; zero for any other object."""
    total = ModelUsageSummary(0, 0, 0)
    if isinstance(summary, UsageSummary):
        for usage in summary.model_usage_summaries.values():
            total = plus(total, usage)
    return total


def plus(left: ModelUsageSummary | None, right: ModelUsageSummary) -> ModelUsageSummary:
    """The sum, as a new object; its cost is known if either side has one."""
    left = left or ModelUsageSummary(0, 0, 0)
    costs = [cost for cost in (left.total_cost, right.total_cost) if cost is not None]
    return ModelUsageSummary(
        left.total_calls + right.total_calls,
        left.total_input_tokens + right.total_input_tokens,
        left.total_output_tokens + right.total_output_tokens,
        sum(costs) if costs else None,
    )


def minus(left: ModelUsageSummary, right: ModelUsageSummary) -> ModelUsageSummary:
    """`left` minus `right`, never below zero."""
    cost = None if left.total_cost is None else max(0.0, left.total_cost - (right.total_cost or 0.0))
    return ModelUsageSummary(
        max(0, left.total_calls - right.total_calls),
        max(0, left.total_input_tokens - right.total_input_tokens),
        max(0, left.total_output_tokens - right.total_output_tokens),
        cost,
    )
