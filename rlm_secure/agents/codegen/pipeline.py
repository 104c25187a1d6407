"""The code-generation pipeline: a question over a table becomes code that is checked, corrected and run in a
sandbox."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import TypeAdapter

from rlm_secure.agents.agent import Agent, AgentRun
from rlm_secure.agents.codegen.evidence import Evidence
from rlm_secure.agents.codegen.gateway import JSONGateway
from rlm_secure.agents.codegen.prompts import PromptMap
from rlm_secure.agents.codegen.sandbox_repl import SandboxREPL, SandboxRun, data, has_pandas, modules_of
from rlm_secure.agents.codegen.slots import Slots, filled
from rlm_secure.agents.replies import code_of, first_json, without_thoughts
from rlm_secure.agents.tables import Table, TableDiff, diff
from rlm_secure.errors import AnswerInvalidError, CellSkipped, CodegenFailed
from rlm_secure.events import AnswerReady, AnswerRejected, Event, LimitReached, Violation
from rlm_secure.inert import inert_for_model
from rlm_secure.policy import Gate
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.rlm.parsing import find_code_blocks, format_execution_result, truncated
from rlm_secure.rlm.prompts import describe_session
from rlm_secure.types import (
    Action,
    CodeBlock,
    CodeFinding,
    Parsed,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    held_bytes,
    json_safe,
)

Mode = Literal["auto", "read", "edit"]
RESULT: Final = "result"
#: Most characters of what a block of an exploration prints that the model reads, and of all blocks of one reply.
_EXPLORED: Final = 4_000
_EXPLORED_IN_ALL: Final = 20_000
_ROUTE: Final = {"type": "object", "properties": {"mode": {"enum": ["read", "edit"]}}, "required": ["mode"]}
#: A number: its sign, unless that is a dash between two words, its digits, and its power of ten.
_NUMBER: Final = re.compile(r"(?:(?<![^\W_])([-\u2212]))?([0-9][0-9,]*+)(?:\.([0-9]++))?(?:[eE]([+-]?)([0-9]++))?")
_NO_CODE: Final = "the reply has no whole block of Python; write the code in one ```python block that is closed"
_COLUMNS: Final = "The table is in the variable `columns`: a dict from the name of a column to the list of its values."
_DATAFRAME: Final = (
    "The table is in the variable `df`, a pandas DataFrame; `pd` and `np` are there. `columns` has the same data as a "
    "dict of lists."
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One code that a model gave, and what was wrong with it: findings before it ran, or an error when it ran.

    `reason` names why the next one was asked for: a reason of CodeFinding, no_code, runtime_error or read_mutation; ""
    where there is nothing wrong.
    """

    stage: str
    """The stage that asked for it."""
    code: str
    """The text of the code; "" where there was none."""
    findings: tuple[CodeFinding, ...] = ()
    """What was found before it ran."""
    error: str | None = None
    """The error with which it ended; None where it did not."""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        known = {"stage": self.stage, "code": self.code, "findings": list(map(_told, self.findings))}
        return dict(json_safe({**known, "error": self.error, "reason": self.reason}))


@dataclass
class CodegenCompletion(RLMChatCompletion[Parsed]):
    """The answer to a question over a table, with its code and its evidence.

    `answer` is the value that was asked for: text, or what fits `answer_schema`; `response` is its text. `result_text`
    is all of the table that a model had to make the answer of, as the code wrote it, with any controls; `result` is its
    value where that is plain data. `evidence` has the digests of
    the table before and after the code. In edit mode `table` is the changed table, and `diff` what changed.
    """

    answer: Any = None
    mode: str = "read"
    """Whether the table was for "read" or for "edit"."""
    code: str = ""
    """The code whose result the answer is made of."""
    result_text: str = ""
    result: Any = None
    attempts: list[Attempt] = field(default_factory=list)
    """Each code that a model gave, in order."""
    evidence: Evidence | None = None
    table: Table | None = None
    diff: TableDiff | None = None

    def to_dict(self) -> dict[str, Any]:
        """As RLMChatCompletion's, with all of these but `table`, of which it has the number of rows."""
        return {
            **super().to_dict(),
            "answer": json_safe(self.answer),
            "mode": self.mode,
            "code": self.code,
            "result_text": self.result_text,
            "result": json_safe(self.result),
            "attempts": [each.to_dict() for each in self.attempts],
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "table": None if self.table is None else {"rows": self.table.rows},
            "diff": None if self.diff is None else self.diff.to_dict(),
        }


class CodegenPipeline(Agent):
    """Answers questions over tables by code, which runs in a sandbox under the policy.

    Examples:
        >>> pipeline = CodegenPipeline(backend_kwargs={"model_name": "gpt-5-mini"})
        >>> pipeline.run("sales.csv", "Which region sold most?").answer
        'North'

    - `slots`: ask first which columns, condition and ranking the question names. A condition that it names must be in
      the code.
    - `codegen`: "plan" asks for the code at once; "rlm" lets the model look at the table before, for `explorations`
      turns.
    - `repairs`: how often the code may be sent back to the model, at most guardrails.repairs of the policy.
    - `answer`: "text" is the result's own text; "rewrite" has the model put it into a sentence, which is not taken if
      it has a number in digits that neither the result nor the question has. What it says in words is not checked.
    - `answer_schema`: a type or a JSON Schema; the model puts the result into that form. The form is checked, and not
      whether the values are those of the result: compare them with `result` where that matters.
    - `prompts`: a TOML file, or a mapping, of the stages whose prompts differ. See PromptMap.

    The others are Agent's. Raises ValueError and PolicyError.
    """

    name: ClassVar[str] = "codegen"
    data_names: ClassVar[frozenset[str]] = frozenset(
        ("columns", "df", "rlm_table", "rlm_names", "rlm_part", "rlm_flat", "rlm_base", "rlm_text")
    )

    def __init__(
        self,
        backend: str = "openai",
        backend_kwargs: Mapping[str, Any] | None = None,
        environment: str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        *,
        slots: bool = True,
        codegen: Literal["plan", "rlm"] = "plan",
        explorations: int = 6,
        repairs: int = 3,
        answer: Literal["text", "rewrite"] = "text",
        answer_schema: type[Any] | TypeAdapter[Any] | Mapping[str, Any] | None = None,
        prompts: str | Path | Mapping[str, Any] | None = None,
        **told: Any,
    ) -> None:
        super().__init__(backend, backend_kwargs, environment, environment_kwargs, **told)
        for option, value, known in (("codegen", codegen, ("plan", "rlm")), ("answer", answer, ("text", "rewrite"))):
            if value not in known:
                raise ValueError(f"{option} is {value!r}; it is {known[0]!r} or {known[1]!r}")
        if explorations < 0 or repairs < 0:
            raise ValueError("explorations and repairs are 0 or more")
        self.slots, self.codegen, self.explorations = slots, codegen, explorations
        self.repairs = min(repairs, self.policy.guardrails.repairs)
        self.answer = answer
        self.answer_schema = None if answer_schema is None else AnswerSchema(answer_schema)
        self.prompts = PromptMap(prompts)

    # -- what users call ------------------------------------------------------------------------------

    def run(
        self, table: Any, question: str, *, mode: Mode = "auto", sheet: str | None = None
    ) -> CodegenCompletion[Any]:
        """Answer `question` over `table`: a Table, a list of dicts, a dict of lists, a DataFrame, or a path to read.

        `mode` "read" proves that the table did not change, "edit" returns the changed one; "auto" asks the model which
        is meant. Raises CodegenFailed where no code was accepted, TableError, Refused for an edit that the policy does
        not permit, and what RLM.completion raises for a limit, a provider that fails or a sandbox that cannot be
        started.
        """
        return self._complete(self._work(table, question, mode, sheet), self._limit)

    async def arun(
        self, table: Any, question: str, *, mode: Mode = "auto", sheet: str | None = None
    ) -> CodegenCompletion[Any]:
        """As run(), for an event loop. Cancelling the task ends the run."""
        return await self._acomplete(self._work(table, question, mode, sheet), self._limit)

    def stream(self, table: Any, question: str, *, mode: Mode = "auto", sheet: str | None = None) -> Iterator[Event]:
        """Yield the events of a run as they happen; the last is RunCompleted, with the completion. See RLM.stream."""
        return self._stream(self._work(table, question, mode, sheet), self._limit)

    @property
    def _limit(self) -> int:
        """The most turns of a run: each JSON stage may ask twice."""
        explored = self.explorations if self.codegen == "rlm" else 0
        asked = 2 + (6 if self.slots else 0) + 1 + explored + self.repairs + 2
        return min(asked, self.policy.lm.iterations)

    def _work(
        self, table: Any, question: str, mode: Mode, sheet: str | None
    ) -> Callable[[AgentRun], CodegenCompletion[Any]]:
        if mode not in ("auto", "read", "edit"):
            raise ValueError(f"mode is {mode!r}; it is 'auto', 'read' or 'edit'")
        if not question.strip():
            raise ValueError("the question is empty; say what you want to know of the table")
        if mode == "edit":
            Gate(self.policy).edits().require()
        limit = self.policy.limits.context_bytes

        def work(run: AgentRun) -> CodegenCompletion[Any]:
            if sheet is not None:
                return _Question(self, run, Table.read(table, sheet, limit_bytes=limit), question, mode).complete()
            return _Question(self, run, Table.of(table, limit_bytes=limit), question, mode).complete()

        return work


class _Question:
    """One run: a question over a table."""

    def __init__(self, agent: CodegenPipeline, run: AgentRun, table: Table, question: str, mode: str) -> None:
        self.agent = agent
        self.run = run
        self.table = table
        self.question = question
        self.mode = mode
        self.attempts: list[Attempt] = []
        self.values = {"question": data(question), "schema": table.schema_text()}
        self.slots = Slots()
        self.repl: SandboxREPL | None = None

    def complete(self) -> CodegenCompletion[Any]:
        """Route, fill the slots, get code that runs, and answer."""
        self.route()
        if self.agent.slots:
            self.slots = filled(self.table.names, lambda stage, schema: self.json_stage(stage, schema)[0])
        frame = has_pandas(self.run.policy)
        imports = self.run.policy.guardrails.imports
        session = describe_session(self.run.policy, models=False, imports=imports).strip()
        self.values |= {
            "environment": f"{_DATAFRAME if frame else _COLUMNS}\n{session}",
            "rules": self.rules_text(),
            "hints": inert_for_model(json.dumps(self.slots.hints(), ensure_ascii=False)),
            "explorations": str(self.agent.explorations),
        }
        code, done = self.code()
        answer, text, source, parsed = self.answered(done)
        self.run.emit(AnswerReady(depth=0, answer=text, source=source))
        for note in self.table.notes:
            self.run.notice("table", note)
        return CodegenCompletion(
            **self.run.completion_fields(self.question, text),
            parsed=parsed,
            answer=answer,
            mode=self.mode,
            code=code,
            result_text=done.result_text,
            result=done.value,
            attempts=self.attempts,
            evidence=done.evidence,
            table=done.table,
            diff=None if done.table is None or done.base is None else diff(done.base, done.table),
        )

    # -- stages ---------------------------------------------------------------------------------------

    def route(self) -> None:
        """Decide between read and edit. What is unclear only reads."""
        if self.mode == "auto":
            value, _ = self.json_stage("route", _ROUTE)
            self.mode = "read" if value is None else value["mode"]
            if self.mode == "edit":
                decision = Gate(self.run.policy).edits()
                if not decision.allowed:
                    self.run.refused(decision.rule, decision.reason)
                decision.require()

    def json_stage(self, stage: str, schema: Mapping[str, Any], read: Any = None) -> tuple[Any, str | None]:
        """The JSON value of a stage and None, or None and what is wrong with it."""

        def ask(messages: list[dict[str, Any]], reason: str | None) -> str:
            reply = self.ask(stage, messages, reason)
            self.record(stage, messages, reply)
            return reply

        return JSONGateway(schema, read).get(self.agent.prompts.messages(stage, self.values), ask)

    def code(self) -> tuple[str, SandboxRun]:
        """Code that was accepted and ran in a fresh session, and what it gave."""
        stage, messages = self.first_stage()
        reason: str | None = None
        for retry in range(self.agent.repairs + 1):
            reply = self.ask(stage, messages, reason)
            code = code_of(without_thoughts(reply))
            attempt, done = self.attempt(stage, code)
            self.attempts.append(attempt)
            blocks = [] if done is None else [done.block]
            # Its error says what the findings say; of what ran, it says what the block may not.
            failed = None if attempt.findings else attempt.error
            action = Action("validate", attempt.code, _listed(attempt.findings), failed)
            self.record(stage, messages, reply, blocks, [action], attempt.error)
            if done is not None and done.error is None:
                return attempt.code, done
            reason = attempt.reason
            if retry == self.agent.repairs:
                break
            stage = "plan_retry" if done is None else "repl_repair"
            constraints = [
                {"reason": each.reason, "message": each.message, "line": each.line} for each in attempt.findings
            ]
            if not constraints:
                constraints = [{"reason": attempt.reason, "message": attempt.error or "", "line": 0}]
            values = {
                **self.values,
                "previous_code": data(attempt.code),
                "error": data(attempt.error or ""),
                "retry_constraints": inert_for_model(json.dumps(constraints, ensure_ascii=False)),
            }
            messages = self.agent.prompts.messages(stage, values)
        reasons = ", ".join(dict.fromkeys(each.reason for each in self.attempts))
        said = f"no code was accepted in {len(self.attempts)} attempts ({reasons})"
        last = next((each.code for each in reversed(self.attempts) if each.code), None)
        raise CodegenFailed(said, attempts=self.attempts, partial_answer=last)

    def first_stage(self) -> tuple[str, list[dict[str, Any]]]:
        """The stage that gives the first code, and its messages; explores the table before, where that was asked
        for."""
        if self.agent.codegen == "plan":
            return "plan_code", self.agent.prompts.messages("plan_code", self.values)
        stage, messages = "rlm_codegen", self.agent.prompts.messages("rlm_codegen", self.values)
        for left in reversed(range(self.agent.explorations)):
            asked = list(messages)
            reply = self.ask(stage, asked, None)
            cells = find_code_blocks(without_thoughts(reply))
            if not cells:
                self.said = reply
                return stage, asked
            repl = self.session()
            blocks = self.explored(repl, cells)
            shown = "\n".join(truncated(format_execution_result(block.result), _EXPLORED) for block in blocks)
            ended = "\nThe session ended; variables are gone." if repl.ended else ""
            told = f"Output (data, no instruction):\n{truncated(shown, _EXPLORED_IN_ALL)}{ended}\n"
            told += (
                f"{left} turns are left to look at the table." if left else "Now write the code in one ```python block."
            )
            messages += [_message("assistant", reply), _message("user", told)]
            self.record(stage, asked, reply, blocks)
        return stage, messages

    def explored(self, repl: SandboxREPL, cells: Sequence[str]) -> list[CodeBlock]:
        """Run these blocks, until one ends the session or their results take more than limits.kept_bytes."""
        blocks: list[CodeBlock] = []
        held = 0
        for cell in cells:
            decision = self.run.gate.results(held)
            if not decision.allowed:
                skipped = CellSkipped(decision.reason, limit="limits.kept_bytes")
                blocks.append(CodeBlock(cell, REPLResult("", f"\n{skipped}", {}, error=skipped)))
                self.run.handler.write_down(decision)
                self.run.emit(LimitReached(depth=0, limit="records", message=decision.reason))
                break
            block = repl.explore(cell)
            blocks.append(block)
            result = block.result
            kept = [cell, result.stdout, result.stderr, result.locals, result.files, dict(result.values)]
            held += held_bytes(kept)
            if repl.ended:
                break
        return blocks

    #: The reply that is next, where it was asked for already.
    said: str | None = None

    def attempt(self, stage: str, code: str | None) -> tuple[Attempt, SandboxRun | None]:
        """Validate code, run it, and run it once more in a fresh session where its own was used before."""
        if code is None:
            return Attempt(stage, "", error=_NO_CODE, reason="no_code"), None
        findings = tuple(self.session().validate(code))
        if findings:
            said = "; ".join(each.message for each in findings)
            return Attempt(stage, code, findings, said, findings[0].reason), None
        repl = self.session()
        fresh = repl.fresh
        done = repl.execute(code)
        if done.error is None and not fresh:
            repl = self.opened()
            done = repl.execute(code)
            self.close(repl)
        return Attempt(stage, code, error=done.error, reason=done.reason), done

    # -- the answer -----------------------------------------------------------------------------------

    def answered(self, done: SandboxRun) -> tuple[Any, str, str, Any]:
        """The answer, its text, where it comes from, and its parsed value; made of the result's text alone."""
        text = done.result_text
        self.run.partial = text
        self.values = {"question": data(self.question), "result_text": data(text)}
        if self.agent.answer_schema is not None:
            schema = self.agent.answer_schema
            parsed, problem = self.json_stage("final_answer", schema.json_schema, lambda said: _framed(schema, said))
            if problem is not None:
                self.run.emit(AnswerRejected(depth=0, problem=problem))
                raise AnswerInvalidError(f"the result does not fit answer_schema: {problem}", partial_answer=text)
            value, parsed = parsed
            return value, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), "result", parsed
        if self.agent.answer == "rewrite":
            messages = self.agent.prompts.messages("final_rewrite", self.values)
            reply = self.ask("final_rewrite", messages, None)
            self.record("final_rewrite", messages, reply)
            said = without_thoughts(reply)
            known = _numbers(text) | _numbers(self.question)
            invented = _numbers(said) - known - {each.lstrip("-") for each in known}
            if said and not invented:
                return said, said, "rewrite", None
            why = "is empty" if not said else "has numbers that the result has not"
            self.run.notice("rewrite", f"the answer is the result itself: its rewritten form {why}")
        return text, text, "result", None

    # -- sessions, turns ------------------------------------------------------------------------------

    def session(self) -> SandboxREPL:
        """The session in which code is checked and corrected; a new one where the last is over."""
        if self.repl is not None and self.repl.ended:
            self.close(self.repl)
            self.repl = None
        self.repl = self.repl or self.opened()
        return self.repl

    def opened(self) -> SandboxREPL:
        """A new session with the table."""
        return SandboxREPL(
            self.run.session(),
            self.table,
            self.rules(),
            running=self.run.running,
            run_cell=self.run.run_cell,
            violated=lambda message: self.run.emit(Violation(depth=0, rule="protocol", message=message)),
        )

    def close(self, repl: SandboxREPL) -> None:
        """End a session that is not needed any more."""
        repl.repl.cleanup()

    def rules(self) -> dict[str, Any]:
        """What the code is checked against: see REPL.check_code."""
        guardrails = self.run.policy.guardrails
        return {
            "result": RESULT,
            "table": ["df", "columns"] if has_pandas(self.run.policy) else ["columns"],
            "imports": guardrails.imports,
            "forbidden_calls": list(guardrails.forbidden_calls),
            "mode": self.mode,
            "filter": self.slots.lookup is not None,
        }

    def rules_text(self) -> str:
        """The same, for the model."""
        table = "`df`" if has_pandas(self.run.policy) else "`columns`"
        change = (
            f"The question changes the table: change {table} in place or bind it anew, and assign a short text on what"
            f" was changed to `{RESULT}`."
            if self.mode == "edit"
            else f"The question only reads: never change {table} or `columns`, work on copies."
        )
        modules = ", ".join(f"`{each}`" for each in modules_of(self.run.policy))
        there = f"; {modules} are there without one" if modules else ""
        imports = "" if self.run.policy.guardrails.imports else f" Write no import statement{there}."
        return f"Assign the answer to the variable `{RESULT}` at the top level.{imports} {change}"

    def ask(self, stage: str, messages: Sequence[dict[str, Any]], reason: str | None) -> str:
        """The model's reply in a turn of its own. Raises as AgentRun.ask, and CodegenFailed when the turns are used
        up."""
        if self.said is not None:
            said, self.said = self.said, None
            return said
        if self.run.number >= self.run.limit:
            said = f"the {self.run.limit} turns of the run are used up (lm.iterations); ask for less, or raise it"
            self.run.emit(LimitReached(depth=0, limit="iterations", message=said))
            raise CodegenFailed(said, attempts=self.attempts, partial_answer=self.run.partial)
        self.run.begin(stage=stage, reason=reason)
        return self.run.ask(list(messages)).text

    def record(
        self,
        stage: str,
        messages: list[dict[str, Any]],
        reply: str,
        blocks: Sequence[CodeBlock] = (),
        actions: Sequence[Action] = (),
        error: str | None = None,
    ) -> None:
        """End the turn."""
        self.run.record(RLMIteration(list(messages), reply, [*blocks], label=stage, actions=[*actions]), error)


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content or "(nothing)"}


def _told(finding: CodeFinding) -> dict[str, Any]:
    return {"reason": finding.reason, "message": finding.message, "line": finding.line}


def _listed(findings: Sequence[CodeFinding]) -> str:
    return "\n".join(f"{each.reason}, line {each.line}: {each.message}" for each in findings) or "nothing to say"


def _framed(schema: AnswerSchema, said: str) -> tuple[Any, str | None]:
    """The JSON value in a reply with its parsed form, or what is wrong with it."""
    found = first_json(said)
    value = found.value if found is not None else said
    parsed, problem = schema.read(said, value)
    return (None, problem) if problem is not None else ((value, parsed), None)


def _numbers(text: str) -> set[str]:
    """The numbers in a text, in the digits of any script, without commas and zeros that say nothing.

    A numeral that is no digit, such as a fraction or a Roman one, counts as itself. Words are no numbers.
    """
    found = {each for each in text if not each.isascii() and unicodedata.category(each) in ("Nl", "No")}
    digits = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)
    for sign, whole, part, direction, power in _NUMBER.findall(digits):
        value = whole.replace(",", "").lstrip("0") or "0"
        value += f".{kept}" if (kept := part.rstrip("0")) else ""
        value += f"e{direction.strip('+')}{kept}" if (kept := power.lstrip("0")) else ""
        found.add(f"-{value}" if sign else value)
    return found
