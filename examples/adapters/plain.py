"""Python's exec() in this process: the worst sandbox there is, and what every other one should be compared with.

    rlm-secure audit --env examples.adapters.plain:open_session

Nothing stands between the code and the machine, and there is no limit of time: a loop that never ends is never
stopped, and os._exit() takes this process along.
"""

from __future__ import annotations

import copy
import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from rlm_secure.testing import Adapter, Said


class Plain(Adapter):
    """One dictionary of names, shared by all runs."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, code: str, timeout: float) -> Said:  # noqa: ARG002 - nothing here can stop the code
        """Run `code` until it ends by itself; `timeout` is not kept."""
        out, err = io.StringIO(), io.StringIO()
        error: str | None = None
        with redirect_stdout(out), redirect_stderr(err):
            try:
                exec(compile(code, "<cell>", "exec"), self._names)
            except BaseException as raised:  # noqa: BLE001 - code may raise anything, SystemExit too
                error = describe(raised)
        return Said(text(out), text(err), error)

    def load_context(self, context: Any) -> None:
        """Bind a copy, so that the code changes nothing of the audit's own."""
        self._names["context"] = copy.deepcopy(context)


def describe(raised: BaseException) -> str:
    """The type and the message of an exception, whose own methods may raise as well."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except BaseException:  # noqa: BLE001 - as above
        return "an exception that does not let itself be shown"


def text(stream: io.StringIO) -> str:
    """What was written to the stream; nothing if the code closed it."""
    return "" if stream.closed else stream.getvalue()


def open_session() -> Adapter:
    """A session with no walls."""
    return Plain()
