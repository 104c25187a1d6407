"""One session with a table in it, in which generated code is checked, run, and corrected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.agents.codegen.evidence import Evidence
from rlm_secure.agents.codegen.readback import Reader
from rlm_secure.agents.tables import Table
from rlm_secure.agents.tables.cells import is_missing
from rlm_secure.environments import REPL
from rlm_secure.errors import (
    CellCrashed,
    CellError,
    ProtocolViolation,
    Refused,
    SessionEnded,
    TableError,
    ValueNotPlain,
    ValueUnavailable,
)
from rlm_secure.inert import inert_for_model
from rlm_secure.policy import Policy
from rlm_secure.types import CodeBlock, CodeFinding, REPLResult

#: Most characters of a result, and of an error that the model reads.
RESULT_CHARACTERS: Final = 20_000
_ERROR_CHARACTERS: Final = 4_000
#: What a request raises where the session does not do it (Refused as well): code used it up, or broke out of it.
_FAILED: Final = (CellError, SessionEnded, ProtocolViolation, KeyError)
#: The same where something is read: there may be no table, or none that could be read back.
_UNREADABLE: Final = (*_FAILED, TableError, ValueError, ValueUnavailable)
_FRAME: Final = "import numpy as np\nimport pandas as pd\ndf = pd.DataFrame(columns)"
#: What code about a table needs most. A session whose code may import nothing has those that its policy allows.
_MODULES: Final = (
    "bisect", "collections", "datetime", "decimal", "fractions", "functools", "heapq", "itertools", "json", "math",
    "operator", "re", "statistics", "string",
)  # fmt: skip
#: Keeps the columns of `rlm_types` as they are: pandas would make floats of their integers, and not the same numbers.
_EXACT: Final = (
    "for rlm_name in rlm_types:\n    df[rlm_name] = pd.Series(columns[rlm_name], dtype=rlm_types[rlm_name])\n"
    "del rlm_name, rlm_types"
)
#: Integers up to this one are the same number as a float; and the largest of the type Int64.
_EXACT_INTEGER: Final = 2**53
_LARGEST: Final = 2**63 - 1


@dataclass
class SandboxRun:
    """What one run of code gave. `error` is None and `reason` is "" where it succeeded.

    `result_text` is the text of the variable `result`, `value` its value where it is plain data. `evidence` has the
    digests of the table; `table` is the table as the code left it, in edit mode.
    """

    block: CodeBlock
    """The code with its result."""
    result_text: str = ""
    value: Any = None
    error: str | None = None
    reason: str = ""
    evidence: Evidence | None = None
    table: Table | None = None
    #: The table as the session had it before, with what pandas makes of it, where `table` came from a DataFrame.
    base: Table | None = None
    """The table before the code, in edit mode: for the difference."""

    @property
    def stdout(self) -> str:
        """What the code printed."""
        return self.block.result.stdout


class SandboxREPL:
    """A session of `repl`, which returns values, with `table` bound in it; its variables stay from run to run.

    Code has the table as `columns`, a dict of lists by name, and, where the policy gives pandas, as the DataFrame `df`,
    with `pd` and `np`; where the policy's guardrails allow no imports, common modules are there. `rules` are those of
    REPL.check_code. `running(repl)` surrounds each request; `run_cell`, instead of `repl.execute_code`, runs what a
    model wrote and returns its block. `violated(message)` hears of a session that broke the protocol. Raises TableError
    for a table that the session cannot hold.
    """

    def __init__(
        self,
        repl: REPL,
        table: Table,
        rules: Mapping[str, Any],
        *,
        running: Callable[[Any], AbstractContextManager[None]] = nullcontext,
        run_cell: Callable[[REPL, str], CodeBlock] | None = None,
        violated: Callable[[str], object] | None = None,
    ) -> None:
        self.repl = repl
        self.table = table
        self.rules = dict(rules)
        self.frame = has_pandas(repl.policy)
        """Whether code has the table as the DataFrame `df`."""
        self.fresh = True
        """Whether no code of a model has run in it yet."""
        self.ended = False
        """Whether the session is over."""
        self._running = running
        self._run_cell = run_cell
        self._violated = violated
        self._digests: dict[str, str] = {}
        try:
            self._bind()
        except (CellError, SessionEnded, Refused) as failed:
            raise TableError(f"the table cannot be put into a session: {failed}") from None

    # -- what callers use -----------------------------------------------------------------------------

    def validate(self, code: str) -> list[CodeFinding]:
        """What is to be said against `code`; it is parsed in the session, and runs nothing.

        A check that the session did not do is a finding. Raises what `running` raises.
        """
        try:
            with self._running(self.repl):
                return self.repl.check_code(code, self.rules)
        except (*_FAILED, Refused) as failed:
            return [CodeFinding("language", f"the code cannot be checked: {self._lost(failed)}")]

    def execute(self, code: str) -> SandboxRun:
        """Run `code` on the table as it was given, and read its result, and its table, back.

        Never raises for what the code does. Raises what `running` raises, for a run that was stopped.
        """
        if not self.fresh:
            try:
                self._bind()
            except (*_FAILED, Refused, TableError) as failed:
                said = f"the session cannot be used any more: {self._lost(failed)}"
                self.ended = True
                result = REPLResult("", said, {}, error=CellCrashed(said, session_ended=True))
                return SandboxRun(CodeBlock(code, result), error=said, reason="runtime_error")
        block = self.explore(code)
        error = block.result.error
        if error is not None:
            return SandboxRun(block, error=_told(block.result), reason="runtime_error")
        run = SandboxRun(block)
        try:
            self._result(run)  # before the table: the text of a result can come from a method of the code
            if not run.reason:
                self._edited(run) if self.rules["mode"] == "edit" else self._unchanged(run)
        except (*_UNREADABLE, Refused) as failed:
            run.error, run.reason = f"the result cannot be read: {self._lost(failed)}", "runtime_error"
        return run

    def explore(self, code: str) -> CodeBlock:
        """Run `code` as it is, for what it prints."""
        self.fresh = False
        if self._run_cell is not None:
            block = self._run_cell(self.repl, code)
        else:
            with self._running(self.repl):
                block = CodeBlock(code, self.repl.execute_code(code))
        error = block.result.error
        self.ended = error is not None and error.session_ended
        return block

    def _lost(self, failed: Exception) -> str:
        """What a request failed for, as the model reads it; notes whether the session ended by it."""
        if isinstance(failed, ProtocolViolation) and self._violated is not None:
            self._violated(str(failed))
        self.ended = self.ended or not self.repl.session.alive
        return inert_for_model(str(failed))

    # -- the table ------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """Bind the table anew, under its names and those that no cell can use. Raises TableError and as a request."""
        with self._running(self.repl):
            self.repl.set({"columns": self.table.to_dict()})
            self.repl.session.alias("<columns>", "columns")
            if modules := modules_of(self.repl.policy):
                self.repl.execute_code(f"import {', '.join(modules)}").check()
            if self.frame:
                self.repl.execute_code(_FRAME).check()
                types = {name: _exact_type(column) for name, column in self.table.columns.items()}
                if exact := {name: each for name, each in types.items() if each is not None}:
                    self.repl.set({"rlm_types": exact})
                    self.repl.execute_code(_EXACT).check()
                self.repl.session.alias("<df>", "df")
                if self.rules["mode"] == "edit":
                    self.repl.execute_code("rlm_base = df.copy()").check()
                    self.repl.session.alias("<base>", "rlm_base")
                    self.repl.execute_code("del rlm_base").check()
        names = ("columns", "df") if self.frame else ("columns",)
        self._digests = {name: self._digest(f"<{name}>") for name in names}
        if not all(self._digests.values()):
            raise TableError("the table has values that cannot be compared once they are in a session")

    def _digest(self, name: str) -> str:
        """The digest of what has this name in the session, "" for what is no plain data. Raises KeyError."""
        try:
            with self._running(self.repl):
                return self.repl.digest(name)
        except ValueNotPlain:
            return ""

    def _read(self, name: str, *, frame: bool) -> Table:
        """The table that has this name in the session. Raises as Reader.columns, and KeyError for no such name."""
        with self._running(self.repl):
            self.repl.session.alias("rlm_table", name)
        if frame and self._peek("[*rlm_table.index.names]") != [None]:
            with self._running(self.repl):  # a named index is data, as after groupby
                self.repl.execute_code("rlm_flat = rlm_table.reset_index()").check()
                self.repl.session.alias("rlm_table", "rlm_flat")
        limits = self.repl.policy.limits
        reader = Reader(self._peek, frame=frame, piece=max(limits.value_bytes // 16, 1), most=limits.kept_bytes)
        columns = reader.columns(self._name)
        if frame:
            columns = {name: _integers(each, self.table.columns.get(name, ())) for name, each in columns.items()}
        return Table(columns, limit_bytes=limits.kept_bytes)

    def _name(self, names: list[str]) -> None:
        with self._running(self.repl):
            self.repl.set({"rlm_names": names})

    def _peek(self, expression: str) -> Any:
        with self._running(self.repl):
            return self.repl.execute_code(f"rlm_part = {expression}").check().values["rlm_part"]

    def _unchanged(self, run: SandboxRun) -> None:
        """Compare the objects that the code was given with what they were."""
        after = {name: self._digest(f"<{name}>") for name in self._digests}
        run.evidence = Evidence(self._digests, after, self.table.rows)
        if not run.evidence.equal:
            run.error = "the table is not as it was after the code ran: work on a copy, and leave the table as it is"
            run.reason = "read_mutation"

    def _edited(self, run: SandboxRun) -> None:
        """Read the table back by the name that the code changed or bound anew: `df` if it did so with both."""
        after = {name: self._digest(name) for name in self._digests}
        name = next((each for each in reversed(after) if after[each] != self._digests[each]), "columns")
        run.table = self._read(name, frame=name == "df")
        run.evidence = Evidence({name: self._digests[name]}, {name: after[name]}, run.table.rows)
        run.base = self._read("<base>", frame=True) if name == "df" else self.table

    # -- the result -----------------------------------------------------------------------------------

    def _result(self, run: SandboxRun) -> None:
        name = str(self.rules["result"])
        with self._running(self.repl):
            try:
                run.value = self.repl.get(name)
            except KeyError:
                run.error, run.reason = f"the code ran and did not assign `{name}`", "missing_result"
                return
            except ValueUnavailable:
                run.value = None
            text = None
            if self.frame and run.value is None:
                shown = self.repl.execute_code(f"rlm_text = {name}.to_string(max_rows=200)")
                text = self._text("rlm_text") if shown.error is None else None
            text = self._text(name) if text is None else text
        if text is None:
            run.error = f"the code ran, and `{name}` has no text that can be read: make it a short text, number or list"
            run.reason = "runtime_error"
            return
        if len(text) > RESULT_CHARACTERS:
            said = f"\n[cut: {len(text) - RESULT_CHARACTERS:,} more characters]"
            text = text[:RESULT_CHARACTERS] + said
        run.result_text = text

    def _text(self, name: str) -> str | None:
        try:
            return self.repl.read_text(name)
        except CellError:  # it is too large, or its `__str__` failed
            return None


def modules_of(policy: Policy) -> tuple[str, ...]:
    """The modules that code finds without an import statement, where it may have none."""
    return () if policy.guardrails.imports else tuple(each for each in _MODULES if each in policy.language.modules)


def has_pandas(policy: Policy) -> bool:
    """Whether cells under this policy have pandas."""
    return "pandas" in policy.language.packages


def _exact_type(column: Sequence[Any]) -> str | None:
    """The type that keeps integers of which pandas would make floats that are not equal to them; None for others."""
    kinds = set(map(type, column))
    if int not in kinds or len(kinds) == 1:
        return None
    most = max(abs(each) for each in column if type(each) is int)
    if most <= _EXACT_INTEGER:
        return None
    return "Int64" if most <= _LARGEST and kinds == {int, type(None)} else "object"


def _integers(column: list[Any], before: Sequence[Any]) -> list[Any]:
    """`column` with integers where pandas has floats because values were missing among the integers of `before`."""
    given = [each for each in before if not is_missing(each)]
    if len(given) == len(before) or set(map(type, given)) != {int}:
        return column
    if not all(type(each) is not float or each.is_integer() for each in column):
        return column
    return [int(each) if type(each) is float else each for each in column]


def _told(result: REPLResult) -> str:
    """The error of a run, as the model reads it."""
    said = result.stderr.strip() or str(result.error)
    if len(said) > _ERROR_CHARACTERS:
        said = f"[...]{said[-_ERROR_CHARACTERS:]}"
    return inert_for_model(said)


def data(text: str) -> str:
    """A text from somebody else as a JSON string for a prompt, without controls."""
    return json.dumps(inert_for_model(text), ensure_ascii=False)
