"""No sandbox at all: exec() in the host process. It is no row of its own: it is the control of the probes."""

from __future__ import annotations

import contextlib
import io
import platform
from typing import Any

from benchmarks.peers.peer import Model, Peer, Said, Session, told


class Names(Session):
    """A dictionary of names, as a naive host keeps it."""

    def __init__(self, model: Model | None) -> None:
        self._names: dict[str, Any] = {"__name__": "cell"}
        if model is not None:
            self._names |= {"llm_query": model.one, "llm_query_batched": model.many}

    def run(self, code: str) -> Said:
        printed, error = io.StringIO(), None
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                exec(compile(code, "<cell>", "exec", dont_inherit=True), self._names)
            except Exception as raised:  # as a naive host: a SystemExit ends it
                error = told(raised)
        return Said(printed.getvalue(), error)

    def load(self, text: str) -> None:
        self._names["context"] = text

    def close(self) -> None:
        self._names.clear()


class Adapter(Peer):
    """Sessions that are dictionaries."""

    def open(self, model: Model | None = None) -> Session:
        return Names(model)

    def versions(self) -> dict[str, str]:
        return {"CPython": platform.python_version()}
