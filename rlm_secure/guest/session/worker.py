"""The worker: reads requests, runs cells, writes results. Hostile after its first cell.

A `done` frame carries
    stdout, stderr   text, limited while it is produced; `dropped` counts the bytes that were not kept
    variables        name -> {type, value? (small JSON), repr?} of those that the cell bound or can have changed; where
                     `exec` asked for values, those that it bound have one of whole (see tagged.py), size (of what is
                     too large) and why (it is no data); size and why, if it did not fit into this frame
    gone             names of variables that there are no longer; null if `variables` are all that there are
    value            null, or such an entry: of the last expression, of the variable that `value` asked for, of the
                     list of findings that `check` asked for, each {reason, message, line}, or of a digest in hex
    files            name -> size of each file that the cell wrote
    answer           null or {text, whole?}; whole is null where it is None
    error            null or {kind: exception|refused|memory|interrupted, message, rule?}
    cpu, peak        CPU seconds of the cell; peak resident bytes of the process
For a `read` request, `answer.text` is the variable's text; `answer` is null if there is no such variable.
"""

from __future__ import annotations

import errno
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
from ..language import compiler, facades, guards, stored
from ..language.facades.system import RecursionOfCells, undirect
from ..language.guardrails import Rules
from ..language.registry import derives, title
from ..wire import Closed
from . import memory, tagged
from .digest import digest
from .faults import INTERRUPTED, CellInterrupted, fault, leaves
from .output import Output
from .repl import Repl, too_large
from .store import Store
from .values import name_of, why

#: The worker of this process. The zygote creates `print` and the signal handler before the fork; both look it up here.
_current: SessionWorker
#: Prebuilt globals for future sessions, by the modules that they may import.
_prepared: dict[frozenset[str], dict[str, Any]] = {}
_RESERVE = 8 << 20
#: What warnings.simplefilter("ignore") adds.
_IGNORED = ("ignore", None, Warning, None, 0)
#: How many compiled cells are kept, and their most characters.
_RECENT, _SHORT = 16, 4_096
_NO_ROOM = "what was sent takes more memory here than the policy grants (limits.memory_bytes); send less, or raise it"
_SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def prepare(modules: Iterable[str]) -> None:
    """Build the globals for the modules that a shipped policy names. Called in the zygote: sessions inherit them."""
    key = frozenset(modules)
    _prepared[key] = guards.build_globals(key, _print)


def install_handlers() -> None:
    """Install the signal handlers and the unraisable hook. Called in the zygote: sessions inherit them."""
    signal.signal(signal.SIGUSR1, _on_signal)
    signal.signal(signal.SIGXCPU, _on_signal)
    sys.unraisablehook = _on_unraisable


def _on_signal(_number: int, _frame: object) -> None:
    _current.interrupt()


def _on_unraisable(unraisable: Any) -> None:
    """Report what the `finally` of a discarded generator raised.

    The interpreter's own hook would call `__str__` of the exception, which is the cell's code, and open source files.
    """
    kind = unraisable.exc_type
    if not derives(kind, CellInterrupted):
        _current.errors.write(f"Exception ignored in a generator that was closed: {title(kind)}\n")


def _print(*values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False) -> None:
    """print() for cells: writes to the cell's output, or to a file-like object that the cell passes."""
    print(*values, sep=sep, end=end, file=_current.output if file is None else file, flush=flush)


class HostError(Exception):
    """The host refused a call, or it failed. Only the message of the error reaches the cell."""


class SessionWorker:
    """Serves one channel until it closes."""

    _channel: wire.FrameChannel  # set by serve()
    _repl: Repl  # set by the first request, begin

    def __init__(self) -> None:
        self._interruptible = False
        self._interrupted = False
        self._stale = False  # what a result says of variables may be older than what code of its cell did at last
        self._options: dict[str, Any] = {}
        self._store = Store(0, 0)
        self._suspended: list[Any] = []
        self._recent: dict[str, tuple[types.CodeType, frozenset[str]]] = {}
        self.reserve = b""
        self.output = self.errors = Output(0)
        global _current
        _current = self

    def warm(self, begin: dict[str, Any]) -> None:
        """Begin and run one cell in advance: the copies of shared pages that a first cell causes cost no user time."""
        self._begin(begin)
        self._exec({"code": "x = 1 + 1", "values": True})
        del self._repl.namespace["x"]
        self._repl.changes.forget()  # nobody was told
        self._recent.clear()

    def serve(
        self, channel: wire.FrameChannel, walls: dict[str, list[str]], begin: dict[str, Any] | None = None
    ) -> None:
        """Report `walls`, then answer requests until the host is gone. Nothing that a cell does makes it raise.

        `begin` is the first request, if it is known in advance; it gets no answer.
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
        """Interrupt the cell. Called by the signal handler."""
        # Frame I/O is never interrupted, only code of a cell: a frame read in part would end the session.
        self._interrupted = True
        if self._interruptible:
            raise CellInterrupted(INTERRUPTED)

    def _begin(self, request: dict[str, Any]) -> dict[str, Any]:
        self._options = request
        self.output = Output(request["stdout_bytes"])
        self.errors = Output(request["stdout_bytes"])
        sys.stdout, sys.stderr = self.output, self.errors
        if request["screen"]:
            ahead = warnings.filters[:2]  # of the zygote: the compiler's, and this one
            if _IGNORED not in ahead or ahead[0][0] != "ignore":
                warnings.simplefilter("ignore")  # the text of a library's warning names files of the guest
            modules = frozenset(request["modules"])
            namespace = _prepared.get(modules) or guards.build_globals(modules, _print)
        else:
            namespace = {"__name__": "__main__", "__builtins__": __builtins__}
        self._store = Store(request.get("files", 0), request.get("file_bytes", 0))
        if request.get("files"):
            guards.has_files(namespace)
            stored.use(self._store.functions())
        self._repl = Repl(
            namespace,
            self._ask,
            tools=request["tools"],
            offered={"files": self._make_files} if request.get("files") else {},
            value_bytes=request["value_bytes"],
            result_bytes=request["result_bytes"],
        )
        return _done()

    def _make_files(self) -> Any:
        """The object `files` of this session's cells."""
        return guards.files(stored.functions, _print)

    def _exec(self, request: dict[str, Any]) -> dict[str, Any]:
        source = request["code"]
        if "seed" in request:
            facades.reseed(request["seed"])
        if not source:
            self._repl.changes.forget()  # it asks for all variables as they are

        def cell() -> None:
            undirect()
            code, names = self._compiled(source)
            self._repl.provide(names)
            mentioned.append(names)
            with RecursionOfCells():
                compiler.run(code, self._repl.namespace)

        mentioned: list[frozenset[str]] = []
        values, streams = request.get("values", False), request.get("stream", False)
        return self._run(cell, source, answer=True, mentioned=mentioned, values=values, streams=streams)

    def _compiled(self, source: str) -> tuple[types.CodeType, frozenset[str]]:
        """The code of a cell, and the names in it. The last short ones are kept: a caller may send one many times."""
        if (known := self._recent.get(source)) is not None:
            return known
        options = self._options
        if options["screen"]:
            code = compiler.compile_cell(source, source_bytes=options["source_bytes"], ast_nodes=options["ast_nodes"])
        else:
            code = compiler.compile_plain(source)
        made = code, compiler.mentioned(code)
        if len(source) <= _SHORT:
            if len(self._recent) == _RECENT:
                self._recent.clear()
            self._recent[source] = made
        return made

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

    def _value(self, request: dict[str, Any]) -> dict[str, Any]:
        entry: list[dict[str, Any]] = []
        name = request["name"]

        def look() -> None:
            namespace = self._repl.namespace
            if name in namespace and not guards.is_internal(name):
                entry.append(self._repl.described(namespace[name]))

        result = self._run(look)
        result["value"] = entry[0] if entry else None
        return result

    def _digest(self, request: dict[str, Any]) -> dict[str, Any]:
        entry: list[dict[str, Any]] = []
        name = request["name"]

        def look() -> None:
            if name in self._repl.namespace:
                value = self._repl.namespace[name]
                entry.append({"type": name_of(value)})
                try:
                    entry[0]["whole"] = digest(value)
                except tagged.NotPlain as refused:
                    entry[0]["why"] = why(refused)

        result = self._run(look)
        result["value"] = entry[0] if entry and len(entry[0]) > 1 else None
        return result

    def _files(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {**_done(), "files": self._store.sizes()}

    def _part(self, request: dict[str, Any]) -> dict[str, Any]:
        data = self._store.part(request["name"], request["at"], request["count"])
        return {**_done(), "value": None if data is None else {"type": "bytes", "whole": tagged.of_bytes(data)}}

    def _check(self, request: dict[str, Any]) -> dict[str, Any]:
        self.reserve = b""  # cells may have left no other memory
        result = _done()
        options = self._options
        try:
            found = compiler.check(
                request["code"],
                Rules.of(request["rules"]),
                source_bytes=options["source_bytes"],
                ast_nodes=options["ast_nodes"],
            )
        except ValueError as wrong:
            result["error"] = {"kind": "refused", "message": str(wrong), "rule": "check-rules"}
        else:
            result["value"] = {"type": "list", "whole": [each._asdict() for each in found]}
        return result

    def _file(self, request: dict[str, Any]) -> dict[str, Any]:
        def change() -> None:
            if "sent" in request:
                self._store.put(request["name"], self._repl.take(request["sent"]))
            else:
                self._store.remove(request["name"])

        return self._run(change)

    def _assign(self, request: dict[str, Any]) -> dict[str, Any]:
        def assign() -> None:
            value = self._repl.take(request["sent"]) if "sent" in request else request["value"]
            if request.get("tagged"):
                value = tagged.untag(value)
            self._bind(request, value)

        return self._run(assign)

    def _alias(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._run(lambda: self._repl.alias(request["name"], request["target"]))

    def _context(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            value = memory.load(self._channel.take_fd(), request["kind"], request["length"])
        except (MemoryError, OSError) as failed:
            if isinstance(failed, OSError) and failed.errno != errno.ENOMEM:
                raise
            self.reserve = b""  # cells may have left no other memory
            return {**_done(), "error": {"kind": "memory", "message": _NO_ROOM}}
        result = self._run(lambda: self._bind(request, value))
        memory.release()  # the context that had this name before, unless something else still refers to it
        return result

    def _bind(self, request: dict[str, Any], value: Any) -> None:
        self._repl.assign(request["name"], value, kept=not request.get("variable"))
        if request.get("alias"):
            self._repl.alias(request["alias"], request["name"])
        for name, small in request.get("values", {}).items():
            self._repl.assign(name, small)

    def _checkpoint(self, _request: dict[str, Any]) -> dict[str, Any] | None:
        """Fork: the child continues on the new socket; the parent is its checkpoint, and waits on the old socket."""
        fd = self._channel.take_fd()
        try:
            child = os.fork()
        except OSError:
            os.close(fd)
            return None  # the host sees that the new socket is closed, and continues without a checkpoint
        if child:
            os.close(fd)
            self._repl.changes.forget()  # what the child tells, the host takes back with it
            return None
        os.dup2(fd, wire.FD)
        os.close(fd)
        return _done()

    def _retire(self, _request: dict[str, Any]) -> None:
        """Release everything that the session holds: from now on this process only is the init of its PID namespace.

        Suspended generators are kept: to release one runs its `finally`, and nothing here can stop a cell's code.
        """
        self._suspended = [each for each in gc.get_objects() if type(each) in _SUSPENDED]
        self._repl.namespace.clear()
        self._repl = cast(Repl, None)
        self._recent.clear()
        gc.collect()

    def _run(
        self,
        body: Callable[[], None],
        source: str = "",
        *,
        answer: bool = False,
        mentioned: list[frozenset[str]] | None = None,
        values: bool = False,
        streams: bool = False,
    ) -> dict[str, Any]:
        """Run `body` as a cell and build its result. Only a cell has an `answer`.

        `mentioned` are its names. With `values`, the result has the values that it bound. If it `streams`, the host
        gets its output while it runs, in calls.

        It can be interrupted until the result is built; its output is captured, and every exception is caught. Code of
        a cell also runs after its last line: the text of its exception comes from its own method, and releasing an
        object (the exception, an overwritten name) may close a generator. All of that counts as part of the cell, and
        of its CPU time.
        """
        self.output.clear()
        self.errors.clear()
        repl = self._repl
        repl.begin()
        self._interrupted = self._stale = False
        if streams:
            self.output.to(lambda text: self._ask({"call": "output", "stream": "stdout", "text": text}))
            self.errors.to(lambda text: self._ask({"call": "output", "stream": "stderr", "text": text}))
        self._take_reserve()
        result = _nothing()
        started = time.process_time_ns()
        ended = self._contained(body)
        self.output.stream = self.errors.stream = None  # the result has the rest
        # SystemExit and other exceptions of a cell end the cell, not the worker.
        steps: list[Callable[[], object]] = [lambda: self._fault(ended, source, result)] if ended else []
        if answer:
            result["variables"] = None  # until they are described
            steps.append(lambda: self._answer(result))
        if values:
            steps.append(lambda: result.update(value=repl.last()))
        steps.append(repl.forget_value)
        if answer:
            names = mentioned[0] if mentioned else frozenset()
            steps.append(lambda: self._describe(result, names, values=values))
            steps.append(lambda: self._restore(result, names, values=values))
        else:
            steps.append(repl.restore)
        self._conclude(steps)
        if answer:
            result["files"] = self._store.changed()
            if result["variables"] is not None:
                result["gone"] = self._told(result["variables"])
                if self._stale:
                    self._repl.changes.forget()  # the next result describes all
            else:  # code of the cell has prevented it, time after time: what the host was told may be wrong
                self._repl.changes.forget()
                result["variables"], result["gone"] = {}, None
        if self._interrupted and (result["error"] is None or result["error"]["kind"] != "interrupted"):
            # The cell caught the interrupt, or had already finished its last line.
            result["error"] = {"kind": "interrupted", "message": INTERRUPTED}
            self.errors.write(f"{INTERRUPTED}\n")
        result["stdout"] = self.output.text()
        result["stderr"] = self.errors.text()
        result["dropped"] = self.output.dropped + self.errors.dropped
        result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        result["cpu"] = (time.process_time_ns() - started) / 1e9  # few digits, which take less time than many
        return result

    def _contained(self, step: Callable[[], object]) -> list[BaseException]:
        """Run `step` as interruptible code of a cell. Returns what it raised in a list, which has the only reference.

        The garbage collector only runs here: it may close a generator, which runs code of the cell.
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
            self._interruptible = False  # first, because a signal would raise in the next call
            gc.disable()
        return []

    def _conclude(self, steps: list[Callable[[], object]]) -> None:
        """Run the steps of building the result. One that runs out of memory or time is tried again without the reserve.
        """
        left = iter(steps)
        step = None

        def run() -> None:
            nonlocal step
            for step in left:
                step()

        while failed := self._contained(run):
            self.reserve = b""
            self._contained(failed.clear)
            if step is not None:
                failed = self._contained(step)
                self._contained(failed.clear)

    def _fault(self, ended: list[BaseException], source: str, result: dict[str, Any]) -> None:
        """Describe in `result` how the cell ended, and release the exception."""
        if not ended:
            return
        raised = ended[0]
        if not self._repl.ended_by(raised) and not leaves(raised) and result["error"] is None:
            self.reserve = b""  # the cell may have left no memory for building a result
            kind, message, rule, text = fault(raised, source, interrupted=self._interrupted)
            self.errors.write(text)
            result["error"] = {"kind": kind, "message": message[:4000]} | ({"rule": rule} if rule else {})
        # Do not assign to the attribute: a class of a cell may define __setattr__.
        BaseException.with_traceback(raised, None)
        del raised
        ended.clear()

    def _answer(self, result: dict[str, Any]) -> None:
        """Put the cell's answer into `result`; one that is too large ends the cell with an error that says so."""
        try:
            result["answer"] = self._repl.answer()
        except tagged.TooLarge as large:
            message = too_large(large.size, self._options["result_bytes"])
            result["error"] = {"kind": "refused", "message": message, "rule": "result-bytes"}
            self.errors.write(f"{message}\n")

    def _describe(self, result: dict[str, Any], mentioned: frozenset[str], *, values: bool) -> None:
        """Put the variables into `result` that the cell bound, or can have changed."""
        repl = self._repl
        described, bound = repl.variables(mentioned)
        if values:
            repl.whole(described, bound, mentioned)
        result["variables"] = described

    def _restore(self, result: dict[str, Any], mentioned: frozenset[str], *, values: bool) -> None:
        """Restore names. Where one was released, its code may have changed variables: they are described once more.

        Not before the first description: a collection in it may run code of the cell, too, and bind names anew. The
        second one begins none.
        """
        again, self._stale = self._stale, True  # an interrupt may come between any two of these
        if self._repl.restore() or again:
            gc.disable()
            self._describe(result, mentioned, values=values)
        self._stale = False

    def _told(self, described: dict[str, Any]) -> list[str] | None:
        """Note that the host is told of the variables `described`. Returns the names that are gone."""
        try:
            return self._repl.changes.tell(described)
        except MemoryError:  # of a cell that has left none
            self.reserve = b""
            self._repl.changes.forget()
            return self._repl.changes.tell(described)

    def _take_reserve(self) -> None:
        """Reserve memory for the work that must succeed after a cell has used up the rest. Untouched, so it is free."""
        if not self.reserve:
            try:
                self.reserve = bytes(_RESERVE)
            except MemoryError:
                self.reserve = b""

    def _reply(self, result: dict[str, Any]) -> None:
        limit = self._options["result_bytes"]
        if self._channel.send_within(result, limit):
            return
        for entry in result["variables"].values():
            entry.pop("whole", None)  # it can be asked for
        if self._channel.send_within(result, limit):
            return
        # Escaped JSON can be six times as long as the text: drop the least important parts first.
        value = result["value"]
        shown = "" if value is None else value.get("repr", "")
        if value is not None:
            _show(value, shown, limit // 32)
            _leave_out(value, limit // 2)
            if self._channel.send_within(result, limit):
                return
        _shorten(result, limit // 32)
        result["variables"] = {name: {"type": about["type"]} for name, about in result["variables"].items()}
        self._repl.changes.forget()  # the next result has room for what this one does not say
        if self._channel.send_within(result, limit):
            return
        result["variables"], result["gone"] = {}, None
        if value is not None:
            _leave_out(value, 0)
        for field, what, nothing in (("files", "list of the files", {}), ("answer", "answer", None)):
            if self._channel.send_within(result, limit):
                return
            if result[field]:
                result[field] = nothing
                message = f"the {what} is larger than the policy's limits.result_bytes of {limit}"
                result["error"] = {"kind": "refused", "message": message, "rule": "result-bytes"}
                result["stderr"] += message + "\n"
        # What is left is short texts, of which each character may take twelve bytes: without an answer, the host would
        # wait for one until it kills the worker.
        most = limit // 32
        while not self._channel.send_within(result, limit) and most:
            most //= 2
            _shorten(result, most)
            if value is not None:
                _show(value, shown, most)

    def _ask(self, call: dict[str, Any]) -> Any:
        """Send one call of a cell to the host and return the reply. Raises HostError, CellInterrupted, ValueError."""
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
    """The result of a request that runs no code of a cell: garbage collection, which may close generators, is off."""
    return {**_nothing(), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "cpu": 0.0}


def _shorten(result: dict[str, Any], most: int) -> None:
    """Cut each text of `result` to `most` characters."""
    for field in ("stdout", "stderr"):
        kept = result[field][:most]
        result["dropped"] += len(result[field]) - len(kept)
        result[field] = kept
    if result["error"] is not None:
        result["error"]["message"] = result["error"]["message"][:most]


def _show(value: dict[str, Any], text: str, most: int) -> None:
    """Have the entry `value` show `most` characters of `text`, and of why it is no data, if it is none."""
    if len(text) > most:
        value["repr"] = f"{text[:most]}... [{len(text)} long]"
    if "why" in value and "size" not in value:
        value["why"] = value["why"][:most]


def _leave_out(value: dict[str, Any], most: int) -> None:
    """Have the entry `value` say that its value did not fit into the frame, where that takes more than `most` bytes."""
    if "whole" in value and (size := len(wire.encode(value["whole"]))) > most:
        del value["whole"]
        value.update(size=size, why="result-bytes")


def _nothing() -> dict[str, Any]:
    """A result without `peak` and `cpu`."""
    return {
        "op": "done", "variables": {}, "gone": [], "value": None, "files": {}, "answer": None, "error": None,
        "stdout": "", "stderr": "", "dropped": 0,
    }  # fmt: skip
