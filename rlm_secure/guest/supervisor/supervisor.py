"""The supervisor: serves the broker protocol inside a sandbox, and runs one sealed worker at a time.

Its only secret is the session key. It reads the key from standard input (or from a file that it deletes) after it has
started the zygote, the parent of all workers, by exec; so no worker inherits the key. It outlives its workers. It ends
when its host closes standard input, stops listening, asks it to end, or is silent for too long. It passes on a worker's
frames as text, and only parses requests that are signed with the key. Routes and bodies: rlm_secure/broker/PROTOCOL.md.

Guards: each request is applied once, to the session that it is for
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import selectors
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from .. import wire
from ..kernel import seal
from . import privileges, surroundings
from .bodies import are_limits, fields, seconds
from .exchange import Exchange
from .http import HttpError, SignedRequest
from .server import Peer, Server
from .uploads import MAX_CHUNK, Uploads
from .zygote_link import LinkError, UnfitPackages, ZygoteLink

VERSION = 1
MAX_BODY = 256 * 1024 * 1024
SMALL_BODY = 64 * 1024
MAX_WAIT = 60.0
MAX_ENQUEUED = 64
#: Request ids that are remembered: an exact repetition of such a request is answered, but not applied again.
REMEMBERED = 256
ENQUEUED_SECONDS = 300.0

#: Turns of the loop that may fail in a row, and the pause after each: a shortage may pass.
_FAILURES = 200
_SHORT_SECONDS = 0.05

#: What the zygote is told of the configuration.
_OF_THE_ZYGOTE = ("uid", "namespaces", "landlock", "mdwe", "profiles", "packages")
_CONFIG_BYTES = 1024 * 1024
_CONFIG_SECONDS = 30.0

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

#: Routes whose answer is the current events. Every other answer is kept with its id, and sent again to a repetition.
_WAITING = frozenset({"/execute", "/pending", "/respond", "/enqueue"})
_FRAMES = frozenset(
    {"begin", "exec", "assign", "alias", "context", "read", "value", "file", "files", "part", "check", "digest"}
)
_FRAME_BYTES = range(4096, MAX_BODY + 1)
_MAX_GRACE = 86_400.0


def main(arguments: list[str], zygote_path: str | None = None) -> None:
    """`supervise [CONFIG]`: serve until the host is gone. CONFIG is deleted as soon as it is read.

    `zygote_path` is the socket to which a zygote of another uid connects; without it, one is started here.
    """
    zygote = ZygoteLink(sys.argv[0], zygote_path)
    config = wire.loads(_read_file(arguments[0]) if arguments else _read_line(0))
    with contextlib.suppress(LinkError):  # reported when a worker is requested
        zygote.configure({key: config[key] for key in _OF_THE_ZYGOTE})
    around = surroundings.describe(config["masked"], config["readonly"])
    seal.set_dumpable(False)  # the key is in this memory: neither ptrace nor /proc/PID/mem may read it
    seal.no_new_privs()
    Supervisor(config, zygote, around).serve(signals=zygote_path is None)


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
    """Serves the requests of one host, signed with one session key, for one worker at a time."""

    def __init__(self, config: dict[str, Any], zygote: ZygoteLink, around: dict[str, Any]) -> None:
        self._config = config
        self._zygote = zygote
        self._around = around
        self._selector = selectors.DefaultSelector()
        self._server = Server(bytes.fromhex(config["key"]), self._selector, _body_limit, self._handle)
        self._uploads = Uploads(config["context_bytes"])
        self._running = True
        self._highest = 0
        self._applied: dict[int, tuple[str, HttpError | Answer]] = {}
        self._enqueued: dict[str, tuple[dict[str, Any], float]] = {}
        self._exchange = Exchange(zygote, self._selector, self._wake_waiting_peers)
        self._routes: dict[str, Callable[[Peer, SignedRequest, bool], Answer]] = {
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

    def serve(self, *, signals: bool = True) -> None:
        """Run until the host is gone or asks for the end. `signals`: the workers have the supervisor's uid."""
        if self._config.get("listen") is not None:
            where = self._server.listen(self._config["listen"])
            privileges.hand_over(where, self._config["supervisor"]["uid"])
            os.write(1, json.dumps({"listening": where}).encode() + b"\n")
        if self._config.get("connect") is not None:
            self._server.keep_connected(self._config["connect"])
        if self._config["watch_stdin"]:
            self._selector.register(0, selectors.EVENT_READ, self._host_spoke)
        connects = self._config.get("connect") is not None
        self._around["supervisor"] = privileges.drop(self._config["supervisor"], connects=connects, signals=signals)
        try:
            failures = 0
            while self._running and not self._server.host_gone:
                try:
                    self._turn()
                    failures = 0
                except Exception as error:
                    failures += 1
                    if failures > _FAILURES:
                        sys.exit(f"supervise: no turn was done {_FAILURES} times in a row: {_kind_of(error)}")
                    time.sleep(_SHORT_SECONDS)
        finally:
            self._exchange.close()
            with contextlib.suppress(OSError):
                os.kill(self._zygote.pid, signal.SIGKILL)

    def _turn(self) -> None:
        now = time.monotonic()
        again = min(self._server.tick(now), self._watch(now))
        for key, events in self._selector.select(max(again - time.monotonic(), 0.0)):
            key.data(events)

    def _host_spoke(self, _events: int) -> None:
        # The host sends nothing more on standard input: data is discarded, and its end means that the host is gone.
        try:
            gone = not os.read(0, 4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            gone = True
        if gone:
            self._running = False

    def _watch(self, now: float) -> float:
        """Handle deadlines of enqueued requests and of the worker; return when to check again."""
        for number, (_, deadline) in list(self._enqueued.items()):
            if now >= deadline:
                self._answer_enqueued(number, 504, {"error": "Request timed out", "rule": "timeout"})
        if now - self._server.last_request > self._config["idle_seconds"]:
            self._running = False
        return self._exchange.watch(now, self._config["grace_seconds"])

    # -- requests: each is applied once -----------------------------------------------------------

    def _handle(self, peer: Peer, request: SignedRequest) -> Answer:
        path = "/" + request.path[1:].partition("/")[0]
        route = self._routes.get(f"{request.method} {path}")
        if route is None:
            known = any(each == path for _, each in ROUTES)
            raise HttpError(405 if known else 404, "route", f"there is no {request.method} {request.path} here")
        if (path == "/context") != request.path[1:].partition("/")[2].isdigit():
            raise HttpError(404, "route", "a context has a number, nothing else does")
        before = self._applied.get(request.number)
        if before is None:
            if request.number <= self._highest:
                raise HttpError(409, "stale-id", f"ids only grow; the highest so far is {self._highest}")
            self._highest = request.number
            self._applied[request.number] = (request.mac, None)
            while len(self._applied) > REMEMBERED:
                del self._applied[next(iter(self._applied))]
        elif before[0] != request.mac:
            raise HttpError(409, "id-reused", "this id named another request")
        elif isinstance(before[1], HttpError):
            raise before[1]
        elif before[1] is not None:
            return before[1]
        try:
            answer = route(peer, request, before is not None)
        except HttpError as bad:
            self._applied[request.number] = (request.mac, bad)
            raise
        except Exception as error:  # no memory, no descriptors, or a bug: report it, and continue to serve
            failed = HttpError(500, "failed", f"the supervisor could not do it: {_kind_of(error)}")
            self._applied[request.number] = (request.mac, failed)
            raise failed from None
        if path not in _WAITING:
            self._applied[request.number] = (request.mac, answer)
        return answer

    def _events_now(self) -> Answer:
        pending: list[dict[str, Any]] = [] if self._exchange.event is None else [self._exchange.event]
        pending += [{"id": f"q{number}", "request": body} for number, (body, _) in self._enqueued.items()]
        refused = sum(self._server.refused.values())
        return 200, {"status": "ok", "worker": self._exchange.state, "pending": pending, "refused": refused}

    def _await_event(self, peer: Peer, request: SignedRequest) -> Answer:
        """Answer when there is an event, or after `wait` seconds; at once where no event can come."""
        longest = min(seconds(request, "wait", 0.0), MAX_WAIT)
        exchange = self._exchange
        if exchange.event is not None or self._enqueued or peer.waited or longest <= 0 or not exchange.expecting:
            return self._events_now()
        self._server.park(peer, longest)
        return None

    def _wake_waiting_peers(self) -> None:
        for peer in self._server.parked():
            if peer.wake is not None:
                answer = self._events_now()
                assert answer is not None
                self._server.release(peer, *answer)

    def _answer_enqueued(self, number: str, status: int, message: dict[str, Any]) -> None:
        del self._enqueued[number]
        for peer in self._server.parked():
            if peer.wake is None and peer.request is not None and str(peer.request.number) == number:
                self._server.release(peer, status, message)

    # -- routes -----------------------------------------------------------------------------------

    def _health(self, _peer: Peer, _request: SignedRequest, _repeated: bool) -> Answer:
        state = {"version": VERSION, "worker": self._exchange.state, "refused": self._server.refused}
        return 200, {"status": "ok", **state}

    def _start(self, _peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        if self._exchange.state != "none":
            raise HttpError(409, "session", "there is a worker already; DELETE /session ends it")
        options = fields(request.body, {"limits": dict, "profile": str, "frame_bytes": int})
        if options["profile"] not in self._config["profiles"]:
            raise HttpError(422, "profile", "there is no such seccomp profile here")
        if options["frame_bytes"] not in _FRAME_BYTES or not are_limits(options["limits"]):
            raise HttpError(422, "fields", "limits are rlimits by name, frame_bytes is a size that a frame can have")
        try:
            self._exchange.spawn(options["limits"], options["profile"], options["frame_bytes"])
        except UnfitPackages as failed:
            raise HttpError(503, "packages", str(failed)) from None
        except LinkError as failed:
            raise HttpError(503, "zygote", str(failed)) from None
        details = {**self._zygote.details, "around": {**self._around, "worker_uids": self._exchange.users}}
        walls = self._zygote.walls
        if not self._exchange.sees_memory:
            unseen = {"rlimits": "; the supervisor cannot see what a worker holds"}
            walls = {name: [level, evidence + unseen.get(name, "")] for name, (level, evidence) in walls.items()}
        return 200, {"status": "ok", "walls": walls, "details": details}

    def _end(self, _peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        fresh = request.query.get("fresh") == "1"
        self._exchange.end(fresh=fresh)
        if fresh:  # a different session follows: nothing of this one may remain
            self._uploads.clear()
            for number in list(self._enqueued):
                self._answer_enqueued(number, 409, {"error": "The session has ended", "rule": "session"})
        if request.query.get("exit") == "1":
            self._running = False
        return 200, {"status": "ok"}

    def _put(self, _peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        # Also idempotent by offset: a chunk that is sent again under another id changes nothing.
        number = request.path.rpartition("/")[2]
        received = self._uploads.put(number, request.query, request.body, request.digest)
        return 200, {"status": "ok", "received": received}

    def _drop(self, _peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        self._uploads.drop(request.path.rpartition("/")[2])
        return 200, {"status": "ok"}

    def _execute(self, peer: Peer, request: SignedRequest, repeated: bool) -> Answer:
        if not repeated:
            if self._exchange.report_exit():
                return self._events_now()
            if self._exchange.state == "none":
                raise HttpError(409, "session", "there is no worker; POST /session starts one")
            if not self._exchange.free:
                raise HttpError(409, "busy", "the worker has not answered the last frame")
            if fields(request.body, {"op": str}, more=True)["op"] not in _FRAMES:
                raise HttpError(422, "fields", f"op is one of: {', '.join(sorted(_FRAMES))}")
            cpu = seconds(request, "cpu", None)
            upload = request.query.get("upload")
            fd = None if upload is None else self._uploads.share(upload)
            self._exchange.send_request(request.body, fd, cpu)
        return self._await_event(peer, request)

    def _pending(self, peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        return self._await_event(peer, request)

    def _respond(self, peer: Peer, request: SignedRequest, repeated: bool) -> Answer:
        if not repeated:
            message = fields(request.body, {"id": str, "response": dict})
            name, event = message["id"], self._exchange.event
            if name[:1] == "q" and name[1:] in self._enqueued:
                self._answer_enqueued(name[1:], 200, message["response"])
            elif event is not None and name == event["id"] and "frame" in event:
                if self._exchange.report_exit() or self._exchange.state == "none":
                    return self._events_now()
                self._exchange.send_frame(json.dumps({**message["response"], "op": "reply"}).encode("ascii"))
            else:
                raise HttpError(404, "unknown-id", "Request not found")
        return self._await_event(peer, request)

    def _enqueue(self, peer: Peer, request: SignedRequest, repeated: bool) -> Answer:
        number = str(request.number)
        if not repeated:
            if len(self._enqueued) >= MAX_ENQUEUED:
                raise HttpError(429, "queue", f"{MAX_ENQUEUED} requests wait already")
            question = fields(request.body, {"type": str}, more=True)
            self._enqueued[number] = (question, time.monotonic() + ENQUEUED_SECONDS)
            self._wake_waiting_peers()
        elif number not in self._enqueued:
            raise HttpError(409, "answered", "this request was answered on a connection that is gone")
        self._server.park(peer, None)
        return None

    def _interrupt(self, _peer: Peer, request: SignedRequest, _repeated: bool) -> Answer:
        grace = fields(request.body, {"grace_seconds": float})["grace_seconds"]
        if not 0 <= grace <= _MAX_GRACE:
            raise HttpError(422, "fields", "grace_seconds is at least 0 and at most a day")
        self._exchange.interrupt("interrupt", grace)
        return 200, {"status": "ok", "worker": self._exchange.state}


def _kind_of(error: Exception) -> str:
    """The kind of an error, without its text, which may contain anything."""
    return f"{type(error).__name__} {errno.errorcode.get(getattr(error, 'errno', None) or 0, '')}".strip()


def _body_limit(method: str, path: str) -> int:
    return ROUTES.get((method, "/" + path[1:].partition("/")[0]), 0)
