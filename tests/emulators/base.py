"""What the emulators share: an HTTP server that records and fails on demand, and sandboxes as process trees."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import email.message
import email.parser
import email.policy
import fcntl
import hashlib
import http.client
import json
import os
import queue
import re
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from rlm_secure.removal import remove


@dataclass
class Request:
    """What came over the wire."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    #: The query, with the fields that are repeated.
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def parts(self) -> list[tuple[str, str | None, bytes]]:
        """The parts of a multipart body, as (name, file name, content).

        `email` reads their headers only: it would take longer for a large file than everything else on its way.
        """
        kind = _message(f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode())
        mark = b"\r\n--" + str(kind.get_boundary()).encode()
        found, at = [], (b"\r\n" + self.body[: len(mark)]).index(mark) - 2 + len(mark)
        while self.body[at : at + 2] == b"\r\n":
            head = self.body.index(b"\r\n\r\n", at) + 4
            end = self.body.index(mark, head - 2)
            about = _message(self.body[at + 2 : head])
            name = str(about.get_param("name", header="content-disposition"))
            found.append((name, about.get_filename(), self.body[head:end]))
            at = end + len(mark)
        assert self.body[at : at + 2] == b"--", "the last part is not the end"
        return found


def _message(head: bytes) -> email.message.Message[str, str]:
    return email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head)


@dataclass
class Response:
    """`stream` replaces the body by pieces that are sent as they come: binary messages of a web socket if `socket`. Its
    client's messages go to `hear`, which says whether to go on, and None at the end.
    """

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    socket: bool = False
    hear: Callable[[bytes | None], bool] | None = None


def answer(value: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, json.dumps(value).encode(), headers=headers)


@dataclass
class Fault:
    """Something that goes wrong with the next `times` requests that match `method path` (a regular expression).

    `status` is answered instead of doing it, or after doing it (`after`). `slow` waits first. `hang` does it, and
    never answers. `when`: only as long as that says so. `reset` closes the connection without a word. `cut` ends a stream after so many pieces; `lose`
    drops every so-manyth piece of it, `again` sends all of it once more after so many.
    """

    match: str
    status: int = 0
    message: str = "the emulator was told to fail"
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    slow: float = 0.0
    hang: bool = False
    reset: bool = False
    cut: int = 0
    lose: int = 0
    again: int = 0
    times: int = 1
    when: Callable[[], bool] = lambda: True
    seen: int = 0


class Hung(Exception):
    """This request is never answered."""


class Emulator:
    """A server on a free loopback port. Subclasses answer in `route`."""

    key = "emulated-key"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.sandboxes: dict[str, Sandbox] = {}
        self.made: list[Sandbox] = []
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), name="emulator", daemon=True)
        self._thread.start()

    def route(self, request: Request) -> Response:
        """What the provider would answer: each emulator's own."""
        raise NotImplementedError

    def error(self, status: int, message: str) -> Response:
        """An error in the provider's own shape."""
        return answer({"code": status, "message": message}, status)

    def fail(self, match: str, **fault: Any) -> Fault:
        made = Fault(match, **fault)
        self.faults.append(made)
        return made

    def recorded(self, match: str) -> list[Request]:
        """Requests whose `METHOD path` matches."""
        return [each for each in self.requests if re.search(match, f"{each.method} {each.path}")]

    def handle(self, request: Request) -> Response:
        with self.lock:
            self.requests.append(request)
            fault = self._fault(request)
        if fault is None:
            return self.route(request)
        self.closing.wait(fault.slow)
        failed = self.error(fault.status, fault.message) if fault.status else None
        if failed is not None:
            failed.headers.update(fault.headers)
            if not fault.after:
                return failed
        if fault.reset:
            raise ConnectionResetError
        response = self.route(request)
        if fault.hang:
            self.closing.wait(300)
            raise Hung
        if response.stream is not None and (fault.cut or fault.lose or fault.again):
            response.stream = _damaged(response.stream, fault)
        return failed or response

    def _fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            matches = re.search(fault.match, f"{request.method} {request.path}")
            if fault.times > fault.seen and matches and fault.when():
                fault.seen += 1
                return fault
        return None

    def vanish(self, name: str) -> None:
        """The sandbox is gone, and nobody says so."""
        with self.lock:
            box = self.sandboxes.pop(name, None)
        if box is not None:
            box.kill()

    @property
    def live(self) -> list[Sandbox]:
        with self.lock:
            return list(self.sandboxes.values())

    def close(self) -> None:
        self.closing.set()
        for name in list(self.sandboxes):
            self.vanish(name)
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(5)
        for box in self.made:
            box.remove()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def forward(request: Request, box: Sandbox, port: int) -> Response:
    """The answer of a port in a sandbox, as a provider's edge passes it on."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    target = request.path + ("?" + urlencode(request.query) if request.query else "")
    headers = {name: value for name, value in request.headers.items() if name.startswith("rlm-")}
    try:
        with box.network.entered():
            connection.connect()
        connection.request(request.method, target, request.body or None, headers)
        reply = connection.getresponse()
        body = reply.read()
        kept = {name: value for name, value in reply.getheaders() if name.lower().startswith("rlm-")}
        return Response(reply.status, body, headers=kept)
    except OSError:
        return answer({"message": "The sandbox is running but port is not open"}, 502)
    finally:
        connection.close()


def _damaged(pieces: Iterator[bytes], fault: Fault) -> Iterator[bytes]:
    sent: list[bytes] = []
    for number, piece in enumerate(pieces, 1):
        if fault.again:
            sent.append(piece)
            if number % fault.again == 0:
                yield from sent[:-1]
        if fault.cut and number > fault.cut:
            raise ConnectionResetError
        if fault.lose and number > 3 and number % fault.lose == 0:
            continue
        yield piece


def as_user(uid: int | None) -> dict[str, Any]:
    """Options of subprocess for a program of another user, in no group but its own."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def anybodys_python(uid: int) -> str:
    """An interpreter that a user may run: this one may be in root's home."""
    for each in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(PermissionError):
            subprocess.run([each, "-I", "-S", "-c", ""], check=True, **as_user(uid))
            return each
    pytest.skip("no Python here is for everybody to run")


class Network:
    """A network namespace with a loopback device and nothing else: a sandbox reaches nobody, as its provider was told.

    Only root can make one: for anybody else it is that of this machine.
    """

    def __init__(self) -> None:
        self._made: int | None = None
        if os.geteuid() == 0:
            thread = threading.Thread(target=self._make)
            thread.start()
            thread.join()
            assert self._made is not None

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """This thread's sockets and programs are of the namespace in the block."""
        if self._made is None:
            yield
            return
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _system(_libc.setns(self._made, _CLONE_NEWNET))
            yield
        finally:
            _system(_libc.setns(before, _CLONE_NEWNET))
            os.close(before)

    def close(self) -> None:
        if self._made is not None:
            os.close(self._made)
            self._made = None

    def _make(self) -> None:
        _system(_libc.unshare(_CLONE_NEWNET))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            up = struct.pack("16sh22x", b"lo", _IFF_UP)
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, up)
        self._made = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET, _SIOCSIFFLAGS, _IFF_UP = 0x40000000, 0x8914, 1


def _system(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _command_line(pid: str) -> bytes:
    """Its words, or nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
        return b""


class Sandbox:
    """A directory, a network and the processes in it. Nothing keeps them in there but themselves."""

    #: Whose the directory and the processes are; None for who runs the emulator.
    user: int | None = None
    #: Its Python; None for the one that runs the emulator, without what is installed beside it.
    python: Path | None = None

    def __init__(self, request: dict[str, Any]) -> None:
        self.name = f"i{secrets.token_hex(6)}"
        self.request = request
        self.token = secrets.token_urlsafe(16)
        self.traffic = secrets.token_urlsafe(16)
        self.home = Path(tempfile.mkdtemp(prefix="emu-", dir="/tmp"))
        tools = self.home / ".bin"
        tools.mkdir()
        own = Path(sys.base_exec_prefix, "bin", f"python3.{sys.version_info.minor}")
        (tools / "python3").symlink_to(self.python or (own if self.user is None else anybodys_python(self.user)))
        (self.home / ".profile").write_text(f'PATH="{tools}:$PATH"\n')
        self.network = Network()
        self.programs: dict[int, Program] = {}
        self.ends_at: float | None = None
        self.dead = False

    def path(self, text: str) -> Path | None:
        """A path in the sandbox as one of this machine; None outside of its home."""
        path = Path(os.path.normpath(self.home / text))
        return path if path.is_relative_to(self.home) else None

    def start(self, arguments: list[str], *, stdin: bool, env: dict[str, str] | None = None, cwd: str = "") -> Program:
        self.own()
        with self.network.entered():
            program = Program(self, arguments, stdin=stdin, env=env or {}, cwd=cwd)
        self.programs[program.pid] = program
        return program

    def own(self) -> None:
        """Everything in it belongs to its user."""
        if self.user is not None:
            for path in (self.home, *self.home.rglob("*")):
                os.lchown(path, self.user, self.user)

    def kill(self) -> None:
        self.dead = True
        for program in list(self.programs.values()):
            program.end()
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def left(self) -> list[int]:
        """Processes that have this sandbox's directory on their command line."""
        mark, found = str(self.home).encode(), []
        for name in os.listdir("/proc"):  # noqa: PTH208 - each test asks, and pathlib is half of the time
            if name.isdigit() and mark in _command_line(name):
                found.append(int(name))
        return found

    def commands(self) -> list[str]:
        """What runs in it: a line for each process, with its state. For what a failed test says."""
        found = []
        for pid in self.left():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                found.append(f"{pid} (child of {state[1]}, {state[0]}, {int(state[11]) + int(state[12])} ticks): {words}")
        return found

    def remove(self) -> None:
        self.network.close()
        remove(self.home)


class Program:
    """One command in a sandbox. What it writes goes to who listens at that moment, or is lost."""

    def __init__(self, box: Sandbox, arguments: list[str], *, stdin: bool, env: dict[str, str], cwd: str = "") -> None:
        environment = {"HOME": str(box.home), "PATH": f"{box.home}/.bin:/usr/local/bin:/usr/bin:/bin", **env}
        if "LD_LIBRARY_PATH" in os.environ:
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or box.home,
            env=environment,
            start_new_session=True,
            **as_user(box.user),
        )
        self.pid = self.process.pid
        self.exit = threading.Event()
        self._listener: queue.Queue[tuple[str, bytes]] | None = None
        self._lock = threading.Lock()
        self.news = threading.Condition(self._lock)  # of output, and of the end
        self.log: list[tuple[str, bytes]] = []  # what nobody has listened to yet; everything where it is kept
        self.keep = False
        pumps = [
            threading.Thread(target=self._pump, args=(kind, pipe), name="emulator-pump", daemon=True)
            for kind, pipe in (("stdout", self.process.stdout), ("stderr", self.process.stderr))
        ]
        self._pumps = pumps
        for pump in pumps:
            pump.start()
        threading.Thread(target=self._wait, name="emulator-wait", daemon=True).start()

    def listen(self) -> queue.Queue[tuple[str, bytes]]:
        """Output from now on; ("end", b"") is the last of it."""
        with self._lock:
            self._listener = queue.Queue()
            for each in self.log:
                self._listener.put(each)
            if not self.keep:
                self.log.clear()
            if self.exit.is_set():
                self._listener.put(("end", b""))
            return self._listener

    def write(self, data: bytes) -> bool:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.exit.wait(10)

    def _pump(self, kind: str, pipe: Any) -> None:
        while data := os.read(pipe.fileno(), 65536):
            with self._lock:
                if self.keep or self._listener is None:
                    self.log.append((kind, data))
                    self.news.notify_all()
                if self._listener is not None:
                    self._listener.put((kind, data))

    def _wait(self) -> None:
        self.process.wait()
        for pump in self._pumps:
            pump.join(5)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with self._lock:
            self.exit.set()
            self.news.notify_all()
            if self._listener is not None:
                self._listener.put(("end", b""))


_SOCKET_SECRET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError | Hung | TimeoutError):
            super().handle_error(*_)


def _handler(emulator: Emulator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            fields = parse_qsl(parts.query)
            request = Request(self.command, parts.path, dict(fields), headers, self._body(headers), fields)
            try:
                self._reply(emulator.handle(request))
            except (ConnectionError, Hung):
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)

        def _body(self, headers: dict[str, str]) -> bytes:
            if headers.get("transfer-encoding", "").lower() == "chunked":
                body = bytearray()
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return bytes(body)
            return self.rfile.read(int(headers.get("content-length", 0)))

        def _reply(self, response: Response) -> None:
            if response.socket:
                self._reply_on_socket(response)
                return
            self.send_response(response.status)
            self.send_header("Content-Type", response.kind)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if response.stream is None:
                self.send_header("Content-Length", str(len(response.body)))
                self.end_headers()
                self.wfile.write(response.body)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for piece in response.stream:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            finally:
                close: Callable[[], None] | None = getattr(response.stream, "close", None)
                if close is not None:
                    close()
            self.wfile.write(b"0\r\n\r\n")

        def _reply_on_socket(self, response: Response) -> None:
            """RFC 6455, without fragments."""
            self.close_connection = True
            accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + _SOCKET_SECRET).encode()).digest()
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            assert response.stream is not None
            left = threading.Event()
            listen = self._wait_for_close if response.hear is None else self._listen
            threading.Thread(target=listen, args=(left, response.hear), name="emulator-socket", daemon=True).start()
            for piece in response.stream:
                if left.is_set():
                    return
                size = len(piece)
                if size < 126:
                    head = bytes([size])
                else:
                    head = b"\x7e" + struct.pack(">H", size) if size < 65536 else b"\x7f" + struct.pack(">Q", size)
                self.wfile.write(b"\x82" + head + piece)
            self.wfile.write(b"\x88\x02" + struct.pack(">H", 1000))

        def _listen(self, left: threading.Event, hear: Callable[[bytes | None], bool]) -> None:
            with contextlib.suppress(OSError, ValueError, struct.error):
                while True:
                    first, size = self.rfile.read(2)
                    size &= 0x7F
                    if size > 125:
                        (size,) = struct.unpack(">H", self.rfile.read(2)) if size == 126 else struct.unpack(">Q", self.rfile.read(8))
                    mask = self.rfile.read(4)
                    data = self.rfile.read(size)
                    key = mask * (size // 4 + 1)
                    data = (int.from_bytes(data, "big") ^ int.from_bytes(key[:size], "big")).to_bytes(size, "big")
                    if first & 0x0F == 8:
                        self.wfile.write(b"\x88\x02" + struct.pack(">H", 1000))
                        break
                    if not hear(data):
                        break
            hear(None)
            left.set()
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

        def _wait_for_close(self, left: threading.Event, _: None) -> None:
            with contextlib.suppress(OSError, ValueError):
                while data := self.connection.recv(4096):
                    if data[0] & 0x0F == 8:
                        self.wfile.write(b"\x88\x02" + struct.pack(">H", 1000))
                        break
                self.connection.shutdown(socket.SHUT_RDWR)
            left.set()

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_CONNECT = _serve

    return Handler


def until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first true value of `condition`, or its last one when the time is over."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value
