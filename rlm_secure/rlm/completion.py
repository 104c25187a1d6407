"""One completion: its messages, its cells, its limits. `Run.turn` is one turn, from the prompt to the feedback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Any

from rlm_secure.environments import REPL
from rlm_secure.errors import (
    AnswerInvalidError,
    CancellationError,
    CellCrashed,
    CellError,
    CellRefused,
    CellSkipped,
    ErrorThresholdExceededError,
    LogError,
    ProtocolViolation,
    SessionEnded,
    TimeoutExceededError,
    WallViolation,
)
from rlm_secure.events import (
    AnswerReady,
    AnswerRejected,
    CellCompleted,
    CellStarted,
    Compacted,
    LimitReached,
    TurnCompleted,
    TurnStarted,
    Violation,
    tell,
)
from rlm_secure.inert import excerpt, inert_line
from rlm_secure.logger import RLMLogger
from rlm_secure.policy import Gate
from rlm_secure.policy.model import Data, Limits
from rlm_secure.rlm.budget import Meter
from rlm_secure.rlm.compaction import TokenCount, compacted, history_entries, should_compact, summary_request
from rlm_secure.rlm.config import RunConfig
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.parsing import (
    FinalText,
    FinalUnclear,
    FinalVar,
    find_cells,
    find_code_blocks,
    format_iteration,
    parse_final,
    why_nothing_ran,
)
from rlm_secure.rlm.prompts import Message, describe_session
from rlm_secure.rlm.tree import Tree
from rlm_secure.tagged import as_json
from rlm_secure.turns import Messages
from rlm_secure.types import (
    AskedIteration,
    CodeBlock,
    QueryMetadata,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    held_bytes,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: its text, where it came from ("cell", "text", "default"), and its value under a schema."""

    text: str
    source: str
    value: Any = None


class Run:
    """The turns of one completion. `partial` is the best answer so far, for a run that ends early.

    `reopen` replaces an environment whose session is lost.
    """

    def __init__(
        self,
        config: RunConfig,
        tree: Tree,
        handler: LMHandler,
        environment: REPL,
        reopen: Callable[[REPL], REPL],
        payload: Any,
        metadata: QueryMetadata,
        root_prompt: str | None,
        log: RLMLogger | None,
    ) -> None:
        self.config = config
        self.tree = tree
        self.handler = handler
        self.environment = environment
        self.reopen = reopen
        self.payload = payload
        self.root_prompt = root_prompt
        self.log = log
        self.partial: str | None = None
        self.gate = Gate(config.policy)
        self.meter = Meter(
            tree.ledger, iterations=min(config.max_iterations, config.policy.lm.iterations), errors=config.max_errors
        )
        self.words = config.words
        opening = self.words.opening(
            metadata,
            system_prompt=config.custom_system_prompt,
            root_prompt=root_prompt,
            custom_tools=config.custom_tools,
            orchestrator=config.orchestrator,
            session=describe_session(config.policy, files=config.files) if config.describe_session else None,
            answer_schema=None if config.answer_schema is None else config.answer_schema.prompt,
            compaction=config.compaction,
            user_prologue=config.user_prologue,
        )
        self.messages = Messages(opening)
        self._opening = len(opening)
        self._compactions = 0
        self._tokens: TokenCount | None = None
        self._began = time.monotonic()
        self._restarts = 0
        self._files: dict[str, bytes] = {}
        #: Turns since the last one in which a cell was run.
        self._idle = 0
        #: What was wrong with the last answer that was not accepted.
        self._unfit = ""

    def complete(self) -> RLMChatCompletion:
        """Run turns until there is an answer; after the last turn, ask for one in plain text."""
        self.config.verbose.print_metadata(self.config.metadata)
        for number in range(1, self.meter.max_iterations + 1):
            answer = self.turn(number)
            if answer is not None:
                return self.finish(answer)
        return self.finish(self.default_answer())

    def turn(self, number: int) -> Answer | None:
        """Ask the model, run its cells, look for an answer; if there is none, give feedback and check the limits."""
        began = self.begin(number)
        asked = self.messages
        response = self.handler.ask(asked).text
        self.partial = response or self.partial
        cells = find_cells(response) if self.words.runs_unmarked else find_code_blocks(response)
        blocks = self.run_cells(number, cells)
        self._idle = 0 if blocks else self._idle + 1
        answer, objection = self.answer_in(response, blocks)
        error = objection["content"] if objection else _first_error(blocks)
        self.meter.count(error)
        final = None if answer is None else answer.text
        iteration = AskedIteration(asked, response, blocks, final, time.monotonic() - began)
        try:
            self.record(number, iteration, error)
        except LogError as failed:
            failed.partial_answer = final
            raise
        self.messages += format_iteration(iteration)
        if answer is None:
            self.messages += [objection] if objection else []
            self.messages += [] if blocks else self.nothing_ran(response, objection)
            self.check()
        return answer

    def begin(self, number: int) -> float:
        """Compact if needed, notify listeners, and add the message that opens the turn. Returns the start time."""
        self.tree.check(self.partial)
        self.compact()
        self.tree.emit(TurnStarted(depth=self.config.depth, number=number, limit=self.meter.max_iterations))
        tell(self.config.on_iteration_start, self.config.depth, number)
        began = time.monotonic()
        opened = self.words.turn(
            self.root_prompt,
            number - 1,
            self.environment.get_context_count(),
            self.environment.get_history_count(),
            self.meter.max_iterations,
        )
        self.messages += [opened]
        return began

    def compact(self) -> None:
        """Replace the turns so far with a summary when they fill the model's context."""
        config = self.config
        if not config.compaction:
            return
        limit = config.windows.given.get(config.root_model)
        model, share = config.root_model, config.compaction_threshold_pct
        self._tokens = self._tokens or TokenCount(model)
        if not should_compact(self.messages, model, share, limit=limit, count=self._tokens):
            return
        summary = self.handler.ask(summary_request(self.messages), purpose="summary").text
        with self.tree.running(self.environment):
            self.environment.append_compaction_entries(history_entries(self.messages[self._opening :], summary))
        self._compactions += 1
        self.messages = Messages(compacted(self.messages, self._opening, summary, self._compactions))
        config.verbose.print_compaction()
        self.tree.emit(Compacted(depth=config.depth, count=self._compactions))

    # -- cells ---------------------------------------------------------------------------------------

    def run_cells(self, number: int, cells: Sequence[str]) -> list[CodeBlock]:
        """Run the cells in order; stop after one that gave the answer, or when the tree is stopped.

        All results of a turn are kept until the model reads them, so their total size is limited.
        """
        blocks: list[CodeBlock] = []
        held = 0
        for index, code in enumerate(cells, 1):
            decision = self.gate.results(held)
            if not decision.allowed:
                skipped = CellSkipped(decision.reason, limit="limits.kept_bytes")
                blocks.append(CodeBlock(code, REPLResult("", f"\n{skipped}", {}, error=skipped)))
                self.handler.write_down(decision)
                self.tree.emit(LimitReached(depth=self.config.depth, limit="records", message=decision.reason))
                break
            self.tree.emit(CellStarted(depth=self.config.depth, number=number, index=index, code=code))
            block = CodeBlock(code, self.run_cell(code))
            blocks.append(block)
            result = block.result
            held += held_bytes([code, result.stdout, result.stderr, result.locals, result.files])
            self.keep_files(result.files)
            self.tree.emit(CellCompleted(depth=self.config.depth, number=number, index=index, block=block))
            if isinstance(block.result.error, CellRefused | WallViolation):
                rule = block.result.error.rule or block.result.error.wall or "language"
                self.tree.emit(Violation(depth=self.config.depth, rule=rule, message=str(block.result.error)))
            if block.result.final_answer is not None or self.tree.stopped:
                break
        return blocks

    def run_cell(self, code: str) -> REPLResult:
        """Run one cell. A lost session is replaced as often as the policy allows."""
        try:
            with self.tree.running(self.environment):
                result = self.environment.execute_code(code)
        except (SessionEnded, ProtocolViolation) as lost:
            self.tree.check(self.partial)
            if not Gate(self.config.policy).resumes(self._restarts + 1).allowed:
                raise
            self._restarts += 1
            if isinstance(lost, ProtocolViolation):
                self.tree.emit(Violation(depth=self.config.depth, rule="protocol", message=str(lost)))
            self.environment = self.reopen(self.environment)
            told = f"{type(lost).__name__}: {lost} A new session was started; variables of earlier cells are gone."
            result = REPLResult("", f"\n{told}", {}, error=CellCrashed(told, session_ended=True))
        # After a lost session, the calls of its cell are still in the handler.
        result.rlm_calls = result.rlm_calls or self.handler.drain()
        result.dropped_calls += self.handler.dropped()
        return result

    def keep_files(self, written: Mapping[str, bytes]) -> None:
        """Keep what a cell wrote for the completion."""
        for said in keep_files(self._files, written, self.config.policy.limits):
            self.tree.notice(self.config.depth, "records", said)

    def nothing_ran(self, response: str, objection: Message | None) -> list[Message]:
        """What the model reads after a reply of which nothing was run; an objection to its answer may say enough."""
        why = why_nothing_ran(response)
        said = None if objection is not None and why is None else self.words.nothing_ran(why)
        return [] if said is None else [said]

    # -- answers -------------------------------------------------------------------------------------

    def answer_in(self, response: str, blocks: Sequence[CodeBlock]) -> tuple[Answer | None, Message | None]:
        """The turn's answer, or None and a message to the model on the answer that was not accepted, if any."""
        for block in blocks:
            given = block.result
            if given.final_answer is not None:
                return self.accepted(given.final_answer, "cell", as_json(given.final_value), none=given.final_none)
        final = parse_final(response)
        if final is None:
            return None, None
        if isinstance(final, FinalText):
            return self.accepted(final.text, "text")
        if isinstance(final, FinalUnclear):
            return None, self.rejected(final.problem)
        try:
            text = self.variable(final.name) if final.is_name else None
        except CellError as error:
            return None, self.rejected(f"the text of {final.name[:80]} cannot be read: {error}")
        if text is not None:
            return self.accepted(text, "text")
        known = blocks[-1].result.locals if blocks else {}
        self.reject(f"there is no variable {final.name[:80]!r}")
        return None, self.words.unknown_variable(final.name, known)

    def variable(self, name: str) -> str | None:
        """The text of a cell's variable; None if there is no such one, or the session is lost. Raises CellError."""
        try:
            with self.tree.running(self.environment):
                return self.environment.read_text(name)
        except (SessionEnded, ProtocolViolation):
            return None

    def accepted(
        self, text: str, source: str, value: Any = None, *, none: bool = False
    ) -> tuple[Answer | None, Message | None]:
        """The answer if it fits the schema (or there is no schema), else a message on what is wrong with it.

        `none`: it is None, and no text.
        """
        if self.config.answer_schema is None:
            return Answer(text, source), None
        if none:
            _, problem = self.config.answer_schema.read(None, None, lambda: self.tree.check(text))
            if problem is None:
                return Answer("null", source), None
        read, problem = self.config.answer_schema.read(text, value, lambda: self.tree.check(text))
        if problem is None:
            return Answer(text if value is None else json.dumps(value), source, read), None
        self.partial = text
        objection = self.rejected(problem)  # told first: the session may be lost on the next line
        with self.tree.running(self.environment):
            self.environment.reset_answer()
        return None, objection

    def rejected(self, problem: str) -> Message:
        """Notify the listeners that an answer is rejected, and write the message that tells the model why."""
        self.reject(problem)
        return self.words.answer_rejected(problem)

    def reject(self, problem: str) -> None:
        """Notify the listeners that an answer is rejected."""
        self._unfit = problem
        self.tree.emit(AnswerRejected(depth=self.config.depth, problem=problem))

    def default_answer(self) -> Answer:
        """Ask for an answer in plain text when the turns are used up."""
        began = time.monotonic()
        asked = self.messages + [self.words.default_answer()]
        response = self.handler.ask(asked, purpose="answer").text
        # A model that still writes FINAL(...) means the text between the parentheses.
        answer, _ = self.answer_in(response, [])
        if answer is None and parse_final(response) is None:
            answer, _ = self.accepted(response, "default")
        if answer is None and self.config.answer_schema is not None:
            said = f"the turns are used up, and the last answer was not accepted: {excerpt(self._unfit, 600)}"
            said += "; raise max_iterations, or ask for a simpler form"
            raise AnswerInvalidError(said, partial_answer=response)
        answer = answer or Answer(response, "default")
        final = parse_final(response)
        unrun = final is None and bool(find_code_blocks(response))
        if unrun or (self._idle and not isinstance(final, FinalVar)):
            self.notice_idle(unrun)
        iteration = AskedIteration(asked, response, [], answer.text, time.monotonic() - began)
        if self.log is not None:
            try:
                self.log.log(iteration)
            except LogError as failed:
                failed.partial_answer = answer.text
                raise
        self.config.verbose.print_iteration(iteration, self.meter.iterations + 1)
        return answer

    def notice_idle(self, unrun: bool) -> None:
        """Tell the caller that the answer is no result of code: nothing was run before it, or it has code itself."""
        whose = "the run's turns" if self.config.depth == 0 else f"the turns of a run at depth {self.config.depth}"
        last = "last of them" if self._idle == 1 else f"last {self._idle:,} of them"
        said = f"the answer is plain text: {whose} are used up, and in the {last} nothing was run"
        if unrun:
            said = f"the answer has code that was not run: {whose} are used up"
        self.tree.notice(self.config.depth, "nothing-ran", said)

    def finish(self, answer: Answer) -> RLMChatCompletion:
        """Build the completion, with the usage of the run and its children."""
        config = self.config
        self.tree.emit(AnswerReady(depth=config.depth, answer=answer.text, source=answer.source))
        if config.persistent:
            try:
                with self.tree.running(self.environment):
                    self.environment.add_history(self.messages)
            except (TimeoutExceededError, CancellationError) as ended:
                # The answer is complete: a missing history entry for the next completion is no reason to lose it.
                self.tree.notice(config.depth, "records", f"the conversation is not in the session's history: {ended}")
        trajectory: Any = None if self.log is None else self.log.trajectory()
        completion = RLMChatCompletion(
            root_model=config.root_model,
            prompt=self.payload,
            response=answer.text,
            usage_summary=self.handler.get_usage_summary(),
            execution_time=time.monotonic() - self._began,
            metadata=trajectory,
            parsed=answer.value,
            files=self._files,
        )
        config.verbose.print_final_answer(answer.text)
        config.verbose.print_summary(self.meter.iterations, completion.execution_time, completion.usage_summary)
        return completion

    # -- limits and records --------------------------------------------------------------------------

    def check(self) -> None:
        """Raise upstream's exception for a limit that this turn exceeded."""
        self.tree.check(self.partial)
        try:
            self.meter.check(self.partial)
        except ErrorThresholdExceededError as limit:
            self.tree.emit(LimitReached(depth=self.config.depth, limit="errors", message=str(limit)))
            raise

    def record(self, number: int, iteration: RLMIteration, error: str | None) -> None:
        """Log the turn, print it if verbose, and notify listeners."""
        seconds = iteration.iteration_time or 0.0
        if self.log is not None:
            self.log.log(iteration)
        self.config.verbose.print_iteration(iteration, number)
        tell(self.config.on_iteration_complete, self.config.depth, number, seconds)
        self.tree.emit(TurnCompleted(depth=self.config.depth, number=number, seconds=seconds, error=error))


def keep_files(kept: dict[str, bytes], written: Mapping[str, bytes], limits: Limits) -> list[str]:
    """Add what a cell wrote to `kept`: no more than a session may hold, the latest. Returns words on the rest."""
    for name, data in written.items():
        kept.pop(name, None)
        kept[name] = data
    size = sum(map(len, kept.values()))
    left_out = []
    while len(kept) > limits.files or size > limits.file_bytes:
        name = next(iter(kept))
        size -= len(kept.pop(name))
        left_out.append(f"the file {inert_line(name)} was not kept: the cells wrote more than one session may hold")
    return left_out


def log_of(
    log: RLMLogger | None,
    lock: Lock,
    stack: ExitStack,
    tree: Tree,
    *,
    data: Data,
    metadata: RLMMetadata,
    withhold: Iterable[str] = (),
    depth: int = 0,
) -> RLMLogger | None:
    """The logger of one run: `log` itself, or a fresh one while another run holds its `lock`. It logs no more than
    `data` allows, and no value of the variables in `withhold`.

    Raises LogError if its file cannot be written and the policy requires a log.
    """
    if log is None:
        return None
    if lock.acquire(blocking=False):
        stack.callback(lock.release)
    else:
        log = log.fresh(on_disk=True)
    log.restrict(data, withhold=withhold)
    log.begin_run(
        keep=tree.records.take,
        seconds_left=lambda: tree.ledger.seconds_left,
        notice=lambda message: tree.notice(depth, "log", message),
    )
    stack.callback(log.end_run)
    log.log_metadata(metadata)
    return log


def plain_answer(handler: LMHandler, model: str, payload: Any, root_prompt: str | None) -> RLMChatCompletion:
    """The answer of a plain model, without cells: used for a run at maximum depth."""
    began = time.monotonic()
    prompt = payload
    if not (isinstance(payload, str) or _is_messages(payload)):
        prompt = json.dumps(payload, ensure_ascii=False, default=str)
    if root_prompt:
        prompt = f"{root_prompt}\n\n{prompt}" if isinstance(prompt, str) else [*prompt, _user(root_prompt)]
    text = handler.ask(prompt, purpose="rlm_query").text
    return RLMChatCompletion(model, payload, text, handler.get_usage_summary(), time.monotonic() - began)


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _is_messages(payload: Any) -> bool:
    return (
        isinstance(payload, list)
        and bool(payload)
        and all(isinstance(each, dict) and {"role", "content"} <= each.keys() for each in payload)
    )


def _first_error(blocks: Sequence[CodeBlock]) -> str | None:
    """The first error of a turn's cells. Warnings on stderr do not count."""
    errors: list[CellError] = [block.result.error for block in blocks if block.result.error is not None]
    return f"{type(errors[0]).__name__}: {errors[0]}" if errors else None
