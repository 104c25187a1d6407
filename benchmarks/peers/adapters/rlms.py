"""rlms, the reference implementation of recursive language models: its LocalREPL, and its handler of model calls."""

from __future__ import annotations

from rlm.core.lm_handler import LMHandler
from rlm.environments.local_repl import LocalREPL

from benchmarks._peer import fake_client
from benchmarks.peers.peer import Model, Peer, Said, Session


class Adapter(Peer):
    """LocalREPL, its default. It has no limit of time, memory or output."""

    packages = ("rlms",)

    def open(self, model: Model | None = None) -> Session:
        return Local(model)


class Local(Session):
    """One LocalREPL, with a handler if there is a model."""

    def __init__(self, model: Model | None) -> None:
        self._handler = None if model is None else LMHandler(fake_client("rlm", "")())
        self._repl = LocalREPL(lm_handler_address=None if self._handler is None else self._handler.start())

    def run(self, code: str) -> Said:
        result = self._repl.execute_code(code)
        last = result.stderr.strip().splitlines()[-1:] or [None]
        return Said(result.stdout, last[0])

    def load(self, text: str) -> None:
        self._repl.load_context(text)

    def close(self) -> None:
        self._repl.cleanup()
        if self._handler is not None:
            self._handler.stop()
