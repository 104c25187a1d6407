"""The ReAct agent: thought, action, observation, until the model calls `final_answer`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import TypeAdapter

from rlm_secure import documents
from rlm_secure.agents.agent import Agent, AgentRun
from rlm_secure.agents.react import prompts
from rlm_secure.agents.react.python import NAME as _PYTHON
from rlm_secure.agents.react.python import PythonTool, run_in_sandbox, shown
from rlm_secure.agents.react.reply import NOTHING, Step, native, read, spoken
from rlm_secure.agents.react.tool import CheckedTool, FinalAnswerCalled, Tool, checked, final_answer
from rlm_secure.checks import Steps
from rlm_secure.clients.base import Completion
from rlm_secure.clients.tool_calls import ToolCall
from rlm_secure.errors import CallFailed, CallRefused, NoFinalAnswerError
from rlm_secure.events import AnswerReady, AnswerRejected, Event, ToolCalled
from rlm_secure.inert import inert_for_model
from rlm_secure.policy import Gate
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.rlm.prompts import describe_session
from rlm_secure.tools import Toolbox, ToolError
from rlm_secure.tools.plain import plain
from rlm_secure.turns import Messages
from rlm_secure.types import (
    Action,
    AskedIteration,
    CodeBlock,
    Parsed,
    RLMChatCompletion,
    held_bytes,
    json_safe,
    not_kept,
)

FINAL: Final = "final_answer"
#: Most characters of an observation that the model reads.
_OBSERVED: Final = 20_000


@dataclass(frozen=True, slots=True)
class ReActStep:
    """One step of a run: what the model wrote, what was called, and what it was told.

    `action` is None where the reply had none; `input` is a JSON value, or the text that was none. `error` is why the
    call failed, None where it did not.
    """

    number: int
    """The step, from 1."""
    thought: str
    """What the model wrote before the action."""
    action: str | None
    input: Any
    observation: str | None
    """What the model was told of the call."""
    error: str | None
    seconds: float
    """How long the step took."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        return {
            "number": self.number,
            "thought": self.thought,
            "action": self.action,
            "input": json_safe(self.input),
            "observation": self.observation,
            "error": self.error,
            "seconds": json_safe(self.seconds),
        }


@dataclass
class ReActCompletion(RLMChatCompletion[Parsed]):
    """The end of a run: `answer` as a JSON value, `response` its text, `parsed` under `answer_schema`, the `steps`."""

    answer: Any = None
    steps: list[ReActStep] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As RLMChatCompletion's, with `answer` and `steps`."""
        steps = [each.to_dict() for each in self.steps]
        return {**super().to_dict(), "answer": json_safe(self.answer), "steps": steps}


class ReActAgent(Agent):
    """An agent that calls one tool in each step, and ends when its model calls `final_answer`.

    Examples:
        >>> agent = ReActAgent([add_numbers], backend_kwargs={"model_name": "gpt-5-mini"})
        >>> agent.run("What is 25 + 17?").answer
        42

    `tools` are functions, Tools, or a mapping from names to them: they run on the host, and each is an opening that you
    make; their arguments are checked against their annotations, a failure becomes an observation, and the text of an
    exception other than `ToolError` is withheld. `final_answer` is always there. `python=True` adds the tool `python`:
    a sandbox session under the policy, which keeps its variables for the run.

    - `max_steps` replies of the model, `limits.tool_seconds` of the policy for each tool; the others are Agent's.
    - `answer_schema`: a type or JSON Schema that the answer must fit (see RLM); `on_answer(answer)` may refuse it by
      raising ToolError, or return another in its place. What does not fit becomes an observation.
    - `native_tools`: use the provider's tool calls (None: where the client has them). The loop is the same.
    - `instructions` are added to the system prompt.

    Raises ValueError for a tool that no model could call, and PolicyError for a bad policy.
    """

    name: ClassVar[str] = "react"

    def __init__(
        self,
        tools: Iterable[Any] | Mapping[str, Any] = (),
        backend: str = "openai",
        backend_kwargs: Mapping[str, Any] | None = None,
        environment: str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        *,
        python: bool = False,
        max_steps: int = 20,
        answer_schema: type[Any] | TypeAdapter[Any] | Mapping[str, Any] | None = None,
        on_answer: Callable[[Any], Any] | None = None,
        native_tools: bool | None = None,
        instructions: str = "",
        **told: Any,
    ) -> None:
        super().__init__(backend, backend_kwargs, environment, environment_kwargs, **told)
        if max_steps < 1:
            raise ValueError(f"max_steps is {max_steps}; an agent takes one step at least")
        self.max_steps = max_steps
        self.python = python
        self.native_tools = native_tools
        self.instructions = instructions
        self.on_answer = on_answer
        self.answer_schema = None if answer_schema is None else AnswerSchema(answer_schema)
        self.tools = checked(tools, reserved=(FINAL, _PYTHON))
        if python:
            self.tools[_PYTHON] = CheckedTool(Tool(run_in_sandbox, _PYTHON, prompts.PYTHON))
        self.tools[FINAL] = CheckedTool(Tool(final_answer, FINAL, prompts.FINAL_ANSWER))
        functions = {name: tool.function for name, tool in self.tools.items() if name != _PYTHON}
        self.toolbox = Toolbox(functions, self.policy, through=(FinalAnswerCalled,))
        """The tools, with what models are told of each."""

    # -- what users call ------------------------------------------------------------------------------

    def run(
        self,
        question: str,
        context: Any = None,
        files: Mapping[str, bytes | bytearray | str | Path] | None = None,
    ) -> ReActCompletion[Any]:
        """Answer `question`. `context` and `files` are those of the `python` tool's session, as RLM has them.

        Raises NoFinalAnswerError when the steps are used up, what RLM.completion raises for a limit, a provider that
        fails or a sandbox that cannot be started, and SessionEnded when the python tool's session ended too often.
        """
        return self._complete(self._work(question, context, files), self.max_steps)

    async def arun(
        self,
        question: str,
        context: Any = None,
        files: Mapping[str, bytes | bytearray | str | Path] | None = None,
    ) -> ReActCompletion[Any]:
        """As run(), for an event loop. Cancelling the task ends the run."""
        return await self._acomplete(self._work(question, context, files), self.max_steps)

    def stream(
        self,
        question: str,
        context: Any = None,
        files: Mapping[str, bytes | bytearray | str | Path] | None = None,
    ) -> Iterator[Event]:
        """Yield the events of a run as they happen; the last is RunCompleted, with the completion. See RLM.stream."""
        return self._stream(self._work(question, context, files), self.max_steps)

    def execute_tool(self, name: str, arguments: Any) -> str:
        """Call one tool as a run does, and return the observation; a failure is one as well.

        Raises FinalAnswerCalled for `final_answer`, and nothing else. `python` needs a run, and has none here.
        """
        try:
            return _observation(self.toolbox.call(name, (), self.arguments(name, arguments)))
        except CallFailed as failed:
            return _failure(str(failed))

    def arguments(self, name: str, given: Any) -> Mapping[str, Any]:
        """The arguments of a call, checked so far as the function's own annotations do not. Raises CallFailed."""
        Gate(self.policy, tools=frozenset(self.tools)).tool(name).require(CallRefused)
        if name == FINAL:
            # Any value but {"answer": x} is the answer itself.
            return given if isinstance(given, Mapping) and set(given) == {"answer"} else {"answer": given}
        if not isinstance(given, Mapping):
            raise CallFailed(f"{name}: the input is {_kind(given)}; write a JSON object with its arguments")
        if (mistake := self.tools[name].mistake(given, Steps.of(len(json.dumps(given))))) is not None:
            raise CallFailed(mistake)
        return given

    def _work(
        self, question: str, context: Any, files: Mapping[str, bytes | bytearray | str | Path] | None
    ) -> Callable[[AgentRun], ReActCompletion[Any]]:
        if files:
            Gate(self.policy).files().require()
        if not self.python and (context is not None or files):
            raise ValueError("context and files are for the python tool; create the agent with python=True")
        return lambda run: _ReActRun(self, run, question, context, files or {}).complete()


class _ReActRun:
    """The steps of one run."""

    def __init__(
        self, agent: ReActAgent, run: AgentRun, question: str, context: Any, files: Mapping[str, Any]
    ) -> None:
        self.agent = agent
        self.run = run
        self.question = question
        self.native = run.client.native_tools if agent.native_tools is None else agent.native_tools
        context = documents.resolved(context, agent.policy.limits.context_bytes)
        self.python = PythonTool(run, context, files)
        schema = agent.answer_schema
        system = prompts.system(
            agent.tools.values(),
            native=self.native,
            instructions=agent.instructions,
            schema=None if schema is None else schema.prompt,
            session=describe_session(agent.policy, files=files, models=False) if agent.python else "",
        )
        self.messages = Messages([_message("system", system), _message("user", question)])
        self.specs = [tool.spec for tool in agent.tools.values()] if self.native else []
        self.steps: list[ReActStep] = []
        self.blocks: list[CodeBlock] = []

    def complete(self) -> ReActCompletion[Any]:
        """Take steps until `final_answer` is called, and its answer accepted."""
        limit = self.run.limit
        for _ in range(limit):
            answer = self.step()
            if answer is not None:
                return self.finish(*answer)
        said = f"the model took {limit} steps and did not call final_answer; raise max_steps, or ask for less"
        raise NoFinalAnswerError(said, partial_answer=self.run.partial)

    def step(self) -> tuple[Any, Any] | None:
        """One reply and its action. Returns the answer and its parsed value when it is accepted."""
        number = self.run.begin()
        asked = self.messages
        completion = self.run.ask(asked, tools=self.specs)
        step, call = self.read(completion)
        began = time.monotonic()
        observation, error = None, step.problem
        accepted: tuple[Any, Any] | None = None
        self.blocks = []
        if step.action is not None:
            try:
                observation = self.act(step)
            except FinalAnswerCalled as called:
                accepted, error = self.accepted(called.answer)
            except CallRefused as refused:
                error = str(refused)
                self.run.refused(refused.decision.rule, error)
            except CallFailed as failed:
                error = str(failed)
            if step.action in self.agent.tools:  # another name is text of the model, which the refusal tells of
                seconds = time.monotonic() - began
                self.run.emit(ToolCalled(depth=0, number=number, tool=step.action, seconds=seconds, error=error))
        if accepted is None:
            observation = self.observe(step, call, observation, error)
        self.note(number, asked, completion, step, observation, error, time.monotonic() - began, accepted)
        return accepted

    def read(self, completion: Completion) -> tuple[Step, ToolCall | None]:
        """The step that a reply asks for, and the native call that it is, if it is one."""
        calls = completion.tool_calls
        if not calls:
            return read(completion.text), None
        call = calls[0]
        # A call without arguments has none, but an answer that is not there is no answer.
        written = call.arguments.strip() or ("" if call.name == FINAL else "{}")
        value, kept, after = native(written)
        # What goes back to the provider must be a call that every provider takes: one with a name, and with an object.
        name = call.name if Gate.tool_name(call.name).allowed else "unknown"
        text, cut = spoken(completion.text)
        notes = tuple(dict.fromkeys((*cut, *after)))
        if len(calls) > 1:
            notes = (*notes, "only the first call was run: make one call in a reply")
        return Step(text, text, call.name, value, call.arguments, notes=notes), ToolCall(call.id, name, kept)

    def act(self, step: Step) -> str:
        """The observation of the step's call. Raises FinalAnswerCalled, CallRefused and CallFailed."""
        assert step.action is not None
        given = {} if step.arguments is NOTHING and not step.text and step.action != FINAL else step.arguments
        if given is NOTHING:
            if step.action != FINAL or step.text[:1] in ("", "{", "[", '"'):
                Gate(self.run.policy, tools=frozenset(self.agent.tools)).tool(step.action).require(CallRefused)
                raise CallFailed(
                    f"{step.action}: the input is no JSON; write the arguments as one JSON object, with double quotes"
                )
            given = {"answer": step.text}
        arguments = self.agent.arguments(step.action, given)
        if step.action == _PYTHON and self.agent.python:
            return self.run_python(arguments)
        if step.action == FINAL:  # in this thread, and under no limit of tools: it must always be possible to end
            return _observation(self.agent.toolbox.call(FINAL, (), arguments))
        try:
            return _observation(self.run.call(self.agent.toolbox, step.action, arguments))
        except FinalAnswerCalled:  # a tool raised it: the model alone ends its run
            raise CallFailed(f"{step.action} failed: FinalAnswerCalled") from None

    def run_python(self, arguments: Mapping[str, Any]) -> str:
        """Run a cell in the run's session."""
        try:
            positional, named = self.agent.tools[_PYTHON].bound(arguments)
        except ValueError as error:
            raise CallFailed(str(error)) from None
        block = self.python(*positional, **named)
        self.blocks.append(block)
        text = shown(block.result)
        if block.result.error is not None:
            raise CallFailed(text)
        return text

    def accepted(self, answer: Any) -> tuple[tuple[Any, Any] | None, str | None]:
        """The answer with its parsed value, or None and what is wrong with it."""
        problem: str | None = None
        parsed = None
        if (schema := self.agent.answer_schema) is not None:
            # Another value than text must fit by itself: its JSON as text is not what was answered.
            text = answer if isinstance(answer, str) else None
            parsed, problem = schema.read(text, answer, self.run.check)
        if problem is None and self.agent.on_answer is not None:
            try:
                answer = plain(self.agent.on_answer(answer), self.run.policy.lm.reply_bytes)
            except ToolError as refused:
                problem = str(refused)
            except Exception as error:  # noqa: BLE001  the text of a host exception may hold secrets
                problem = f"on_answer failed: {type(error).__name__}"
        if problem is None:
            return (answer, parsed), None
        self.run.partial = _text(answer)
        self.run.emit(AnswerRejected(depth=0, problem=problem))
        return None, f"the answer was not accepted: {problem}; call final_answer again"

    def observe(self, step: Step, call: ToolCall | None, observation: str | None, error: str | None) -> str:
        """Add the reply and its observation to the conversation. Returns the observation as the model reads it."""
        said = _failure(error) if error is not None else observation or ""
        text = "\n".join([inert_for_model(_cut(said)), *(f"Note: {note}." for note in step.notes)])
        if call is None:
            self.messages += [_message("assistant", step.kept or "(nothing)")]
            self.messages += [_message("user", f"Observation: {text}")]
            return text
        function = {"name": call.name, "arguments": call.arguments}
        reply = {"id": call.id, "type": "function", "function": function}
        self.messages += [{"role": "assistant", "content": step.kept, "tool_calls": [reply]}]
        self.messages += [{"role": "tool", "tool_call_id": call.id, "content": text}]
        return text

    def note(
        self,
        number: int,
        asked: Messages,
        completion: Completion,
        step: Step,
        observation: str | None,
        error: str | None,
        seconds: float,
        accepted: tuple[Any, Any] | None,
    ) -> None:
        """Keep the step, and log its turn."""
        given = step.text if step.arguments is NOTHING else step.arguments
        kept = (step.thought, given, observation)
        size = held_bytes([*kept])
        if not self.run.tree.records.take(size):
            kept = ("", not_kept(size), None)
            self.run.notice("records", "a step was not kept: limits.kept_bytes leaves no room for it")
        thought, shown_input, told = kept
        self.steps.append(ReActStep(number, thought, step.action, shown_input, told, error, seconds))
        actions = [] if step.action is None else [Action(step.action, given, observation or "", error, seconds)]
        final = None if accepted is None else _text(accepted[0])
        self.run.record(
            AskedIteration(asked, completion.text, self.blocks, final, label="react", actions=actions), error
        )

    def finish(self, answer: Any, parsed: Any) -> ReActCompletion[Any]:
        """Build the completion."""
        text = _text(answer)
        self.run.emit(AnswerReady(depth=0, answer=text, source="tool"))
        return ReActCompletion(
            **self.run.completion_fields(self.question, text),
            parsed=parsed,
            files=dict(self.python.written),
            answer=answer,
            steps=self.steps,
        )


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _observation(value: Any) -> str:
    """What a tool returned, as the model reads it: text as it is, anything else as JSON."""
    return _text(value)


def _failure(problem: str | None) -> str:
    return f"Error: {problem}"


def _cut(text: str) -> str:
    if len(text) <= _OBSERVED:
        return text
    return f"{text[:_OBSERVED]}\n[{len(text) - _OBSERVED:,} more characters were left out; ask for less at a time]"


def _kind(value: Any) -> str:
    names = {str: "text", bool: "a truth value", type(None): "null", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), "no object")
