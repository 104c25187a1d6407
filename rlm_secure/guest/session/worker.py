"""The worker: reads requests, runs cells, writes results. Hostile from its first cell on.

A `done` frame carries
    stdout, stderr   text, capped while produced; `dropped` counts the bytes that were not kept
    variables        name -> {type, value? (small JSON), repr?}
    answer           null or {text, value?}
    error            null or {kind: exception|refused|memory|interrupted, message, rule?}
    cpu, peak        CPU seconds of the cell; peak resident bytes of the process
For a `read` request `answer.text` is the variable's text, or answer is null where there is no variable.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any, cast

from .. import wire
from ..language import compiler, facades, guards
from ..language.registry import derives, title
from ..wire import Closed
from . import memory
from .faults import INTERRUPTED, CellInterrupted, fault
from .output import Output
from .repl import Repl

#: The worker of this process, for the print and the signal handler that the zygote made before the fork.
_current: Worker
#: The globals of sessions to come, by the modules that they may import.
_prepared: dict[frozenset[str], dict[str, Any]] = {}
_RESERVE = 8 << 20


def prepare(modules: Iterable[str]) -> None:
    """In the zygote: build the globals for modules that a shipped policy names, so that sessions are born with them."""
    key = frozenset(modules)
    _prepared[key] = guards.build_globals(key, _print)


def listen() -> None:
    """In the zygote: install the handlers that sessions are born with."""
    signal.signal(signal.SIGUSR1, _on_signal)
    signal.signal(signal.SIGXCPU, _on_signal)
    sys.unraisablehook = _on_unraisable


def _on_signal(_number: int, _frame: object) -> None:
    _current.interrupt()


def _on_unraisable(unraisable: Any) -> None:
    """What the `finally` of a forgotten generator raised. The interpreter's own hook would ask the exception for its
    text, which is the cell's code, and look for source files."""
    kind = unraisable.exc_type
    if not derives(kind, CellInterrupted):
        _current.errors.write(f"Exception ignored in a generator that was closed: {title(kind)}\n")


def _print(*values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False) -> None:
    """print(), into the cell's output, or into a file-like object of the cell's own."""
    print(*values, sep=sep, end=end, file=_current.output if file is None else file, flush=flush)


class HostError(Exception):
    """The host refused or failed a call; its message is all that crosses the wall."""


class Worker:
    """Serves one channel until it closes."""

    def __init__(self) -> None:
        self._channel: wire.Channel = cast(wire.Channel, None)  # set by serve()
        self._repl: Repl = cast(Repl, None)  # set by the first request, begin
        self._interruptible = False
        self._interrupted = False
        self._options: dict[str, Any] = {}
        self._suspended: list[Any] = []
        self.reserve = b""
        self.output = self.errors = Output(0)
        global _current
        _current = self

    def warm(self, begin: dict[str, Any]) -> None:
        """Begin, and run a cell: what a first cell copies of shared pages, nobody waits for here."""
        self._begin(begin)
        self._exec({"code": "x = 1 + 1"})
        del self._repl.namespace["x"]

    def serve(self, channel: wire.Channel, walls: dict[str, list[str]], begin: dict[str, Any] | None = None) -> None:
        """Report `walls`, then answer requests until the host is gone. Never raises for what a cell does.

        `begin` is the first request, where it is known beforehand: nobody is answered then.
        """
        self._channel = channel
        try:
            if begin is not None:
                self._begin(begin)
            self._channel.send_within({"op": "ready", "walls": walls, "details": {}}, wire.MAX_FRAME)
            while True:
                request = self._channel.receive()
                result = getattr(self, f"_{request['op']}")(request)
                if result is not None:
                    self._reply(result)
        except Closed:
            return

    def interrupt(self) -> None:
        """Called by the signal handler."""
        # Only code of a cell is interrupted, never frame I/O: a half-read frame would end the session.
        self._interrupted = True
        if self._interruptible:
            raise CellInterrupted(INTERRUPTED)

    def _begin(self, request: dict[str, Any]) -> dict[str, Any]:
        self._options = request
        self.output = Output(request["stdout_bytes"])
        self.errors = Output(request["stdout_bytes"])
        sys.stdout, sys.stderr = self.output, self.errors
        if request["screen"]:
            warnings.simplefilter("ignore")  # a library's names the files of the guest
            modules = frozenset(request["modules"])
            namespace = _prepared.get(modules) or guards.build_globals(modules, _print)
        else:
            namespace = {"__name__": "__main__", "__builtins__": __builtins__}
        self._repl = Repl(
            namespace,
            self._ask,
            tools=request["tools"],
            value_bytes=request["value_bytes"],
            result_bytes=request["result_bytes"],
        )
        return _done()

    def _exec(self, request: dict[str, Any]) -> dict[str, Any]:
        source = request["code"]
        if "seed" in request:
            facades.reseed(request["seed"])

        def cell() -> None:
            if self._options["screen"]:
                code = compiler.compile_cell(
                    source, source_bytes=self._options["source_bytes"], ast_nodes=self._options["ast_nodes"]
                )
            else:
                code = compiler.compile_plain(source)
            compiler.run(code, self._repl.namespace)

        return self._run(cell, source, answer=True)

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        text: list[str] = []
        name = request["name"]

        def read() -> None:
            namespace = self._repl.namespace
            if name in namespace and not guards.is_internal(name):
                text.append(str.__str__(str(namespace[name])))

        result = self._run(read)
        result["answer"] = {"text": text[0]} if text else None
        return result

    def _assign(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._run(lambda: self._repl.assign(request["name"], request["value"]))

    def _alias(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._run(lambda: self._repl.alias(request["name"], request["target"]))

    def _context(self, request: dict[str, Any]) -> dict[str, Any]:
        value = memory.load(self._channel.take_fd(), request["kind"], request["length"])
        result = self._run(lambda: self._repl.assign(request["name"], value))
        memory.release()  # what the name stood for, where nothing else does
        return result

    def _checkpoint(self, _request: dict[str, Any]) -> dict[str, Any] | None:
        """Fork: the child goes on with the new socket, the parent is its spare and waits on the old one."""
        fd = self._channel.take_fd()
        try:
            child = os.fork()
        except OSError:
            os.close(fd)
            return None  # the host sees the new socket close, and goes on without a checkpoint
        if child:
            os.close(fd)
            return None
        os.dup2(fd, wire.FD)
        os.close(fd)
        return _done()

    def _retire(self, _request: dict[str, Any]) -> None:
        """No longer a spare, only the init of the namespace: let go of everything that is held."""
        # But for suspended generators: to forget one runs its `finally`, and nobody stops a cell's code here.
        self._suspended = [each for each in gc.get_objects() if type(each) is types.GeneratorType]
        self._repl.namespace.clear()
        self._repl = cast(Repl, None)
        gc.collect()

    def _run(self, body: Callable[[], None], source: str = "", *, answer: bool = False) -> dict[str, Any]:
        """Run `body` as a cell, and build its result: interruptible to the end, its output captured, every exception
        contained. Only a cell has an `answer`.

        Code of a cell runs after its last line as well: the text of its exception is its own method, and whatever is
        let go of (the exception, a shadowed name) may close a generator. All that is part of the cell, and of its
        CPU seconds.
        """
        self.output.clear()
        self.errors.clear()
        repl = self._repl
        repl.begin()
        self._interrupted = False
        self._take_reserve()
        result = _done()
        started = time.process_time()
        ended = self._contained(body)
        if ended:
            # SystemExit and a cell's own exceptions end the cell, not the worker.
            self._conclude(lambda: self._fault(ended, source, result))
        if answer:
            self._conclude(lambda: result.update(answer=repl.answer()))
        self._conclude(lambda: result.update(variables=repl.variables()))
        self._conclude(repl.restore)
        if self._interrupted and (result["error"] is None or result["error"]["kind"] != "interrupted"):
            # It swallowed the interrupt, or was past its last line.
            result["error"] = {"kind": "interrupted", "message": INTERRUPTED}
            self.errors.write(f"{INTERRUPTED}\n")
        result["stdout"] = self.output.text()
        result["stderr"] = self.errors.text()
        result["dropped"] = self.output.dropped + self.errors.dropped
        result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        result["cpu"] = time.process_time() - started
        return result

    def _contained(self, step: Callable[[], object]) -> list[BaseException]:
        """Run `step` as code of a cell: it can be interrupted. What it raised is in the list, held by nothing else.

        Garbage is collected nowhere else: that may close a generator, which is code of the cell.
        """
        try:
            self._interruptible = True
            gc.enable()
            step()
        except BaseException as raised:
            self._interruptible = False
            gc.disable()
            return [raised]
        finally:
            self._interruptible = False  # first: a signal would raise out of the next call
            gc.disable()
        return []

    def _conclude(self, step: Callable[[], object]) -> None:
        """A step of the result. One that memory or time ran out in is tried again, with the memory set aside."""
        if failed := self._contained(step):
            self.reserve = b""
            self._contained(failed.clear)
            failed = self._contained(step)
            self._contained(failed.clear)

    def _fault(self, ended: list[BaseException], source: str, result: dict[str, Any]) -> None:
        """Describe how the cell ended, and let go of the exception."""
        if not ended:
            return
        raised = ended[0]
        if not self._repl.ended_by(raised) and result["error"] is None:
            self.reserve = b""  # the cell may have left nothing to build a result with
            kind, message, rule, text = fault(raised, source, interrupted=self._interrupted)
            self.errors.write(text)
            result["error"] = {"kind": kind, "message": message[:4000]} | ({"rule": rule} if rule else {})
        # Not by assignment: a class of a cell may define __setattr__.
        BaseException.with_traceback(raised, None)
        del raised
        ended.clear()

    def _take_reserve(self) -> None:
        """Set memory aside, untouched and so at no cost, for what must work after a cell used up the rest."""
        if not self.reserve:
            try:
                self.reserve = bytes(_RESERVE)
            except MemoryError:
                self.reserve = b""

    def _reply(self, result: dict[str, Any]) -> None:
        limit = self._options["result_bytes"]
        if not self._channel.send_within(result, limit):
            # Escaped JSON can be six times the text: give up what matters least first.
            result["variables"] = {}
            for field in ("stdout", "stderr"):
                kept = result[field][: limit // 32]
                result["dropped"] += len(result[field]) - len(kept)
                result[field] = kept
            if not self._channel.send_within(result, limit):
                result["answer"] = None
                message = f"the answer is larger than the policy's limits.result_bytes of {limit}"
                result["error"] = {"kind": "refused", "message": message, "rule": "result-bytes"}
                result["stderr"] += message + "\n"
                self._channel.send_within(result, limit)

    def _ask(self, call: dict[str, Any]) -> Any:
        """One call to the host, from inside a cell."""
        self._interruptible = False
        gc.disable()
        try:
            call["op"] = "call"
            if not self._channel.send_within(call, self._options["result_bytes"]):
                raise ValueError(
                    f"the call is larger than the policy's limits.result_bytes of {self._options['result_bytes']}; "
                    "send less text at once"
                )
            reply = self._channel.receive()
        finally:
            gc.enable()
            self._interruptible = True
        if self._interrupted:
            raise CellInterrupted(INTERRUPTED)
        if "error" in reply:
            raise HostError(reply["error"])
        return reply["value"]


def _done() -> dict[str, Any]:
    """The result of a request that runs no code of a cell: not even a collection of garbage, which may close one."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    empty: dict[str, Any] = {"variables": {}, "answer": None, "error": None, "stdout": "", "stderr": "", "dropped": 0}
    return {"op": "done", **empty, "peak": peak, "cpu": 0.0}
