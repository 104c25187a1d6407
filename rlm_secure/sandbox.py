"""The plain way to run untrusted Python, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rlm_secure.broker.protocol import Call
from rlm_secure.environments import REPL, Audit, CallFailed, place
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.policy import Policy
from rlm_secure.types import REPLResult


class Sandbox:
    """Untrusted Python behind walls; state lasts from run to run.

    >>> with Sandbox() as sandbox:
    ...     sandbox.run("print(1 + 1)").stdout
    '2\\n'

    `policy` is a shipped name, a path, a mapping or a Policy. `context` (str, list or dict) is bound to the
    variable `context`. `tools` maps names to host callables, which cells call with JSON values and which
    return JSON values: each is a hole of your making. `audit`, a `rlm_secure.logger.AuditLog`, is told of every
    refusal, violation and limit.

    Raises PolicyError for a bad policy, EnforcementError when a required wall cannot be built here.
    """

    def __init__(
        self,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        context: Any = None,
        environment: str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        audit: Audit | None = None,
    ) -> None:
        self._tools = dict(tools or {})
        self._repl = REPL(
            place(environment, **dict(environment_kwargs or {})),
            policy=policy,
            calls=self._serve,
            context_payload=context,
            custom_tools=self._tools,
            audit=audit,
        )

    @property
    def report(self) -> EnforcementReport:
        """What holds around this sandbox, obtained by trying."""
        return self._repl.report

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell, for at most `timeout` seconds (the policy's limit by default).

        What the cell does wrong is in `result.stderr` and, typed, in `result.error`; `result.check()` raises it.
        Raises SessionEnded when an earlier cell ended the session.
        """
        return self._repl.execute_code(code, timeout=timeout)

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._repl.interrupt()

    def close(self) -> None:
        """End the worker and everything in it. Idempotent."""
        self._repl.cleanup()

    def _serve(self, call: Call) -> Any:
        if call.kind != "tool" or call.tool not in self._tools:
            raise CallFailed(f"{call.tool or call.kind} is not available: a Sandbox has no model")
        try:
            return self._tools[call.tool](*call.args, **call.kwargs)
        except Exception as error:
            raise CallFailed(f"the tool {call.tool!r} failed: {type(error).__name__}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
