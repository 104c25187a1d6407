"""What an agent is told, and one run of it: its model, sessions, limits and log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rlm_secure.clients import get_client, model_of, with_sampling
from rlm_secure.clients.base import Completion
from rlm_secure.clients.prices import Prices
from rlm_secure.clients.tool_calls import ToolSpec
from rlm_secure.clients.windows import Windows
from rlm_secure.environments import REPL, AuditSink, get_environment
from rlm_secure.environments.registry import get_environment_class
from rlm_secure.errors import (
    CallRefused,
    CancellationError,
    CellCrashed,
    CellRefused,
    LogError,
    PromptTooLarge,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.events import (
    CellCompleted,
    CellStarted,
    Event,
    Listener,
    RunCompleted,
    RunStarted,
    StageStarted,
    TurnCompleted,
    TurnStarted,
    Violation,
)
from rlm_secure.logger import RLMLogger
from rlm_secure.pickling import Unpicklable
from rlm_secure.policy import Gate, Policy, load_policy
from rlm_secure.rlm.assembly import joined, new_tree, opened
from rlm_secure.rlm.completion import log_of
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.rlm import CTRL_C, ENDS
from rlm_secure.rlm.tree import Tree, streamed
from rlm_secure.tools import Toolbox
from rlm_secure.tools.hostcall import HostCall, abandoned
from rlm_secure.turns import Messages
from rlm_secure.types import (
    CodeBlock,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
)

C = TypeVar("C", bound=RLMChatCompletion)

#: Seconds between two looks whether the run was stopped while a tool runs.
_LOOK = 0.05


class Agent(Unpicklable):
    """What an agent is told of its model, its sandbox and its limits; the names and the meaning are those of RLM.

    - `backend`, `backend_kwargs`, `sampling_args`: the model, see `rlm_secure.clients.get_client`.
    - `environment`, `environment_kwargs`: where its code runs. `policy` bounds all of it, and only tightens.
    - `max_budget` US dollars, `max_tokens` and `max_timeout` seconds for one run.
    - `logger` gets every turn, `on_event` every event, `audit` (an AuditLog) every session, refusal and violation.
    - `prices`, `windows`: see RLM.

    Reusable and thread-safe: each run has a tree, a ledger and sessions of its own. Raises PolicyError,
    ValueError for an environment that is not known, and MissingExtra for one that is not installed.
    """

    pickle_instead = "send the arguments that it is made from, and create it there"
    name: ClassVar[str] = "agent"
    """What its log calls it."""
    data_names: ClassVar[frozenset[str]] = frozenset()
    """Variables of its sessions that hold the data which it was given: a log has them if data.log_context says so."""

    def __init__(
        self,
        backend: str = "openai",
        backend_kwargs: Mapping[str, Any] | None = None,
        environment: str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        *,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        max_budget: float | None = None,
        max_tokens: int | None = None,
        max_timeout: float | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        logger: RLMLogger | None = None,
        on_event: Listener | None = None,
        audit: AuditSink | None = None,
        prices: Mapping[str, Any] | None = None,
        windows: Mapping[str, int | None] | None = None,
    ) -> None:
        self.backend = backend
        self.backend_kwargs = with_sampling(backend_kwargs, sampling_args)
        self.environment_type = environment
        get_environment_class(environment)  # before a model is asked and paid
        self.environment_kwargs = dict(environment_kwargs or {})
        self.policy = load_policy(policy)
        self.max_budget, self.max_tokens, self.max_timeout = max_budget, max_tokens, max_timeout
        self.logger = logger
        self.on_event = on_event
        self.audit = audit
        self.prices = Prices(prices)
        self.windows = Windows(windows)
        self.log_lock = threading.Lock()

    @property
    def model(self) -> str:
        """The name of its model."""
        return model_of(self.backend, self.backend_kwargs)

    def metadata(self, limit: int) -> RLMMetadata:
        """The first record of a log; `limit` is the most turns of the run."""
        return RLMMetadata(
            root_model=self.model,
            max_depth=0,
            max_iterations=limit,
            backend=self.backend,
            backend_kwargs=self.backend_kwargs,
            environment_type=self.environment_type,
            environment_kwargs=self.environment_kwargs,
        )

    # -- the three ways to run one, for subclasses ----------------------------------------------------

    def _complete(self, work: Callable[[AgentRun], C], limit: int) -> C:
        """`work(run)` in this thread; `limit` is the most turns."""
        with self._tree() as tree:
            return self._complete_in(tree, work, limit)

    async def _acomplete(self, work: Callable[[AgentRun], C], limit: int) -> C:
        """As _complete(), for an event loop: cancelling the task ends the run."""
        return await self._tree().run(lambda tree: self._complete_in(tree, work, limit))

    def _stream(self, work: Callable[[AgentRun], C], limit: int) -> Iterator[Event]:
        """The events of the run as they happen; see RLM.stream."""
        return streamed(
            lambda listener: self._tree(listener, streams=True),
            lambda tree: self._complete_in(tree, work, limit),
            self.policy.limits.kept_bytes,
        )

    def _tree(self, *listeners: Listener, streams: bool = False) -> Tree:
        return new_tree(
            self.policy,
            max_budget=self.max_budget,
            max_tokens=self.max_tokens,
            max_timeout=self.max_timeout,
            listeners=(self.on_event, *listeners),
            prices=self.prices,
            windows=self.windows,
            whose=self,
            streams=streams,
        )

    def _complete_in(self, tree: Tree, work: Callable[[AgentRun], C], limit: int) -> C:
        """One run inside a tree that the caller entered, of no more turns than the policy has. Raises as RLM does."""
        limit = min(limit, self.policy.lm.iterations)
        tree.emit(RunStarted(depth=0, model=self.model, environment=self.environment_type))
        run: AgentRun | None = None
        try:
            with ExitStack() as stack:
                run = AgentRun(self, tree, stack, limit)
                completion = work(run)
        except BaseException as error:
            partial = None if run is None else run.partial
            tree.emit(RunCompleted(depth=0, completion=None, error=type(error).__name__))
            if isinstance(error, KeyboardInterrupt):
                tree.stop(CTRL_C)
                raise CancellationError(partial, CTRL_C) from None
            if isinstance(error, (*ENDS, PromptTooLarge)) and error.partial_answer is None:
                error.partial_answer = partial
            raise
        completion.notices = tree.notices
        tree.emit(RunCompleted(depth=0, completion=completion, error=None))
        return completion


class AgentRun:
    """One run of `agent`, of at most `limit` turns. `stack` closes its sessions and its log.

    `partial` is the best answer so far, for a run that ends early.
    """

    def __init__(self, agent: Agent, tree: Tree, stack: ExitStack, limit: int) -> None:
        self.agent = agent
        self.policy = agent.policy
        self.tree = tree
        self.limit = limit
        self.partial: str | None = None
        self.number = 0
        kwargs = agent.backend_kwargs
        models = frozenset({kwargs["model_name"]} if kwargs.get("model_name") else ())
        self.gate = Gate(agent.policy, models)
        made = get_client(agent.backend, dict(kwargs))
        self.client = joined(tree, agent.policy, made, kwargs.get("model_name"))
        self.handler = LMHandler(self.client, tree=tree, gate=self.gate, depth=0, audit=agent.audit)
        self._stack = stack
        data = agent.policy.data
        self._log = log_of(
            agent.logger,
            agent.log_lock,
            stack,
            tree,
            data=data,
            metadata=agent.metadata(limit),
            withhold=() if data.log_context else agent.data_names,
        )
        self._began = self._turn_began = time.monotonic()
        self._tool_calls = 0

    # -- the model ------------------------------------------------------------------------------------

    def ask(
        self,
        messages: list[dict[str, Any]] | Messages,
        *,
        purpose: str = "turn",
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """The model's reply, reserved and settled in the ledger; its text is the partial answer until there is another.

        Raises what RLM's own turns raise: a limit, ProviderError, PromptTooLarge, CancellationError.
        """
        completion = self.handler.ask(messages, purpose=purpose, tools=tools)
        self.partial = completion.text or self.partial
        return completion

    # -- sessions -------------------------------------------------------------------------------------

    def session(self, files: Mapping[str, bytes | bytearray | str | Path] | None = None, **options: Any) -> REPL:
        """A new session with `files` that returns values; `options` are those of REPL. The run closes it at its end.

        Make every request to it inside `running()`: so the run's deadline and its stop apply.
        """
        self.tree.check(self.partial)
        agent = self.agent
        given = {
            **agent.environment_kwargs,
            "policy": self.policy,
            "audit": agent.audit,
            "running": self.tree.running,
            "with_values": True,
            "reservation": self.tree.sandboxes.reserve(below=0),
            **options,
        }
        repl = opened(self.tree, lambda: get_environment(agent.environment_type, given), files=files)
        self._stack.callback(repl.cleanup)
        return repl

    def running(self, repl: REPL) -> AbstractContextManager[None]:
        """Interrupt `repl` if the run is stopped inside the block. Raises as check()."""
        return self.tree.running(repl)

    def run_cell(self, repl: REPL, code: str) -> CodeBlock:
        """Run one cell of the turn, with the events of one. A session that it ends is in its error (`session_ended`).

        Raises as check() if the run was stopped.
        """
        self.emit(CellStarted(depth=0, number=self.number, index=1, code=code))
        try:
            with self.running(repl):
                result = repl.execute_code(code)
        except (SessionEnded, ProtocolViolation) as lost:
            self.check()
            if isinstance(lost, ProtocolViolation):
                self.emit(Violation(depth=0, rule="protocol", message=str(lost)))
            told = f"{type(lost).__name__}: {lost}"
            result = REPLResult("", f"\n{told}", {}, error=CellCrashed(told, session_ended=True))
        block = CodeBlock(code, result)
        self.emit(CellCompleted(depth=0, number=self.number, index=1, block=block))
        if isinstance(result.error, CellRefused | WallViolation):
            rule = result.error.rule or result.error.wall or "language"
            self.emit(Violation(depth=0, rule=rule, message=str(result.error)))
        return block

    # -- tools ----------------------------------------------------------------------------------------

    def call(self, toolbox: Toolbox, name: str, arguments: Mapping[str, Any]) -> Any:
        """What the tool returns, as a JSON value. Raises CallRefused and CallFailed, and what check() raises.

        A tool that takes longer than limits.tool_seconds is left behind in its thread.
        """
        self._tool_calls += 1
        self.gate.tool_calls(self._tool_calls).require(CallRefused)
        self.gate.abandoned(*abandoned(self, self.agent)).require(CallRefused)
        began = time.monotonic()
        host = HostCall(lambda: toolbox.call(name, (), arguments), self, self.agent)
        try:
            while not host.wait(_LOOK):
                self.check()
                self.gate.tool_seconds(name, time.monotonic() - began).require(CallRefused)
        except BaseException:  # Ctrl-C as well: nothing waits for the call any more
            host.abandon()
            raise
        return host.result()

    def refused(self, rule: str, reason: str) -> None:
        """Tell the listeners and the audit log that something was refused."""
        self.emit(Violation(depth=0, rule=rule, message=reason))
        if self.agent.audit is not None:
            self.agent.audit.refusal(f"{self.agent.name} run", rule=rule, reason=reason)

    # -- turns, limits and records --------------------------------------------------------------------

    def begin(self, *, stage: str | None = None, reason: str | None = None) -> int:
        """Begin the next turn: check the limits, tell the listeners. Returns its number, counted from 1."""
        self.check()
        self.number += 1
        self.emit(TurnStarted(depth=0, number=self.number, limit=self.limit))
        if stage is not None:
            self.emit(StageStarted(depth=0, number=self.number, stage=stage, reason=reason))
        self._turn_began = time.monotonic()
        return self.number

    def record(self, iteration: RLMIteration, error: str | None = None) -> None:
        """End the turn: log it and tell the listeners. Raises LogError if the policy requires the log."""
        seconds = time.monotonic() - self._turn_began
        iteration.iteration_time = seconds
        if self._log is not None:
            try:
                self._log.log(iteration)
            except LogError as failed:
                failed.partial_answer = self.partial
                raise
        self.emit(TurnCompleted(depth=0, number=self.number, seconds=seconds, error=error))

    def check(self) -> None:
        """Raise upstream's exception, with the partial answer, for a limit that the run exceeded, or its stop."""
        self.tree.check(self.partial)
        self.tree.ledger.check(after=self.number, partial_answer=self.partial)

    def emit(self, event: Event) -> None:
        """Tell the listeners."""
        self.tree.emit(event)

    def notice(self, kind: str, message: str) -> None:
        """Add a notice to the completion, once."""
        self.tree.notice(0, kind, message)

    def completion_fields(self, prompt: Any, response: str) -> dict[str, Any]:
        """The fields of RLMChatCompletion, for the completion of this run."""
        return {
            "root_model": self.client.model_name or self.agent.model,
            "prompt": prompt,
            "response": response,
            "usage_summary": self.handler.get_usage_summary(),
            "execution_time": time.monotonic() - self._began,
            "metadata": None if self._log is None else self._log.trajectory(),
        }
