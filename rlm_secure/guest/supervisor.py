"""The supervisor: serves the broker protocol inside a sandbox, and runs one sealed worker at a time.

It holds no secret but the session key, which it reads from standard input (or from a file that it deletes)
after the zygote, the parent of all workers, was started by exec. It outlives its workers, and ends when its
host closes standard input, stops listening, says so, or is silent for too long. A worker's frames pass as
text; only who holds the key is understood. Routes and bodies: rlm_secure/broker/PROTOCOL.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import selectors
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from . import seal, surroundings
from .http import Bad, Request
from .link import Failed, Worker, Zygote
from .server import Peer, Server
from .uploads import MAX_CHUNK, Uploads

VERSION = 1
MAX_BODY = 256 * 1024 * 1024
SMALL_BODY = 64 * 1024
MAX_WAIT = 60.0
MAX_ASKED = 64
#: Ids that are remembered: an exact repetition of one of these requests is answered, not done again.
REMEMBERED = 256
ASK_SECONDS = 300.0

_SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,6})?")
_CONFIG_BYTES = 1024 * 1024
_CONFIG_SECONDS = 30.0
_SIGNAL_SECONDS = 0.05
_CPU_SECONDS = 0.1

#: (method, path without its number) -> largest body
ROUTES = {
    ("GET", "/health"): 0,
    ("POST", "/session"): SMALL_BODY,
    ("DELETE", "/session"): 0,
    ("PUT", "/context"): MAX_CHUNK,
    ("DELETE", "/context"): 0,
    ("POST", "/execute"): MAX_BODY,
    ("GET", "/pending"): 0,
    ("POST", "/respond"): MAX_BODY,
    ("POST", "/enqueue"): MAX_BODY,
    ("POST", "/interrupt"): SMALL_BODY,
}
Answer = tuple[int, dict[str, Any]] | None

_LIMITS = frozenset({"AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC"})
_FRAMES = frozenset({"begin", "exec", "assign", "alias", "context", "read"})
_FRAME_BYTES = range(4096, MAX_BODY + 1)
_MAX_GRACE = 86_400.0


def main(arguments: list[str]) -> None:
    """`supervise [CONFIG]`: serve until the host is gone. CONFIG is deleted as soon as it is read."""
    zygote = Zygote(sys.argv[0])
    config = json.loads(_read_file(arguments[0]) if arguments else _read_line(0))
    with contextlib.suppress(Failed):  # told to whoever asks for a worker
        zygote.configure({key: config[key] for key in ("uid", "namespaces", "landlock", "mdwe", "profiles")})
    around = surroundings.describe()
    seal.set_dumpable(False)  # the key is in this memory: not for ptrace, not for /proc/PID/mem
    seal.no_new_privs()
    Supervisor(config, zygote, around).serve()


def _read_line(fd: int) -> bytes:
    data = bytearray()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    deadline = time.monotonic() + _CONFIG_SECONDS
    while not data.endswith(b"\n"):
        left = deadline - time.monotonic()
        chunk = os.read(fd, 65536) if left > 0 and poll.poll(left * 1000) else b""
        if not chunk or len(data) > _CONFIG_BYTES:
            sys.exit("supervise: no configuration came on standard input")
        data += chunk
    return bytes(data)


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_CONFIG_BYTES)
    os.unlink(path)
    return data


class Supervisor:
    """Everything between one session key and one worker."""

    def __init__(self, config: dict[str, Any], zygote: Zygote, around: dict[str, Any]) -> None:
        self._config = config
        self._zygote = zygote
        self._around = around
        self._selector = selectors.DefaultSelector()
        self._server = Server(bytes.fromhex(config["key"]), self._selector, _body_limit, self._handle)
        self._uploads = Uploads(config["context_bytes"])
        self._running = True
        self._highest = 0
        self._applied: dict[int, tuple[str, Bad | None]] = {}
        self._asked: dict[str, tuple[dict[str, Any], float]] = {}
        self._worker: Worker | None = None
        self._expecting = False  # the worker was spoken to, and has not answered
        self._events = 0
        self._event: dict[str, Any] | None = None
        self._epilogue: dict[str, Any] | None = None
        self._cpu_limit: float | None = None
        self._cpu_look = 0.0
        self._stop: tuple[str, float] | None = None  # why, and when to kill
        self._signal_at = 0.0
        self._routes: dict[str, Callable[[Peer, Request, bool], Answer]] = {
            "GET /health": self._health,
            "POST /session": self._start,
            "DELETE /session": self._end,
            "PUT /context": self._put,
            "DELETE /context": self._drop,
            "POST /execute": self._execute,
            "GET /pending": self._pending,
            "POST /respond": self._respond,
            "POST /enqueue": self._enqueue,
            "POST /interrupt": self._interrupt,
        }

    def serve(self) -> None:
        """Run until the host is gone or says that this is the end."""
        if self._config.get("listen") is not None:
            where = self._server.listen(self._config["listen"])
            os.write(1, json.dumps({"listening": where}).encode() + b"\n")
        if self._config.get("connect") is not None:
            self._server.keep_connected(self._config["connect"])
        if self._config["watch_stdin"]:
            self._selector.register(0, selectors.EVENT_READ, self._host_spoke)
        try:
            while self._running and not self._server.abandoned:
                now = time.monotonic()
                again = min(self._server.tick(now), self._watch(now))
                for key, events in self._selector.select(max(again - time.monotonic(), 0.0)):
                    key.data(events)
        finally:
            if self._worker is not None:
                self._worker.close()
            with contextlib.suppress(OSError):
                os.kill(self._zygote.pid, signal.SIGKILL)

    def _host_spoke(self, _events: int) -> None:
        # Nothing is due on standard input any more: data is dropped, the end of it is the host's end.
        if not os.read(0, 65536):
            self._running = False

    def _watch(self, now: float) -> float:
        """What time brings about for the worker and the asked; returns when to look again."""
        for number, (_, deadline) in list(self._asked.items()):
            if now >= deadline:
                self._tell(number, 504, {"error": "Request timed out", "rule": "timeout"})
        if now - self._server.heard > self._config["idle_seconds"]:
            self._running = False
        if self._worker is None or not self._expecting:
            return now + 1.0
        if self._stop is None:
            if self._cpu_limit is None:
                return now + 1.0
            if now < self._cpu_look:
                return self._cpu_look
            self._cpu_look = now + _CPU_SECONDS
            if self._worker.cpu_seconds() < self._cpu_limit:
                return self._cpu_look
            self._stop_worker("cpu", self._config["grace_seconds"])
        assert self._stop is not None
        if now >= self._signal_at:
            self._signal_at = now + _SIGNAL_SECONDS
            self._worker.signal(signal.SIGKILL if now >= self._stop[1] else signal.SIGUSR1)
        return self._signal_at

    # -- requests: each is applied once -----------------------------------------------------------

    def _handle(self, peer: Peer, request: Request) -> Answer:
        path = "/" + request.path[1:].partition("/")[0]
        route = self._routes.get(f"{request.method} {path}")
        if route is None:
            known = any(each == path for _, each in ROUTES)
            raise Bad(405 if known else 404, "route", f"there is no {request.method} {request.path} here")
        if (path == "/context") != request.path[1:].partition("/")[2].isdigit():
            raise Bad(404, "route", "a context has a number, nothing else does")
        before = self._applied.get(request.number)
        if before is None:
            if request.number <= self._highest:
                raise Bad(409, "stale-id", f"ids only grow; the highest so far is {self._highest}")
            self._highest = request.number
            self._applied[request.number] = (request.mac, None)
            while len(self._applied) > REMEMBERED:
                del self._applied[next(iter(self._applied))]
        elif before[0] != request.mac:
            raise Bad(409, "id-reused", "this id named another request")
        elif before[1] is not None:
            raise before[1]
        try:
            return route(peer, request, before is not None)
        except Bad as bad:
            self._applied[request.number] = (request.mac, bad)
            raise

    def _events_now(self) -> Answer:
        pending: list[dict[str, Any]] = [] if self._event is None else [self._event]
        pending += [{"id": f"q{number}", "request": body} for number, (body, _) in self._asked.items()]
        refused = sum(self._server.refused.values())
        return 200, {"status": "ok", "worker": self._state(), "pending": pending, "refused": refused}

    def _state(self) -> str:
        return "none" if self._worker is None else "busy" if self._expecting else "idle"

    def _await_event(self, peer: Peer, request: Request) -> Answer:
        """Answer when there is an event, or after `wait` seconds; at once where none can come."""
        seconds = min(_seconds(request, "wait", 0.0), MAX_WAIT)
        if self._event is not None or self._asked or peer.waited or seconds <= 0 or not self._expecting:
            return self._events_now()
        self._server.park(peer, seconds)
        return None

    def _tell_all(self) -> None:
        for peer in self._server.parked():
            if peer.wake is not None:
                answer = self._events_now()
                assert answer is not None
                self._server.release(peer, *answer)

    def _tell(self, number: str, status: int, message: dict[str, Any]) -> None:
        del self._asked[number]
        for peer in self._server.parked():
            if peer.wake is None and peer.request is not None and str(peer.request.number) == number:
                self._server.release(peer, status, message)

    # -- routes -----------------------------------------------------------------------------------

    def _health(self, _peer: Peer, _request: Request, _repeated: bool) -> Answer:
        state = {"version": VERSION, "worker": self._state(), "refused": self._server.refused}
        return 200, {"status": "ok", **state}

    def _start(self, _peer: Peer, request: Request, repeated: bool) -> Answer:
        if not repeated:
            if self._worker is not None:
                raise Bad(409, "session", "there is a worker already; DELETE /session ends it")
            options = _fields(request.body, {"limits": dict, "profile": str, "frame_bytes": int})
            if options["profile"] not in self._config["profiles"]:
                raise Bad(422, "profile", "there is no such seccomp profile here")
            if options["frame_bytes"] not in _FRAME_BYTES or not _are_limits(options["limits"]):
                raise Bad(422, "fields", "limits are rlimits by name, frame_bytes is a size that a frame can have")
            try:
                self._hatch(options)
            except Failed as failed:
                raise Bad(503, "zygote", str(failed)) from None
        details = {**self._zygote.details, "around": self._around}
        return 200, {"status": "ok", "walls": self._zygote.walls, "details": details}

    def _hatch(self, options: dict[str, Any]) -> None:
        self._zygote.boot()
        connection, pidfd, pid = self._zygote.fork(options["limits"], options["profile"])
        worker = self._worker = Worker(connection, pidfd, pid, options["frame_bytes"], self._zygote)
        self._event = self._epilogue = self._cpu_limit = self._stop = None
        self._expecting = True  # its `ready` frame
        if pidfd is not None:
            self._selector.register(pidfd, selectors.EVENT_READ, lambda _: self._worker_ended(worker))
        self._mind(worker)

    def _end(self, _peer: Peer, request: Request, _repeated: bool) -> Answer:
        self._bury()
        self._event = self._epilogue = None
        if request.query.get("fresh") == "1":  # the next session is another one: it finds nothing of this
            self._uploads.clear()
            for number in list(self._asked):
                self._tell(number, 409, {"error": "The session has ended", "rule": "session"})
        self._running = request.query.get("exit") != "1"
        return 200, {"status": "ok"}

    def _put(self, _peer: Peer, request: Request, _repeated: bool) -> Answer:
        # Idempotent by offset: a repeated chunk is one that is there already.
        number = request.path.rpartition("/")[2]
        received = self._uploads.put(number, request.query, request.body, request.digest)
        return 200, {"status": "ok", "received": received}

    def _drop(self, _peer: Peer, request: Request, _repeated: bool) -> Answer:
        self._uploads.drop(request.path.rpartition("/")[2])
        return 200, {"status": "ok"}

    def _execute(self, peer: Peer, request: Request, repeated: bool) -> Answer:
        if not repeated:
            if self._over():
                return self._events_now()
            if self._worker is None:
                raise Bad(409, "session", "there is no worker; POST /session starts one")
            if self._expecting or self._worker.sending:
                raise Bad(409, "busy", "the worker has not answered the last frame")
            if _fields(request.body, {"op": str}, more=True)["op"] not in _FRAMES:
                raise Bad(422, "fields", f"op is one of: {', '.join(sorted(_FRAMES))}")
            cpu = _seconds(request, "cpu", None)
            upload = request.query.get("upload")
            fd = None if upload is None else self._uploads.share(upload)
            self._stop = None
            self._cpu_limit = None if cpu is None else self._worker.cpu_seconds() + cpu
            self._cpu_look = time.monotonic() + _CPU_SECONDS
            self._say(self._worker, request.body, fd)
        return self._await_event(peer, request)

    def _pending(self, peer: Peer, request: Request, _repeated: bool) -> Answer:
        return self._await_event(peer, request)

    def _respond(self, peer: Peer, request: Request, repeated: bool) -> Answer:
        if not repeated:
            message = _fields(request.body, {"id": str, "response": dict})
            name = message["id"]
            if name[:1] == "q" and name[1:] in self._asked:
                self._tell(name[1:], 200, message["response"])
            elif self._event is not None and name == self._event["id"] and "frame" in self._event:
                if self._over() or self._worker is None:
                    return self._events_now()
                self._say(self._worker, json.dumps({**message["response"], "op": "reply"}).encode("ascii"))
            else:
                raise Bad(404, "unknown-id", "Request not found")
        return self._await_event(peer, request)

    def _enqueue(self, peer: Peer, request: Request, repeated: bool) -> Answer:
        number = str(request.number)
        if not repeated:
            if len(self._asked) >= MAX_ASKED:
                raise Bad(429, "queue", f"{MAX_ASKED} requests wait already")
            self._asked[number] = (_fields(request.body, {"type": str}, more=True), time.monotonic() + ASK_SECONDS)
            self._tell_all()
        elif number not in self._asked:
            raise Bad(409, "answered", "this request was answered on a connection that is gone")
        self._server.park(peer, None)
        return None

    def _interrupt(self, _peer: Peer, request: Request, repeated: bool) -> Answer:
        grace = _fields(request.body, {"grace_seconds": float})["grace_seconds"]
        if not 0 <= grace <= _MAX_GRACE:
            raise Bad(422, "fields", "grace_seconds is at least 0 and at most a day")
        # A worker that waits for a reply is stopped when it has it.
        if not repeated and self._stop is None and (self._expecting or self._event is not None):
            self._stop_worker("interrupt", grace)
        return 200, {"status": "ok", "worker": self._state()}

    # -- the worker -------------------------------------------------------------------------------

    def _say(self, worker: Worker, body: bytes | bytearray, fd: int | None = None) -> None:
        # A reply starts no new time: who always has something to say is stopped as well.
        self._event = None
        self._expecting = True
        worker.send(body, fd)
        self._mind(worker)

    def _mind(self, worker: Worker) -> None:
        """Listen to the worker only while it is its turn; write while something waits to be written."""
        wanted = selectors.EVENT_READ if self._expecting and not worker.closed else 0
        wanted |= selectors.EVENT_WRITE if worker.sending else 0
        registered = worker.socket in self._selector.get_map()
        if wanted and registered:
            self._selector.modify(worker.socket, wanted, lambda events: self._worker_spoke(worker, events))
        elif wanted:
            self._selector.register(worker.socket, wanted, lambda events: self._worker_spoke(worker, events))
        elif registered:
            self._selector.unregister(worker.socket)

    def _worker_spoke(self, worker: Worker, events: int) -> None:
        if worker is not self._worker:
            return
        if events & selectors.EVENT_WRITE:
            worker.flush()
        if self._expecting and events & selectors.EVENT_READ:
            self._hear(worker)
        if worker is self._worker:
            self._mind(worker)

    def _hear(self, worker: Worker) -> None:
        try:
            frame = worker.frame()
        except Failed as failed:
            self._bury(str(failed))
            return
        if frame is not None:
            self._happen({"frame": frame})
        elif worker.closed:
            worker.signal(signal.SIGKILL)  # it said its last word; that it lives on does not matter
            if worker.pidfd is None:
                self._bury()

    def _worker_ended(self, worker: Worker) -> None:
        if worker is not self._worker:
            return
        if self._expecting:
            self._hear(worker)  # it may have died right after its last frame
        self._bury()

    def _bury(self, said: str | None = None) -> None:
        """The worker is over, by itself or by us: it leaves a last event."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        for thing in (worker.socket, worker.pidfd):
            if thing is not None and thing in self._selector.get_map():
                self._selector.unregister(thing)
        ended: dict[str, Any] = {"cpu": worker.cpu_seconds(), "said": said}
        worker.close()
        ended["status"] = self._zygote.status(worker.pid)
        ended["oom_kills"] = surroundings.oom_kills()
        if self._expecting:
            self._happen({"end": ended})
        else:
            self._epilogue = {"end": ended}  # told when the host next speaks to the worker

    def _over(self) -> bool:
        """Whether the worker died between two frames; its end is the event now."""
        if self._epilogue is None:
            return False
        event, self._epilogue = self._epilogue, None
        self._happen(event)
        return True

    def _happen(self, event: dict[str, Any]) -> None:
        self._expecting = False
        self._events += 1
        self._event = {"id": str(self._events), **event}
        if self._stop is not None:
            self._event["stopped"] = self._stop[0]
        self._stop = None
        self._tell_all()

    def _stop_worker(self, why: str, grace: float) -> None:
        self._stop = (why, time.monotonic() + grace)
        self._signal_at = 0.0


def _body_limit(method: str, path: str) -> int:
    return ROUTES.get((method, "/" + path[1:].partition("/")[0]), 0)


def _seconds(request: Request, name: str, default: Any) -> Any:
    text = request.query.get(name)
    if text is None:
        return default
    if not _SECONDS.fullmatch(text):
        raise Bad(400, "query", f"{name} is a number of seconds")
    return float(text)


def _are_limits(limits: dict[str, Any]) -> bool:
    pairs = [value if isinstance(value, list) else [value, value] for value in limits.values()]
    return limits.keys() <= _LIMITS and all(
        len(pair) == 2 and all(type(each) is int and 0 <= each < 2**63 for each in pair) for pair in pairs
    )


def _fields(body: bytes | bytearray, expected: dict[str, type], *, more: bool = False) -> dict[str, Any]:
    """The JSON object in `body`, with exactly the `expected` fields and types (or `more`). Raises Bad."""
    try:
        message = json.loads(body.decode("ascii"), object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError):
        raise Bad(400, "json", "the body is not JSON in ASCII") from None
    if not isinstance(message, dict):
        raise Bad(400, "json", "the body is not a JSON object")
    for name, kind in expected.items():
        value = message.get(name)
        if kind is float and type(value) is int and abs(value) < 2**53:
            value = message[name] = float(value)
        if type(value) is not kind:
            raise Bad(422, "fields", f"{name} is missing or not a {kind.__name__}")
    if not more and message.keys() != expected.keys():
        raise Bad(422, "fields", f"the body has exactly: {', '.join(sorted(expected))}")
    return message


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    message = dict(pairs)
    if len(message) != len(pairs):
        raise ValueError("a repeated key")
    return message


def _constant(name: str) -> float:
    raise ValueError(name)
