"""The five fuzzers: what each begins with, which words its reader looks for, and what must hold of every input."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rlm_secure import untrusted_json
from rlm_secure.guest import wire
from rlm_secure.guest.supervisor import http
from rlm_secure.inert import inert, inert_for_model
from rlm_secure.rlm import parsing
from tests.fuzz import readers
from tests.fuzz.mutate import LONGEST, deep, pieces
from tests.fuzz.readers import KEY, Pieces


class Broken(Exception):
    """Something that must hold does not. The sentence says what."""


@dataclass(frozen=True)
class Fuzzer:
    """`check` raises for an input that shows a bug; `costs` are the readers alone, for the cost of one input."""

    name: str
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    check: Callable[[bytes, random.Random], None]


def same(read: Callable[[Pieces], Any], data: bytes, chance: random.Random, *, bytewise: int = 600) -> Any:
    """What a reader makes of `data`: the same in every division of it."""
    whole = read([data])
    divided = [pieces(data, chance)]
    if len(data) <= bytewise:
        divided.append([data[at : at + 1] for at in range(len(data))])
    for each in divided:
        if (other := read(each)) != whole:
            raise Broken(f"in {len(each)} pieces it means {other!r:.400}, in one {whole!r:.400}")
    return whole


# -- guest-http ----------------------------------------------------------------------------------

#: Between requests of one input; and what is filled in with what fits, so that a changed request is still signed.
NEXT = b"\x1d"
FILL = b"@"
HEAD_END = b"\r\n\r\n"
_LINES = re.compile(rb"\A([^ \r\n]*) ([^ \r\n]*)")


def filled(template: bytes) -> bytes:
    """The requests of a template, with their `@` filled in: length, hash and signature."""
    return b"".join(map(_filled, template.split(NEXT)))


def _filled(request: bytes) -> bytes:
    head, gap, body = request.partition(b"\r\n\r\n")
    line = _LINES.match(head)
    number = next((each[8:] for each in head.split(b"\r\n") if each.lower().startswith(b"rlm-id: ")), b"")
    digest = hashlib.sha256(body).hexdigest()
    head = head.replace(b"Content-Length: @", b"Content-Length: %d" % len(body))
    head = head.replace(b"Rlm-Sha256: @", b"Rlm-Sha256: " + digest.encode())
    if line is not None and line[0].isascii() and number.isascii():
        mac = http.request_mac(KEY, number.decode(), line[1].decode(), line[2].decode(), digest)
        head = head.replace(b"Rlm-Mac: @", b"Rlm-Mac: " + mac.encode())
    return head + gap + body


def template(method: str, target: str, number: int | str, body: bytes = b"", *, more: str = "") -> bytes:
    """A request to be filled in."""
    length = "Content-Length: @\r\n" if method in ("POST", "PUT") else ""
    head = f"{method} {target} HTTP/1.1\r\nRlm-Id: {number}\r\nRlm-Sha256: @\r\nRlm-Mac: @\r\n{length}{more}\r\n"
    return head.encode("latin-1") + body


def _guest_seeds() -> Iterator[bytes]:
    execute = template("POST", "/execute?wait=20.000&cpu=30.000", 2, b'{"op":"exec","code":"print(1)"}')
    yield execute
    yield template("GET", "/health", 1)
    yield template("PUT", "/context/1?offset=0&total=7", 3, b"context")
    for route in ("/session", "/session?fresh=1", "/session?fresh=1&exit=1", "/context/1"):
        delete = template("DELETE", route, 4)
        yield NEXT.join((delete, delete, execute, delete))  # late and repeated copies
    yield template("GET", "/pending?wait=20", 5, more=f"X: {' ' * 65_000}\x00\r\n")
    yield template("GET", "/pending?wait=20", 6, more=f"Cookie:{' ' * 30_000}\r\n")
    yield template("POST", "/respond", 2**53, b"{}", more="Transfer-Encoding: chunked\r\n")
    yield template("POST", "/respond", 7, b"{}", more="Content-Length: 2\r\n")
    yield NEXT.join(template("GET", "/health", each) for each in range(40))
    yield b"GET / HTTP/1.0\r\n\r\n"
    yield b"A" * 40_000


def _guest_check(data: bytes, chance: random.Random) -> None:
    sent = filled(data)
    requests, _ = same(readers.guest_http, sent, chance)
    if len(requests) > sent.count(HEAD_END):
        raise Broken(f"{len(requests)} requests in {sent.count(HEAD_END)} heads")
    for method, target, _, number, body in requests:  # one meaning: as if the host had sent it
        if body and method not in ("POST", "PUT"):
            continue  # the host has no such request
        again, end = readers.guest_http([readers.request_of_host(number, method, target, body)])
        if end != "ended" or again[0][:2] != (method, target) or again[0][4] != body:
            raise Broken(f"{method} {target} is read otherwise when the host sends it")


GUEST_HTTP = Fuzzer(
    "guest-http",
    tuple(_guest_seeds()),
    (NEXT, FILL, b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"\0", b"X: y\r\n", b"Rlm-Mac: @\r\n", b"Rlm-Id: 1\r\n",
     b"Content-Length: 5\r\n", b"Content-Length: @\r\n", b"Transfer-Encoding: chunked\r\n", b"?a=b&a=c", b"&", b"%00",
     b"HTTP/1.0", b"HTTP/2", b"DELETE /session HTTP/1.1\r\n", b"\x85", b"\xa0", b"=", b"A:" + b" " * 8000),
    _guest_check,
)  # fmt: skip

# -- host-http -----------------------------------------------------------------------------------


def _answer(*headers: str, status: str = "200 OK", body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1") + body


def _host_seeds() -> Iterator[bytes]:
    yield readers.answer_of_guest(1, "GET", "/health", 200, b'{"version":1,"refused":0}')
    yield http.unsigned_answer(431, b'{"error":"no","rule":"head-size"}')
    yield _answer("Content-Length: 5", "Connection: close", body=b"hello")
    yield _answer("Transfer-Encoding: chunked", body=b"5\r\nhello\r\n3 ; a=b\r\nyou\r\n0\r\n\r\n")
    yield _answer("Transfer-Encoding: chunked", body=b"1\r\na\r\n" * 3000 + b"0\r\n\r\n")
    yield _answer(body=b"until the end")
    yield _answer("X:" + " " * 40_000 + "\0")
    yield _answer("Content-Length:" + " " * 60_000 + "5", body=b"hello")
    yield _answer(*(f"X-{each}: {'v' * 300}" for each in range(128)), "Content-Length: 0")
    yield _answer("Content-Length: 5", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n")
    yield _answer("Location: http://127.0.0.1/", "Content-Length: 0", status="302 Found")
    yield _answer("Content-Length: 5", "Content-Length: 5", body=b"hello")
    yield b"HTTP/1.1 200" + b" " * 60_000 + b"\r\n\r\n"


def _host_check(data: bytes, chance: random.Random) -> None:
    found, _ = same(readers.host_http, data, chance)
    if found is None:
        return
    status, _, body = found
    if len(body) < 2000 and status in http.REASONS:  # one meaning: as if a supervisor had answered so
        again, end = readers.host_http([readers.answer_of_guest(1, "GET", "/health", status, body)])
        if end != "answered" or (again[0], again[2]) != (status, body):
            raise Broken(f"an answer {status} is read otherwise when a supervisor sends it")


HOST_HTTP = Fuzzer(
    "host-http",
    tuple(_host_seeds()),
    (b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b";", b"\0", b"Content-Length: 5\r\n", b"Content-Length: +5\r\n",
     b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"1\r\na\r\n", b"0\r\n\r\n", b"FFFFFFFF\r\n",
     b"5;" + b" " * 900 + b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"Rlm-Mac: 0\r\n", b"Connection: close\r\n", b"\x85",
     b"A:" + b" " * 8000),
    _host_check,
)  # fmt: skip

# -- lines ---------------------------------------------------------------------------------------


def _line(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"


def _data(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _lines_seeds() -> Iterator[bytes]:
    answer = readers.answer_of_guest(1, "GET", "/health", 200, b'{"version":1}')
    yield _line(n=1, a=1, c=1, d=_data(answer))
    yield b"".join(_line(n=each + 1, a=1, c=1, d=_data(answer[each : each + 1])) for each in range(len(answer)))
    yield _line(hello=1) + _line(n=1, a=1, c=1, d=_data(answer[:20])) + _line(n=2, a=1, c=1, d=_data(answer[20:]))
    yield _line(n=1, a=1, c=9, d=_data(b"x" * 40_000)) * 3 + _line(n=2, a=1, c=1, d=_data(answer))  # a closed channel
    yield _line(a=0, again=True) * 800 + _line(n=1, a=1, c=1, d=_data(answer))
    yield _line(n=5, a=0, c=1, d="") * 50 + _line(n=1, a=1, c=1, d=_data(answer))
    yield b"bash: no job control in this shell\r\n$ " * 20 + _line(n=1, a=1, c=1, d=_data(answer))
    yield b" " * 100_000 + b"\n" + _line(n=1, a=1, c=1, d=_data(answer))
    yield b"{" * 100_000 + b"\n" + _line(n=1, a=1, c=1, d=_data(answer))
    yield _line(n=1, a=10**400, c=1, d=_data(answer)) + _line(n=1, a=1, c=1, end=True)
    yield b'{"n":1,"c":1,"d":"' + b"A" * 90_000 + b'"}\n'
    yield deep(1, 70).encode() + b"\n" + _line(bye=True)
    yield (
        _line(n=1, a=0, c=1, d=_data(b"GET /health HTTP/1.1\r\n\r\n"))
        + _line(n=2, a=0, c=1, end=True)
        + _line(bye=True)
    )
    yield b"".join(_line(n=each, a=0, c=each, d=_data(b"x")) for each in range(1, 40))


def _lines_check(data: bytes, chance: random.Random) -> None:
    same(readers.guest_lines, data, chance, bytewise=300)
    whole = readers.host_lines([data])
    divided = pieces(data, chance)
    if len(divided) > 2000:
        divided = [b"".join(divided[:-1000]), *divided[-1000:]]
    if (other := readers.host_lines(divided)) != whole:
        raise Broken(f"the host makes {other!r:.400} of it in {len(divided)} pieces, {whole!r:.400} in one")


LINES = Fuzzer(
    "lines",
    tuple(_lines_seeds()),
    (b"\n", b"\r\n", b"{", b"}", b'"n":1,', b'"c":1,', b'"again":true,', b'"end":true,', b'"bye":true,', b"\0", b"=",
     _line(a=0, again=True), _line(a=1), _line(n=1, a=1, c=1, d=""), _line(n=2, a=1, c=7, d="AAAA"), b"A===", b'"d":"',
     _line(n=3, c=1, end=True), _line(hello=1)),
    _lines_check,
)  # fmt: skip

# -- frames --------------------------------------------------------------------------------------

#: Comes before each frame of an input, in the place of its length; without it, lengths are the input's own.
FRAMED = b"\x1e"


def framed(data: bytes, header: Callable[[bytes], bytes] = lambda body: struct.pack(">I", len(body))) -> bytes:
    """An input as a stream: each frame with its length."""
    first, *bodies = data.split(FRAMED)
    return first + b"".join(header(body) + body for body in bodies)


DONE: dict[str, Any] = {
    "op": "done", "stdout": "6\n", "stderr": "", "variables": {"x": {"type": "int", "value": 6, "repr": "6"}},
    "answer": {"text": "six", "whole": {"$set": [6]}}, "error": None, "cpu": 0.01, "peak": 1 << 20, "dropped": 0,
    "nonce": "0011223344556677",
}  # fmt: skip
CALL: dict[str, Any] = {"op": "call", "call": "llm_query_batched", "prompts": ["a", "b"], "model": None, "nonce": "00"}
TOOL: dict[str, Any] = {"op": "call", "call": "tool", "tool": "add", "args": [1, 2], "kwargs": {"k": None}}
READY: dict[str, Any] = {"op": "ready", "walls": {"seccomp": ["full", "killed by SIGSYS"]}, "details": {"kernel": "6"}}


def _frames_seeds() -> Iterator[bytes]:
    messages: list[dict[str, Any]] = [
        DONE, CALL, TOOL, READY,
        DONE | {"cpu": 10**400, "peak": 1e308},
        DONE | {"error": {"kind": "exception", "message": "\x1b[2J\u202e\ud800", "rule": None}, "answer": None},
        DONE | {"stdout": "x" * 30_000, "stderr": "\U0001f600" * 5000},
        DONE | {"variables": {f"v{each}": {"type": "str", "value": "y" * 100} for each in range(400)}},
        DONE | {"answer": {"text": "\ud800\udfff", "whole": [[{}] * 50] * 50}},
        CALL | {"prompts": ["p"] * 9000},
        READY | {"walls": {"\n": ["full", "\x1b"], "x": ["none", "e" * 5000]}},
    ]  # fmt: skip
    for message in messages:
        yield FRAMED + json.dumps(message).encode("ascii")
    yield b"".join(FRAMED + json.dumps(each).encode("ascii") for each in messages[:4] * 8)
    yield FRAMED + deep(1, 70).encode("ascii")
    yield FRAMED + b'{"op":"done","x":' + deep({}, 1100).encode("ascii") + b"}"
    yield FRAMED + b'{"op":"exec","code":' + b"1" * 5000 + b"}"
    yield FRAMED + b'{"a":"' + b'\\"' * 20_000 + b'"}'
    yield FRAMED + b'{"a":[' + b"0," * 40_000 + b"0]}"
    yield b"\xff\xff\xff\xff{}"
    yield (FRAMED + b"{}") * 500
    yield b"\x01\x00\x00\x00" + FRAMED + b"{}"


def _frames_check(data: bytes, chance: random.Random) -> None:
    stream = framed(data)
    told, _ = same(readers.guest_frames, stream, chance)
    passed, _ = same(readers.supervisor_frames, stream, chance)
    same(readers.host_frames, stream, chance, bytewise=200)
    same(readers.comms_frames, stream, chance)
    same(readers.engine_frames, framed(data, lambda body: b"\x01\0\0\0" + struct.pack(">I", len(body))), chance)
    for frame in passed:  # what a supervisor passes on, it can quote in an answer of its own
        if json.loads(json.dumps(frame)) != frame:
            raise Broken("a frame changes when it is quoted")
    for message in told:
        try:
            quoted = wire.frame(message)
        except ValueError:  # a number beyond all floats: a host may say it, and nobody may say it again
            continue
        again, end = readers.guest_frames([quoted])
        if (again, end) != ([message], "closed") and "nonce" not in message and message == message:
            raise Broken(f"{message!r:.300} is read otherwise when it is written again: {again!r:.300}")


FRAMES = Fuzzer(
    "frames",
    tuple(_frames_seeds()),
    (FRAMED, b"\0\0\0\x02{}", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"{", b"}", b"[", b"]", b'"', b"\\", b"\\ud800", b",", b"\xff",
     b"1e400", b"1" * 400, b'"op":"done",', b'"nonce":null,', b"NaN", b"\x02\0\0\0\0\0\0\x01x", b"\n", b'"\\u0000"',
     FRAMED + b"{}", b'{"op":"ready","walls":{},"details":{}}'),
    _frames_check,
)  # fmt: skip

# -- answers -------------------------------------------------------------------------------------

#: Between the parts of an input: a schema, an answer, and a message of a supervisor.
PART = b"\x1f"
RECURSIVE = {"$ref": "#/$defs/t", "$defs": {"t": {"oneOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/t"}},
             {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 1}]}}}  # fmt: skip
OBJECT = {
    "type": "object", "required": ["a"], "additionalProperties": {"type": "integer", "multipleOf": 3},
    "properties": {"a": {"enum": [1, 1.0, True, "x"]}, "b": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 40},
                   "c": {"type": "array", "uniqueItems": True, "items": {"anyOf": [{"const": 1}, {"not": {}}]}}},
}  # fmt: skip
EVENTS: dict[str, Any] = {
    "pending": [{"id": "1", "frame": '{"op":"done"}', "cpu": 0.5}], "worker": "idle", "refused": 0, "received": 7,
    "version": 1, "walls": {"seccomp": ["full", "tried"]}, "around": {"uid": 1000}, "details": {},
}  # fmt: skip
END = {"end": {"status": 9, "cpu": 1.5, "said": None, "oom_kills": 0}, "id": "2", "stopped": "cpu"}
ASKED = {"request": {"type": "single", "prompt": "p", "model": "m", "depth": 1}, "id": "3"}


def _answers_seeds() -> Iterator[bytes]:
    def made(schema: Any, text: str, events: Any = EVENTS) -> bytes:
        return PART.join(
            (
                json.dumps(schema).encode("ascii"),
                text.encode("utf-8", "surrogatepass"),
                json.dumps(events).encode("ascii"),
            )
        )

    yield made(OBJECT, '```json\n{"a": 1, "b": "xyz", "c": [1, 1.0]}\n```')
    yield made(OBJECT, '{"a": true, "z": 9, "b": "' + "a" * 3000 + '!"}', EVENTS | {"pending": [END]})
    yield made(RECURSIVE, "[" * 21 + "null" + "]" * 21, EVENTS | {"pending": [ASKED, END]})
    yield made({"multipleOf": 1e-308}, "1e308", EVENTS | {"pending": [END | {"end": {"status": -1, "cpu": 10**400}}]})
    yield made({"multipleOf": 1e308, "minimum": 10**400}, "9" * 4000, EVENTS | {"status": "odd", "walls": [1]})
    yield made({"type": "string"}, "```\n" + "\n" * 40_000 + "x", EVENTS | {"around": [], "walls": {"x": 1}})
    yield made(
        {"type": "string"}, "```json" + " " * 40_000 + "\n{}\n```", {"rule": "stale-id", "error": "\x1b[2J\ud800"}
    )
    yield made(
        {"$ref": "#/a", "a": 1, "items": {"$ref": "#"}}, deep(1, 63), {"rule": "\u202e" * 90, "error": "e" * 900}
    )
    yield made(
        {"type": "array", "uniqueItems": True}, json.dumps([*range(3000), 0]), {"pending": "x", "worker": "busy"}
    )
    yield made({"enum": [[0] * 500] * 20}, json.dumps([0] * 499 + [1]), {})
    yield made({"anyOf": [{"pattern": "^x"}] * 200}, '"' + "y" * 9000 + '"', EVENTS | {"worker": {}})
    yield made({"type": ["integer", "null"]}, "FINAL(" * 3000 + ")" * 3000, EVENTS | {"pending": [END] * 300})
    yield made({"type": "string"}, "FINAL_VAR(x)\n```repl\nprint(1)\n```\n" * 500)
    yield made({"type": "string"}, "``````repl\n~~~~\n" * 2000 + "\ud800\x1b]0;x\x07")


def _answers_check(data: bytes, _chance: random.Random) -> None:
    schema, text, events = (*data.split(PART, 2), b"", b"")[:3]
    said = text.decode("utf-8", "surrogatepass") if _encoded(text) else text.decode("latin-1")
    values: Iterable[Any] = ()
    for each in (schema, text, events):
        try:
            values = [*values, untrusted_json.loads(each)]
        except untrusted_json.MalformedJson as refused:
            assert str(refused).isprintable()
    try:
        wanted = json.loads(schema)
    except (ValueError, RecursionError):
        wanted = {"type": "string"}
    readers.checked(wanted, said)
    readers.signed(200, events)
    readers.signed(409, events)
    _model_text(said)


def _encoded(text: bytes) -> bool:
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _model_text(text: str) -> None:
    """What else reads a model's words."""
    parsing.find_cells(text)
    parsing.why_nothing_ran(text)
    parsing.parse_final(text)
    parsing.find_final_answer(text)
    for shown in (inert(text), inert_for_model(text)):
        if "\x1b" in shown or "\0" in shown:
            raise Broken("a control character is left of what is made inert")


ANSWERS = Fuzzer(
    "answers",
    tuple(_answers_seeds()),
    (PART, b"```", b"```json\n", b"\n```", b"\n", b" ", b"{", b"[", b"}", b"]", b'"oneOf":', b'"$ref":"#"', b"1e308", b"1" * 400,
     b'"cpu":' + b"1" * 401, b'"pattern":"(a+)+$"', b'"multipleOf":1e-308', b"\\ud800", b"\xed\xa0\x80", b"\x1b[2J", b"FINAL(",
     b"FINAL_VAR(", b")", b"~~~", b"```repl\n", b'"status":-1', b'"pending":[]', b'"worker":"none"', b"\0"),
    _answers_check,
)  # fmt: skip

FUZZERS = {each.name: each for each in (GUEST_HTTP, HOST_HTTP, LINES, FRAMES, ANSWERS)}
assert all(len(seed) <= LONGEST for each in FUZZERS.values() for seed in each.seeds)
