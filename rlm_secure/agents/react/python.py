"""The tool `python`: a sandbox session that keeps its variables from call to call of one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rlm_secure.agents.agent import AgentRun
from rlm_secure.environments import REPL
from rlm_secure.errors import SessionEnded
from rlm_secure.policy import Gate
from rlm_secure.rlm.completion import keep_files
from rlm_secure.types import CodeBlock, REPLResult

NAME: Final = "python"


def run_in_sandbox(code: str) -> str:
    """Stands for the tool where its name and its parameters are read; PythonTool runs the code."""
    raise NotImplementedError(code)


class PythonTool:
    """The session of one run, opened at the first call. A session that ended is replaced as often as the policy allows.

    `context` becomes its variable `context`, `files` its files.
    """

    def __init__(self, run: AgentRun, context: Any, files: Mapping[str, bytes | bytearray | str | Path]) -> None:
        self._run = run
        self._context = context
        self._given = files
        self._repl: REPL | None = None
        self._restarts = 0
        self.written: dict[str, bytes] = {}

    def __call__(self, code: str) -> CodeBlock:
        """Run one cell. Raises SessionEnded if its session ended once more than the policy allows."""
        repl = self._repl = self._repl or self._open()
        block = self._run.run_cell(repl, code)
        error = block.result.error
        for said in keep_files(self.written, block.result.files, self._run.policy.limits):
            self._run.notice("records", said)
        if error is not None and error.session_ended:
            self._restarts += 1
            if not Gate(self._run.policy).resumes(self._restarts).allowed:
                raise SessionEnded(f"the session of the python tool ended: {error}")
            repl.cleanup()
            self._repl = None
            block.result.stderr += "\nA new session is started for the next call; variables of earlier calls are gone."
        return block

    def _open(self) -> REPL:
        repl = self._run.session(context_payload=self._context)
        for name, data in self._given.items():
            repl.files[name] = data
        return repl


def shown(result: REPLResult) -> str:
    """What the model reads of a cell: what it printed, its value, its error."""
    parts = [result.stdout.rstrip("\n"), result.text, result.stderr.strip("\n")]
    if result.dropped_bytes:
        parts.append(f"[{result.dropped_bytes:,} bytes of output were dropped]")
    return "\n".join(part for part in parts if part) or "(no output)"
