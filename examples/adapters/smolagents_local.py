"""smolagents' LocalPythonExecutor, as CodeAgent uses it by default (pip install smolagents).

    rlm-secure audit --env examples.adapters.smolagents_local:open_session

It walks the syntax tree in this process, and says itself that it is no security sandbox. Its own limit of time
waits for the thread that it gave up, so it never returns where the code never ends; here it is off, and a thread
of this adapter's takes its place. What runs too long runs on in there: Python cannot stop a thread.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

from smolagents.local_python_executor import LocalPythonExecutor

from rlm_secure.testing import Adapter, Said


class SmolagentsLocal(Adapter):
    """One executor; its state holds the names of all runs."""

    def __init__(self) -> None:
        self._executor = LocalPythonExecutor(additional_authorized_imports=[], timeout_seconds=None)
        self._executor.send_tools({})  # without it there are no builtins
        self._over: str | None = None

    def run(self, code: str, timeout: float) -> Said:
        """Evaluate `code` in a thread, and walk away from it after `timeout`."""
        if self._over:
            return Said(error=self._over)
        state = self._executor.state
        state.pop("_print_outputs", None)  # what was printed before, where the code does not even parse
        ended: list[Said] = []

        def evaluate() -> None:
            error: str | None = None
            try:
                self._executor(code)
            except BaseException as raised:  # noqa: BLE001 - code may raise anything
                error = describe(raised)
            ended.append(Said(str(state.get("_print_outputs", "")), error=error))

        thread = threading.Thread(target=evaluate, daemon=True)
        thread.start()
        thread.join(timeout)
        if ended:
            return ended[0]
        self._over = f"no end after {timeout:g} s: the thread is left alone, and the session with it"
        return Said(error=self._over)

    def load_context(self, context: Any) -> None:
        """Bind a copy, so that the code changes nothing of the audit's own."""
        self._executor.send_variables({"context": copy.deepcopy(context)})


def describe(raised: BaseException) -> str:
    """The type and the message of an exception, whose own methods may raise as well."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except BaseException:  # noqa: BLE001 - as above
        return "an exception that does not let itself be shown"


def open_session() -> Adapter:
    """A session of the executor, with the imports that it allows by default."""
    return SmolagentsLocal()
