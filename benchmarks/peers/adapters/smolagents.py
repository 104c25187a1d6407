"""smolagents' LocalPythonExecutor, as CodeAgent uses it by default: it walks the syntax tree in the host process."""

from __future__ import annotations

from smolagents.local_python_executor import LocalPythonExecutor

from benchmarks.peers.peer import Model, Peer, Said, Session, told


class Adapter(Peer):
    """Its default imports, its own limit of time."""

    packages = ("smolagents",)

    def open(self, model: Model | None = None) -> Session:
        return Executor(self, model)


class Executor(Session):
    """One executor; its state holds the names."""

    def __init__(self, peer: Peer, model: Model | None) -> None:
        seconds = max(int(peer.limits.seconds), 1)
        self._executor = LocalPythonExecutor(additional_authorized_imports=[], timeout_seconds=seconds)
        tools = {} if model is None else {"llm_query": model.one, "llm_query_batched": model.many}
        self._executor.send_tools(tools)  # without it there are no builtins

    def run(self, code: str) -> Said:
        state, error = self._executor.state, None
        state.pop("_print_outputs", None)  # what was printed before, where the code does not even parse
        try:
            self._executor(code)
        except Exception as raised:
            error = told(raised)
        return Said(str(state.get("_print_outputs", "")), error)

    def load(self, text: str) -> None:
        self._executor.send_variables({"context": text})

    def close(self) -> None:
        self._executor.state.clear()
