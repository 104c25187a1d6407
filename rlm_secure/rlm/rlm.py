"""RLM: a language model that works on a context it never sees whole, through code that runs in a sandbox."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, cast

from pydantic import TypeAdapter

from rlm_secure import documents
from rlm_secure.clients import get_client, others_with_sampling, with_sampling
from rlm_secure.clients.base import Client, in_thread
from rlm_secure.clients.prices import Prices
from rlm_secure.clients.windows import Windows
from rlm_secure.environments import REPL, AuditSink, get_environment
from rlm_secure.environments.context import SharedContext
from rlm_secure.errors import (
    AuditLogError,
    CancellationError,
    LogError,
    PromptTooLarge,
    RLMSecureError,
    SessionEnded,
)
from rlm_secure.events import Event, Listener, RunCompleted, RunStarted
from rlm_secure.logger import RLMLogger, VerbosePrinter
from rlm_secure.loggers import logger
from rlm_secure.pickling import require_picklable
from rlm_secure.policy import Gate, Policy, load_policy
from rlm_secure.rlm import batch as _batch
from rlm_secure.rlm import prompts
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.rlm.assembly import joined, new_tree, opened
from rlm_secure.rlm.budget import LIMITS
from rlm_secure.rlm.children import child_of, run_child
from rlm_secure.rlm.completion import Run, log_of, plain_answer
from rlm_secure.rlm.config import RunConfig
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.tree import Tree, streamed
from rlm_secure.tools import parse_custom_tools
from rlm_secure.types import ClientBackend, EnvironmentType, Parsed, QueryMetadata, RLMChatCompletion, not_kept

_log = logger("rlm_secure")

#: Errors that end a run and carry its answer so far.
ENDS: Final = (*LIMITS, CancellationError, AuditLogError, LogError)

#: The attributes of RLM that configure a run.
_CONFIGURED: Final = tuple(each.name for each in fields(RunConfig))
#: Seconds between two attempts of close() to take the persistent session's lock from the completions that use it.
_CLOSE_AGAIN: Final = 0.05
_CLOSED: Final = "Execution cancelled: its RLM was closed"
CTRL_C: Final = "Execution cancelled by user (Ctrl+C)"


class RLM(Generic[Parsed]):
    """A recursive language model under a policy. Reusable and thread-safe; starts nothing before the first completion.

    The first thirty parameters are upstream's, in upstream's order. `policy` (a shipped name, a path, a mapping
    or a Policy) bounds all of them: it can only tighten what they ask for.

    - `backend`, `backend_kwargs`: the model provider, see `rlm_secure.clients.get_client`; `other_backends` (at most
      one) answers the root's `llm_query`. `sampling_args` and `sub_sampling_args` go into their requests.
    - `environment`, `environment_kwargs`: where cells run, see `rlm_secure.environments.get_environment`.
    - `depth`, `max_depth`: this run's depth in a tree of runs, and the depth at which a plain model answers.
    - `max_iterations` turns; `max_budget` US dollars, `max_tokens` and `max_timeout` seconds for the whole tree
      of runs; `max_errors` failed turns in a row.
    - `persistent`: keep the session, with its variables, contexts and histories, between completions; for no batch.
    - `custom_tools`, `custom_sub_tools` (None: the same for children): see `rlm_secure.tools`.
    - `compaction`: summarise the conversation when it fills `compaction_threshold_pct` of the model's context.
    - `max_concurrent_subcalls`: child runs at the same time, in the whole tree.
    - `on_subcall_start(depth, model, prompt)`, `on_subcall_complete(depth, model, seconds, error)`,
      `on_iteration_start(depth, number)`, `on_iteration_complete(depth, number, seconds)`: called in the thread of the
      run, for children too; what they raise is logged. `on_event` gets every `rlm_secure.events.Event`.
    - `answer_schema`: a pydantic type or a JSON Schema that the answer must fit; see `rlm_secure.rlm.answers`. A type
      is also that of `completion.parsed` for type checkers; give a union as `TypeAdapter(int | str)`.
    - `prices`: what models cost, where the provider does not report it and the bundled table (dated in
      `rlm_secure/clients/prices.toml`) lacks the model or is out of date: `{"my-model": (0.5, 1.5)}` are US dollars
      per million input and output tokens, "reported" trusts the provider's figures; see `rlm_secure.clients.prices`.
      A run with `max_budget`, or with an `lm.cost_usd` that differs from every shipped policy's, is refused for a
      model without a price unless the policy sets `lm.unpriced`.
    - `windows`: the most tokens of a prompt, by model, where the table in `rlm_secure.clients.windows` lacks the model
      or is out of date: `{"my-model": 128_000}`. A prompt that cannot fit is refused before it is sent.
    - `files`: what cells have as `files`, by name: bytes, a str, or a Path, which is read on the host. The policy must
      grant files (`standard` does). What the cells write is in `completion.files`. Children have files of their own.
    - `audit`: a `rlm_secure.logger.AuditLog` that records sessions, refusals, violations and limits.
    - `prompt_set`: the texts of the prompts ("ours", "final", "rlms"), see `rlm_secure.rlm.prompts`;
      `describe_session`: whether they include what the policy lets a cell do
      (None: yes for "ours" and "final", no for "rlms").

    Raises ValueError for arguments that contradict each other, PolicyError for a bad policy, and Refused for `files`
    under a policy that grants none.
    """

    def __init__(
        self,
        backend: ClientBackend | str = "openai",
        backend_kwargs: Mapping[str, Any] | None = None,
        environment: EnvironmentType | str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        depth: int = 0,
        max_depth: int = 1,
        max_iterations: int = 30,
        max_budget: float | None = None,
        max_timeout: float | None = None,
        max_tokens: int | None = None,
        max_errors: int | None = None,
        custom_system_prompt: str | None = None,
        other_backends: Sequence[ClientBackend | str] | None = None,
        other_backend_kwargs: Sequence[Mapping[str, Any]] | None = None,
        logger: RLMLogger | None = None,
        verbose: bool = False,
        persistent: bool = False,
        custom_tools: Mapping[str, Any] | None = None,
        custom_sub_tools: Mapping[str, Any] | None = None,
        compaction: bool = False,
        compaction_threshold_pct: float = 0.85,
        max_concurrent_subcalls: int = 4,
        on_subcall_start: Callable[[int, str, str], Any] | None = None,
        on_subcall_complete: Callable[[int, str, float, str | None], Any] | None = None,
        on_iteration_start: Callable[[int, int], Any] | None = None,
        on_iteration_complete: Callable[[int, int, float], Any] | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        sub_sampling_args: Mapping[str, Any] | None = None,
        orchestrator: bool = True,
        user_prologue: str | None = None,
        *,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        on_event: Listener | None = None,
        answer_schema: type[Parsed] | TypeAdapter[Parsed] | Mapping[str, Any] | None = None,
        audit: AuditSink | None = None,
        prompt_set: str = "ours",
        describe_session: bool | None = None,
        prices: Mapping[str, Any] | None = None,
        windows: Mapping[str, int | None] | None = None,
        files: Mapping[str, bytes | bytearray | str | Path] | None = None,
    ) -> None:
        if other_backends is not None and len(other_backends) != 1:
            raise ValueError(
                f"We currently only support one additional backend for the recursive sub-calls, "
                f"not {len(other_backends)}; give other_backends one name"
            )
        self.backend = backend
        self.backend_kwargs = with_sampling(backend_kwargs, sampling_args)
        self.environment_type = environment
        """Where cells run, by the name of the environment."""
        self.environment_kwargs = dict(environment_kwargs or {})
        self.depth = depth
        self.max_depth = max_depth
        self.max_iterations = max_iterations
        self.max_budget = max_budget
        self.max_timeout = max_timeout
        self.max_tokens = max_tokens
        self.max_errors = max_errors
        self.custom_system_prompt = custom_system_prompt
        """The system prompt; None for that of the set of prompts."""
        self.other_backends = None if other_backends is None else list(other_backends)
        self.other_backend_kwargs = others_with_sampling(other_backend_kwargs, other_backends, sub_sampling_args)
        """The arguments of each of `other_backends`."""
        if sub_sampling_args and other_backends is None:
            # Other sampling for sub-calls needs a client of its own: the same backend once more.
            self.other_backends = [backend]
            self.other_backend_kwargs = [with_sampling(self.backend_kwargs, sub_sampling_args)]
        self.logger = logger
        """What keeps the trajectory; None for nothing."""
        self.verbose = VerbosePrinter(enabled=verbose)
        """Prints turns and cells, where it is asked to."""
        self.persistent = persistent
        self.custom_tools = parse_custom_tools(custom_tools)
        self.custom_sub_tools = self.custom_tools if custom_sub_tools is None else parse_custom_tools(custom_sub_tools)
        self.compaction = compaction
        self.compaction_threshold_pct = compaction_threshold_pct
        self.max_concurrent_subcalls = max_concurrent_subcalls
        self.on_subcall_start = on_subcall_start
        self.on_subcall_complete = on_subcall_complete
        self.on_iteration_start = on_iteration_start
        self.on_iteration_complete = on_iteration_complete
        self.orchestrator = orchestrator
        """Whether the model is told to plan, and to let other models read."""
        self.user_prologue = user_prologue
        """Text before the first message of the user; None for none."""
        self.policy = load_policy(policy)
        self.on_event = on_event
        self.answer_schema = None if answer_schema is None else AnswerSchema(answer_schema)
        self.audit = audit
        self.prices = Prices(prices)
        self.windows = Windows(windows)
        self.files = dict(files or {})
        if self.files:
            Gate(self.policy).files().require()
        self.prompt_set = prompt_set
        self.words = prompts.prompt_set(prompt_set)
        """The set of prompts."""
        self.describe_session = self.words.describes_session if describe_session is None else describe_session
        self._persistent_env: REPL | None = None
        self._first_prompt: Any = None  # of the persistent session
        self._persistent_lock = threading.RLock()
        #: The trees whose completions use the persistent session, or wait for it.
        self._users: list[Tree] = []
        self.log_lock = threading.Lock()
        """Held while a completion has the logger."""
        self._cumulative_cost = 0.0
        self._consecutive_errors = 0
        self._last_error: str | None = None
        self._best_partial_answer: str | None = None

    def __reduce__(self) -> tuple[Callable[..., RLM[Parsed]], tuple[type[RLM[Parsed]], dict[str, Any]]]:
        """Its configuration: another process makes the same RLM, without sessions and totals. API keys are in it.

        Raises TypeError, which names it, for what another process cannot have: a function that is not at the top level
        of a module, an open client.
        """
        arguments = self.config.arguments()
        require_picklable(type(self).__qualname__, {"class": type(self), **arguments})
        return _made, (type(self), arguments)

    def changed(self, **options: Any) -> RLM[Parsed]:
        """Another RLM of the same class and configuration, but for `options`, which are those of the constructor."""
        return _made(type(self), {**self.config.arguments(), **options})

    # -- what users call -----------------------------------------------------------------------------

    def completion(self, prompt: Any, root_prompt: str | None = None) -> RLMChatCompletion[Parsed]:
        """Answer `root_prompt` (or the question in `prompt` itself) about the context `prompt`.

        `prompt` is a str, a list or a dict; it becomes the variable `context` of the cells. A Path, or one as a value
        of the list or dict, is read on the host: a file as its text, a directory as a dict from path to text. None asks
        about the contexts that a persistent session has already. Raises ContextError when it cannot be read, Refused
        when the policy refuses, PromptTooLarge (with a partial answer) when the conversation outgrows the model's
        window, EnvironmentUnavailable when no sandbox can be started, ProviderError when the run's own model fails, and
        upstream's exceptions, with a partial answer, when a limit ends the run.
        """
        with self._tree() as tree:
            return self.complete_in(tree, prompt, root_prompt)

    async def acompletion(self, prompt: Any, root_prompt: str | None = None) -> RLMChatCompletion[Parsed]:
        """As completion(), for an event loop. Cancelling the task ends the whole tree of runs."""
        return await self._tree().run(lambda tree: self.complete_in(tree, prompt, root_prompt))

    def stream(self, prompt: Any, root_prompt: str | None = None) -> Iterator[Event]:
        """Yield the events of one completion as they happen; the last is RunCompleted, with the completion.

        The root model's replies are asked for as streams: TextDelta has their text as it arrives.

        Raises what completion() raises, after the events. Leaving the loop early ends the run. The run does not wait
        for a slow reader: an EventsDropped replaces events beyond `limits.kept_bytes`, or 10,000, that are unread.
        """
        work = lambda tree: self.complete_in(tree, prompt, root_prompt)  # noqa: E731  named for the line's length
        return streamed(lambda listener: self._tree(listener, streams=True), work, self.policy.limits.kept_bytes)

    def batch(
        self,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None = None,
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], Any] | None = None,
        on_item: Callable[[_batch.Item[Parsed]], Any] | None = None,
        resume: Iterable[_batch.Item[Parsed]] = (),
        engine: str = _batch.THREADS,
    ) -> list[_batch.Item[Parsed]]:
        """Complete several prompts at the same time under one shared allowance; see rlm_secure.rlm.batch.

        `on_item(item)` and then `on_progress(done, of)` are called after each prompt, in any order of prompts. `resume`
        takes items of an earlier batch of the same prompts: those with a completion are not run again. `engine` is
        "threads", or "ray" for several machines: see rlm_secure.scale.ray.

        Raises ValueError for a persistent RLM: in its one session a prompt would find the contexts of others.
        """
        with self._tree() as tree:
            return self._batched(tree, engine, prompts, root_prompts, concurrency, on_progress, on_item, resume)

    async def abatch(
        self,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None = None,
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], Any] | None = None,
        on_item: Callable[[_batch.Item[Parsed]], Any] | None = None,
        resume: Iterable[_batch.Item[Parsed]] = (),
        engine: str = _batch.THREADS,
    ) -> list[_batch.Item[Parsed]]:
        """As batch(), for an event loop. Cancelling the task ends all its runs."""
        return await self._tree().run(
            lambda tree: self._batched(tree, engine, prompts, root_prompts, concurrency, on_progress, on_item, resume),
        )

    def batch_as_completed(
        self,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None = None,
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], Any] | None = None,
        resume: Iterable[_batch.Item[Parsed]] = (),
        engine: str = _batch.THREADS,
    ) -> Generator[_batch.Item[Parsed], None, None]:
        """As batch(), but yield each item as it comes: in any order, and not those that `resume` has.

        Nothing runs before the first item is asked for; then the batch goes on, and waits for no reader. What batch()
        raises is raised by the loop, after the items before it. Leaving the loop early ends all runs; where the
        iterator has a name, `contextlib.closing` leaves it at once.
        """
        return _batch.as_completed(
            self._tree,
            lambda tree, on_item: self._batched(
                tree, engine, prompts, root_prompts, concurrency, on_progress, on_item, resume
            ),
        )

    def abatch_as_completed(
        self,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None = None,
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], Any] | None = None,
        resume: Iterable[_batch.Item[Parsed]] = (),
        engine: str = _batch.THREADS,
    ) -> AsyncGenerator[_batch.Item[Parsed], None]:
        """As batch_as_completed(), for `async for`. Cancelling the task ends all runs; so does leaving the loop, at
        once inside `contextlib.aclosing`."""
        return _batch.as_completed_async(
            self._tree,
            lambda tree, on_item: self._batched(
                tree, engine, prompts, root_prompts, concurrency, on_progress, on_item, resume
            ),
        )

    def close(self) -> None:
        """Close the persistent session, if there is one. The RLM can be used again. Idempotent.

        Completions that use the session, or wait for it, end with CancellationError. Raises WrongProcess in a fork of
        the process that opened the session, and ReentrantCall in a tool that one of its cells called.
        """
        self._require()
        while True:
            # Stop before locking: a callback inside a completion already holds this reentrant lock, and the completion
            # would otherwise continue in a new session.
            for tree in tuple(self._users):
                tree.stop(_CLOSED)
            if self._persistent_lock.acquire(timeout=_CLOSE_AGAIN):
                break
        try:
            environment, self._persistent_env = self._persistent_env, None
            self._first_prompt = None
        finally:
            self._persistent_lock.release()
        if environment is not None:
            environment.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await in_thread(self.close)

    # -- one completion ------------------------------------------------------------------------------

    def _tree(self, *listeners: Listener, streams: bool = False) -> Tree:
        """A new tree of runs, not yet entered."""
        return new_tree(
            self.policy,
            max_budget=self.max_budget,
            max_tokens=self.max_tokens,
            max_timeout=self.max_timeout,
            listeners=(self.on_event, *listeners),
            prices=self.prices,
            windows=self.windows,
            whose=self,
            children=max(1, min(self.max_concurrent_subcalls, self.policy.lm.concurrency)),
            streams=streams,
        )

    def complete_in(
        self, tree: Tree, prompt: Any, root_prompt: str | None = None, parent: Client | None = None
    ) -> RLMChatCompletion[Parsed]:
        """Run one completion inside a tree that the caller entered; `parent` is the client of the parent run.

        For batches and children: completion() makes a tree of its own. Raises what completion() raises.
        """
        prompt = documents.resolved(prompt, self.policy.limits.context_bytes)
        config = self.config
        gate = Gate(self.policy, config.models)
        gate.depth(self.max_depth).require()
        leaf = self.depth >= self.max_depth
        tree.emit(
            RunStarted(depth=self.depth, model=config.root_model, environment=None if leaf else self.environment_type)
        )
        run: Run | None = None
        completion: RLMChatCompletion[Parsed] | None = None
        try:
            with ExitStack() as stack:
                handler = self._handler(tree, gate, parent)
                if leaf:
                    completion = plain_answer(handler, config.root_model, prompt, root_prompt)
                else:
                    run = self._run(config, stack, tree, handler, prompt, root_prompt)
                    completion = run.complete()
        except BaseException as error:
            partial = None if run is None else run.partial if completion is None else completion.response
            tree.emit(RunCompleted(depth=self.depth, completion=None, error=type(error).__name__))
            if isinstance(error, KeyboardInterrupt):
                tree.stop(CTRL_C)
                raise CancellationError(partial, CTRL_C) from None
            if isinstance(error, (*ENDS, PromptTooLarge)) and error.partial_answer is None:
                error.partial_answer = partial
            if isinstance(error, RLMSecureError):
                self.verbose.print_limit_exceeded(type(error).__name__, str(error))
            raise
        finally:
            self._remember(tree, run)
        if self.depth == 0:
            completion.notices = tree.notices
        tree.emit(RunCompleted(depth=self.depth, completion=completion, error=None))
        return completion

    def _run(
        self,
        config: RunConfig,
        stack: ExitStack,
        tree: Tree,
        handler: LMHandler,
        prompt: Any,
        root_prompt: str | None,
    ) -> Run:
        """Create the run of one completion, with its log and its environment; `stack` closes both."""
        further = prompt is None and self._first_prompt is not None
        prompt = self._first_prompt if further else prompt
        shared = prompt if isinstance(prompt, SharedContext) else None
        facts = QueryMetadata(cast(Any, prompt)) if shared is None or shared.facts is None else shared.facts
        asked = prompt if shared is None else not_kept(shared.size)  # whoever shares it has it
        log = log_of(
            config.logger,
            self.log_lock,
            stack,
            tree,
            data=config.policy.data,
            metadata=config.metadata,
            withhold=config.custom_tools,
            depth=config.depth,
        )
        environment = self._session(stack, tree, handler, prompt, further=further)

        def reopen(lost: REPL) -> REPL:
            return self._reopened(tree, lost, handler, prompt)

        try:
            run = Run(config, tree, handler, environment, reopen, asked, facts, root_prompt, log)
        except BaseException:  # Ctrl-C as well: the session must not outlive it
            if not self.persistent:
                environment.cleanup()
            raise
        if not self.persistent:
            stack.callback(lambda: run.environment.cleanup())
        return run

    def _batched(
        self,
        tree: Tree,
        engine: str,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None,
        concurrency: int,
        on_progress: Callable[[int, int], Any] | None,
        on_item: Callable[[_batch.Item[Parsed]], Any] | None,
        resume: Iterable[_batch.Item[Parsed]],
    ) -> list[_batch.Item[Parsed]]:
        if self.persistent:
            raise ValueError(
                "the prompts of a batch would share one persistent session, and find each other's contexts; "
                "use rlm.changed(persistent=False).batch(...)"
            )
        work = _batch.Batch(
            tree,
            prompts,
            root_prompts,
            concurrency=concurrency,
            on_progress=on_progress,
            on_item=on_item,
            resume=resume,
        )
        try:
            return _batch.run(engine, self, work)
        finally:
            self._remember(tree, None)

    def _remember(self, tree: Tree, run: Run | None) -> None:
        """Set upstream's attributes on the latest completion, for programs that read them."""
        self._cumulative_cost = tree.ledger.spent.cost_usd
        if run is not None:
            self._consecutive_errors, self._last_error = run.meter.errors, run.meter.last_error
            self._best_partial_answer = run.partial

    @property
    def root_model(self) -> str:
        """The name of the run's own model; see rlm_secure.clients.model_of."""
        return self.config.root_model

    @property
    def config(self) -> RunConfig:
        """A snapshot of the RLM's attributes. A run uses the snapshot taken when it began."""
        return RunConfig(**{name: getattr(self, name) for name in _CONFIGURED})

    def _client(self, backend: str, kwargs: Mapping[str, Any], tree: Tree, parent: Client | None) -> Client:
        client = get_client(backend, dict(kwargs))
        return joined(tree, self.policy, client, kwargs.get("model_name"), depth=self.depth, parent=parent)

    def _handler(self, tree: Tree, gate: Gate, parent: Client | None) -> LMHandler:
        """Create the handler for the cells of one completion, with its clients and a function to start children."""
        client = self._client(self.backend, self.backend_kwargs, tree, parent)
        other = None
        if self.other_backends and self.other_backend_kwargs:
            other = self._client(self.other_backends[0], self.other_backend_kwargs[0], tree, None)
        handler = LMHandler(
            client,
            other_backend_client=other,
            tree=tree,
            gate=gate,
            depth=self.depth,
            audit=self.audit,
            make_client=lambda model: self._client(
                self.backend, {**self.backend_kwargs, "model_name": model}, tree, client
            ),
        )
        if self.depth + 1 < self.max_depth:
            handler.recursion = lambda prompt, model: self._child(tree, client, prompt, model)
        return handler

    def _session(self, stack: ExitStack, tree: Tree, handler: LMHandler, prompt: Any, *, further: bool) -> REPL:
        """The environment of one completion: a new one, or the persistent one, `further` without one more context."""
        if not self.persistent:
            return self._environment(tree, handler, prompt)
        self._require()
        self._users.append(tree)
        stack.callback(self._users.remove, tree)
        stack.enter_context(self._persistent_lock)
        tree.check()
        if self._persistent_env is None:
            self._persistent_env = self._environment(tree, handler, prompt)
            self._first_prompt = prompt
            return self._persistent_env
        self._persistent_env.update_handler(handler)
        if further:
            return self._persistent_env
        try:
            with tree.running(self._persistent_env):
                self._persistent_env.add_context(prompt)
        except SessionEnded as ended:
            _log.warning("the persistent session is replaced, its variables are gone: %s", ended)
            return self._reopened(tree, self._persistent_env, handler, prompt)
        return self._persistent_env

    def _require(self) -> None:
        """Raise if the persistent session cannot be used from here, before waiting for its lock."""
        if self._persistent_env is not None:
            self._persistent_env.require()

    def _environment(self, tree: Tree, handler: LMHandler, prompt: Any) -> REPL:
        """A new environment."""
        options = {
            **self.environment_kwargs,
            "policy": self.policy,
            "audit": self.audit,
            "calls": handler,
            "context_payload": prompt,
            "running": tree.running,
            "persistent": self.persistent,
            "depth": self.depth + 1,
            "custom_tools": self.custom_tools,
            "compaction": self.compaction,
            "max_concurrent_subcalls": self.max_concurrent_subcalls,
        }
        if not self.persistent:  # a persistent session outlives its tree
            options["reservation"] = tree.sandboxes.reserve(below=max(0, self.max_depth - 1 - self.depth))
        return opened(
            tree, lambda: get_environment(self.environment_type, options), depth=self.depth, files=self.files
        )

    # -- children ------------------------------------------------------------------------------------

    def _subcall(self, prompt: str, model: str | None = None) -> RLMChatCompletion:
        """Run a child, or a plain model at the leaf, outside any other run. Raises AuditLogError alone."""
        with self._tree() as tree:
            return self._child(tree, None, prompt, model)

    def _child(self, tree: Tree, client: Client | None, prompt: str, model: str | None) -> RLMChatCompletion:
        """Run one level deeper, in a sandbox of its own, on the same ledger."""
        config = child_of(self.config, model)
        child = RLM(**config.arguments())
        return run_child(tree, config, prompt, lambda: child.complete_in(tree, prompt, parent=client))

    def _reopened(self, tree: Tree, lost: REPL, handler: LMHandler, prompt: Any) -> REPL:
        """Replace a lost environment with a new one."""
        lost.cleanup()
        environment = self._environment(tree, handler, prompt)
        if self.persistent:
            self._persistent_env = environment
        return environment


def _made(kind: type[RLM[Any]], arguments: dict[str, Any]) -> RLM[Any]:
    return kind(**arguments)
