"""Hostile input for every parser, of any size, and a line for every module that has one.

READERS names each module that decodes, as decoders.py finds them: what it decodes with, and the trials that cover it, or
the reason why none has to. TRIALS are the parsers with their inputs. A new module that decodes, or a module that begins
to decode with something else, fails test_parsers.py until a line here says what of it is tried.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlm_secure import tagged, untrusted_json
from rlm_secure.agents import replies
from rlm_secure.audit.finding import Unreadable
from rlm_secure.audit.read import code, container, dockerfile, document, packages, trajectory
from rlm_secure.clients.tool_calls import ToolCall
from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.errors import AuditLogError, PolicyError, ProviderError
from rlm_secure.guest import wire
from rlm_secure.inert import inert, inert_for_model
from rlm_secure.logger import audit_log, read_trajectory, view
from rlm_secure.logger.redact import Redactor
from rlm_secure.policy import Policy, locate, toml
from rlm_secure.rlm import parsing
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.types import json_safe
from tests.fuzz import readers, targets

Make = Callable[[int], Any]


@dataclass(frozen=True)
class Trial:
    """A parser, inputs of about that many bytes by name, and the size up to which they are tried."""

    run: Callable[[Any], object]
    inputs: dict[str, Make]
    most: int = 128 * 1024
    typed: tuple[type[Exception], ...] = field(default=())

    def __call__(self, given: Any) -> None:
        """Read it; what is refused is refused with a type that the parser promises."""
        try:
            self.run(given)
        except self.typed:
            pass


def _times(unit: str, begin: str = "", end: str = "") -> Make:
    """A text that repeats a unit."""
    return lambda size: begin + unit * max(size // len(unit), 1) + end


def _bytes(unit: bytes, begin: bytes = b"", end: bytes = b"") -> Make:
    return lambda size: begin + unit * max(size // len(unit), 1) + end


def _whole(make: Make) -> Make:
    return lambda size: [make(size)]


def _divided(make: Make, length: int = 1) -> Make:
    """The same in pieces of that length."""

    def pieces(size: int) -> list[bytes]:
        data = make(size)
        return [data[at : at + length] for at in range(0, len(data), length)]

    return pieces


def _both(inputs: dict[str, Make], length: int = 1) -> dict[str, Make]:
    """Each at once, and in pieces."""
    return {name: _whole(make) for name, make in inputs.items()} | {
        f"{name}, {length} at a time": _divided(make, length) for name, make in inputs.items()
    }


JSON: dict[str, Make] = {
    "brackets": _bytes(b"["),
    "brackets closed": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "objects": _bytes(b'{"a":'),
    "quotes": _bytes(b'\\"', b'"', b'"'),
    "backslashes": _bytes(b"\\\\", b'"', b'"'),
    "halves of pairs": _bytes(b"\\ud800", b'"', b'"'),
    "digits": _bytes(b"1"),
    "fraction": _bytes(b"1", b"0."),
    "exponent": _bytes(b"9", b"1e"),
    "numbers": _bytes(b"1,", b"[", b"1]"),
    "strings": _bytes(b'"",', b"[", b"1]"),
    "white": _bytes(b" ", b"", b"{}"),
    "one key": _bytes(b'"a":1,', b"{", b'"b":1}'),
    "keys": lambda size: b"{" + b",".join(b'"%07d":1' % each for each in range(size // 12)) + b"}",
    "keys that collide": lambda size: (
        b"{" + b",".join(b'"\\u%04x":1' % (each % 60000) for each in range(size // 11)) + b"}"
    ),
    "a text without an end": _bytes(b"x", b'{"a":"'),
}

def _alike(depth: int, number: int = 0) -> bytes:
    """Sets in sets, of which those of a level have equal hashes."""
    if not depth:
        return b"%d" % (number * (2**61 - 1))
    return b'{"$frozenset":[' + b",".join(_alike(depth - 1, each) for each in (*range(1, 8), 8 + number)) + b"]}"


TAGGED: dict[str, Make] = {
    "keys with few bits": lambda size: (
        b'{"$set":[' + b",".join(b"%d" % (each << 40) for each in range(size // 20 + 1)) + b"]}"
    ),
    "keys of equal hash": lambda size: (
        b'{"$dict":[' + b",".join(b"[%d,0]" % (each * (2**61 - 1)) for each in range(size // 30 + 1)) + b"]}"
    ),
    "bytes": lambda size: b'{"$bytes":"' + b"A" * (size // 4 * 4) + b'"}',
    "digits of an int": _bytes(b"f", b'{"$int":"0x', b'"}'),
    "digits of a decimal": _bytes(b"9", b'{"$decimal":"', b'"}'),
    "decimals": _bytes(b'{"$decimal":"' + b"9" * 4000 + b'E+999999999999999999"},', b"[", b"0]"),
    "fractions": _bytes(b'{"$fraction":[%d,%d]},' % (3**2500, 7**1400), b"[", b"0]"),
    "groups": _bytes(b'{"$tuple":[{"$frozenset":[]}]},', b'{"$set":[', b"0]}"),
    "sets of equal hash in each other": lambda size: _alike(next(n for n in range(9) if 120 * 8**n >= size)),
    "a long int beside a decimal": lambda size: (
        b'{"$set":[{"$decimal":"5"},{"$int":"%s"}]}' % hex((1 << 4 * size) * (2**61 - 1) + 5).encode()
    ),
    "a fraction of long ints": lambda size: (
        b'{"$fraction":[{"$int":"%s"},{"$int":"%s"}]}' % (hex(3 ** (5 * size // 4)).encode(), hex(7 ** (5 * size // 7)).encode())
    ),
    "dates": _bytes(b'{"$datetime":"2024-01-01T00:00:00.123456+01:00"},', b"[", b"0]"),
}

HEADS: dict[str, Make] = {
    "spaces": _bytes(b" ", b"X:", b"\0\r\n\r\n"),
    "spaces without an end": _bytes(b" ", b"X:"),
    "headers": _bytes(b"A:b\r\n", b"", b"\r\n"),
    "names": _bytes(b"a", b"", b":\r\n\r\n"),
    "line ends": _bytes(b"\r\n"),
    "returns": _bytes(b"\r"),
    "newlines": _bytes(b"\n"),
    "zeros": _bytes(b"\0"),
}


def _after(begin: bytes, heads: dict[str, Make]) -> dict[str, Make]:
    return {name: lambda size, make=make: begin + make(size) for name, make in heads.items()}


SIGNED = targets.filled(targets.template("GET", "/health", 1))
ANSWER = readers.answer_of_guest(1, "GET", "/health", 200, b"{}")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LINES: dict[str, Make] = {
    "newlines": _bytes(b"\n"),
    "noise without an end": _bytes(b"{"),
    "noise": _bytes(b"$ \r\n"),
    "acknowledgements": _bytes(targets._line(a=0)),
    "again": _bytes(targets._line(a=0, again=True)),
    "doubles": _bytes(targets._line(n=1, a=0, c=3, d="eA==")),
    "a gap": _bytes(targets._line(n=9, a=0, c=3, d="eA==")),
    "closed channels": lambda size: b"".join(targets._line(n=each + 1, a=0, c=9, d="") for each in range(size // 27)),
    "base64": lambda size: b"".join(
        targets._line(n=each + 1, a=1, c=1, d="A" * 4000) for each in range(max(size // 4000, 1))
    ),
    "not base64": _bytes(b'{"n":1,"c":1,"d":"' + b"A" * 4000 + b'="}\n'),
    "deep": _bytes(b'{"n":' + b"[" * 4000 + b"}\n"),
}
_IMAGE = b'{"op":"call","call":"llm_query","prompts":[""],"media":[""]}'
FRAMES: dict[str, Make] = {
    "small frames": _bytes(b"\0\0\0\x02{}"),
    "empty frames": _bytes(b"\0\0\0\0"),
    "media": lambda size: struct.pack(">I", 4 * (size // 4) + len(_IMAGE)) + _IMAGE[:-3] + b"AAAA" * (size // 4) + b'"]}',
    **{
        name: lambda size, make=make: b"".join(
            struct.pack(">I", len(body)) + body for body in [make(min(size, 200_000))] * max(size // 200_000, 1)
        )
        for name, make in JSON.items()
    },
}
ENGINE: dict[str, Make] = {
    "small frames": _bytes(b"\x01\0\0\0\0\0\0\x01x"),
    "errors": _bytes(b"\x02\0\0\0\0\0\0\x01x"),
    "a long frame": lambda size: struct.pack(">BxxxI", 1, size) + b"x" * size,
}
SAID: dict[str, Make] = {
    "newlines in a fence": _times("\n", "```\n", "x"),
    "spaces in a fence": _times(" ", "```json", "\n{}\n```"),
    "fences": _times("```\n"),
    "fences in a line": _times("```"),
    "cells": _times("```repl\nx = 1\n```\n"),
    "cells without an end": _times("```repl\n"),
    "FINAL": _times("FINAL(", "\n"),
    "FINAL on lines": _times("FINAL(\n"),
    "FINAL closed": lambda size: "FINAL(" * (size // 7) + ")" * (size // 7),
    "FINAL closed on one line": lambda size: "FINAL(\n" * (size // 8) + ")" * (size // 8) + "x",
    "FINAL with a list": _times("1) a ", "FINAL("),
    "FINAL_VAR": _times('FINAL_VAR("x")\n'),
    "parentheses": _times("()", "FINAL(", ")"),
    "tildes": _times("~~~\n"),
    "blanks": _times(" \t"),
    "controls": _times("\x1b[2J\u202e\x00"),
    "quotes": _times("Variable '", "Error: "),
}
DEEP_SCHEMA = {
    "$ref": "#/$defs/t",
    "$defs": {"t": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/t"}}]}},
}


def _asked(schema: Any) -> Callable[[str], object]:
    wanted = AnswerSchema(schema)
    return lambda text: wanted.read(text)


def _texts(*units: str) -> dict[str, Make]:
    return {repr(unit): _times(unit) for unit in units}


class _Dripping:
    """A program's output, for the clouds' lease."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def read(self, _deadline: float) -> bytes:
        """The next piece."""
        return next(self._pieces, b"")


def _lease_lines(pieces: list[bytes]) -> None:
    for _ in _lease._lines(_Dripping(pieces), time.monotonic() + 60):  # type: ignore[arg-type]
        pass


def _kept(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A reader of files, given what is in one."""

    def run(data: bytes) -> object:
        import tempfile

        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return read(Path(file.name))

    return run


def _loaded(text: str) -> None:
    Policy.load({"extends": "strict", "data": {"redact": [text[:1000]]}})


TOML: dict[str, Make] = _texts(
    '"', "'", '"""', "'''", "[", "[a]\n", "a.", "a=", "#", "\n", "a=1\n", '"\\', "{", "a = {", " ", "\t", ".", "-", "1_", "=[", "[[a]]\n",
) | {
    "keys": lambda size: "".join(f"k{each} = 1\n" for each in range(size // 10)),
    "an array": _times("1,", "a = [", "]"),
    "tables": lambda size: "".join(f"[t{each}]\n" for each in range(size // 8)),
    "a string": _times("x", 'a = "', '"'),
    "escapes": _times("\\n", 'a = "', '"'),
    "an integer": _times("1", "a = "),
}  # fmt: skip
YAML: dict[str, Make] = _texts(
    "- ", "a: ", "? ", "- a\n", "a: b\n", "&a ", "*a ", "!", '"', "'", "|\n", "#", "---\n", "\n", "  ", "%", "a: &a [*a]\n", "<<: "
) | {
    "aliases": lambda size: "a0: &a0 [x]\n" + "".join(
        f"a{each}: &a{each} [*a{each - 1}, *a{each - 1}]\n" for each in range(1, max(size // 20, 2))
    ),
    "merges": lambda size: "a: &a {x: 1}\n" + "".join(f"b{each}:\n  <<: *a\n" for each in range(size // 16)),
    "keys": lambda size: "".join(f"k{each}: 1\n" for each in range(size // 8)),
    "brackets": lambda size: "[" * max(size, 4096),  # PyYAML takes the square of 1,024 of them, and of no more
    "indents": lambda size: "".join(" " * each + "a:\n" for each in range(int(size**0.5))),
}  # fmt: skip

TRIALS: dict[str, Trial] = {
    "json of the host": Trial(untrusted_json.loads, JSON, typed=(untrusted_json.MalformedJson,)),
    "values with tags": Trial(lambda data: tagged.untag(json.loads(data)), TAGGED, typed=(tagged.MalformedValue,)),
    "json of the guest": Trial(wire.loads, JSON, typed=(wire.MalformedJson, RecursionError)),
    "guest http": Trial(
        readers.guest_http,
        _both(_after(b"GET /health HTTP/1.1\r\n", HEADS) | HEADS | {"requests": _bytes(SIGNED)}),
        most=64 * 1024,
    ),
    "host http": Trial(
        readers.host_http,
        _both(
            _after(b"HTTP/1.1 200 OK\r\n", HEADS)
            | HEADS
            | {
                "chunks": _bytes(b"1\r\na\r\n", CHUNKED),
                "a body without an end": _bytes(b"x", b"HTTP/1.1 200 OK\r\n\r\n"),
            }
            | {"a chunk's extension": _bytes(b" ", CHUNKED + b"5;")}
        ),
        most=64 * 1024,
    ),
    "host lines": Trial(readers.host_lines, _both(LINES, 16), most=64 * 1024),
    "guest lines": Trial(readers.guest_lines, _both(LINES, 16), most=64 * 1024),
    "frames in the guest": Trial(readers.guest_frames, _both(FRAMES, 16), most=64 * 1024),
    "frames in the supervisor": Trial(readers.supervisor_frames, _both(FRAMES, 16), most=64 * 1024),
    "frames in the host": Trial(readers.host_frames, _both(FRAMES, 16), most=64 * 1024),
    "frames of upstream": Trial(readers.comms_frames, _both(FRAMES, 16), most=64 * 1024),
    "frames of an engine": Trial(readers.engine_frames, _both(ENGINE, 16), most=64 * 1024),
    "lines of a lease": Trial(
        _lease_lines,
        _both(
            {
                "newlines": _bytes(b"\n"),
                "no end": _bytes(b"x"),
                "objects": _bytes(b'{"a":1}\n'),
                "long lines": _bytes(b"x" * 60_000 + b"\n"),
            }
        ),
        most=64 * 1024,
        typed=(readers.TransportLost,),
    ),  # fmt: skip
    "signed answers": Trial(
        lambda body: readers.signed(200, body),
        JSON
        | {
            "events": lambda size: json.dumps({"pending": [targets.END] * (size // 90), "worker": "idle"}).encode(),
            "walls": lambda size: json.dumps(
                {"walls": {f"w{each}": ["full", "\x1b" * 20] for each in range(size // 150)}, "details": {}}
            ).encode(),
            "an error": lambda size: json.dumps({"error": "\x1b" * (size // 6), "rule": "\u202e" * 9}).encode(),
        },
        most=64 * 1024,
    ),
    "answers under a plain schema": Trial(_asked({"type": "string"}), SAID),
    "answers under an object's schema": Trial(
        _asked(targets.OBJECT),
        {name: lambda size, make=make: make(size).decode("latin-1") for name, make in JSON.items()}
        | {"items": lambda size: json.dumps({"a": 1, "c": [*range(size // 8)]})},
        most=64 * 1024,
    ),
    "answers under a schema that refers to itself": Trial(
        _asked(DEEP_SCHEMA), {"lists": lambda size: "[" + "[null]," * (size // 7) + "null]"}, most=64 * 1024
    ),
    "a model's words": Trial(
        lambda text: (
            parsing.find_code_blocks(text),
            parsing.find_cells(text),
            parsing.why_nothing_ran(text),
            parsing.find_final_answer(text),
            parsing.parse_final(text),
        ),
        SAID,
    ),
    "arguments of a call": Trial(
        lambda data: ToolCall("c", "f", data.decode()).decoded("any"), JSON, typed=(ProviderError,)
    ),
    "a model's lenient JSON": Trial(
        lambda text: (replies.first_json(text), replies.without_thoughts(text)),
        SAID
        | {name: lambda size, make=make: make(size).decode("latin-1") for name, make in JSON.items()}
        | _texts(
            "['x", '["', "[/*", "[//", "[#", "['", "[' ", '["""', "{a:", "[1,", "[-", "{'a':'b',", "[it's ", "\\", '"\\',
            "[\u201c", "[\u2018", "\u2019 ", "{a}", "[a]", '{"a":[],', "[1,[1],", "<think>", "</think>", "<think ", "[None,",
            "[]", "[1][", "['] ", "[x[", "[['", "[\n", "[1 /*x*/ ", "+", "1.", "1e", '["[",', "[+", "[.",
        )
        | {
            "strings": _times("'a', ", "[", "]"),
            "quotes in a string": _times("' ", "['", "']"),
            "escapes": _times("\\d", "['", "']"),
            "line breaks": _times("\n", '["', '"]'),
            "objects": _times("{a: 'b',},", "[", "]"),
        },
    ),  # fmt: skip
    "code in a reply": Trial(
        replies.code_of,
        SAID
        | _texts(
            "x = 1\n", "a", "a ", "a.b\n", "x: ", "x: \n", "import a, ", "from ", "from a ", "if ", "if a:", "del ",
            "return .", "#\n", "(", "```python\n", "```py\nx\n```\n",
        ),
    ),  # fmt: skip
    "what is shown": Trial(lambda text: (inert(text), inert_for_model(text)), SAID),
    "secrets in text": Trial(
        Redactor(["ACME-[0-9]{8}"], environ=False).text,
        _texts(
            "sk-",
            "sk-a1",
            "://",
            "://a:",
            "-----BEGIN PRIVATE KEY-----",
            "Bearer ",
            "eyJ",
            "?key=",
            "ACME-",
            "A",
            "ghp_",
        ),
    ),
    "values to write": Trial(
        json_safe,
        {
            "a list": lambda size: [1] * (size // 8),
            "a text": _times("\ud800"),
            "keys": lambda size: {f"{each}": 1 for each in range(size // 16)},
        },
    ),
    "TOML": Trial(toml.loads, TOML, most=64 * 1024, typed=(ValueError, RecursionError)),
    "places in TOML": Trial(lambda text: locate.locate(text) if _is_toml(text) else None, TOML, most=64 * 1024),
    "YAML": Trial(lambda text: container.parse(text, "compose.yaml", yaml=True), YAML, most=1024, typed=(Unreadable,)),
    "JSON with places": Trial(
        lambda text: document.read_json(text, "file"),
        {name: lambda size, make=make: make(size).decode("latin-1") for name, make in JSON.items()},
        most=64 * 1024,
        typed=(Unreadable,),
    ),
    "JSON lines": Trial(
        lambda text: document.read_json_lines(text, "file"),
        _texts("{}\n", "\n", "[1,2]\n", " ", '{"a":1}\n'),
        most=64 * 1024,
        typed=(Unreadable,),
    ),
    "Dockerfiles": Trial(
        lambda text: dockerfile.read(f"FROM x\n{text}", "Dockerfile"),
        _texts(
            "RUN x\n",
            "RUN x \\\n",
            "\\\n",
            "#\n",
            "RUN <<A <<B\nA\nB\n",
            "RUN <<A\n",
            "<<A ",
            " ",
            "\n",
            "RUN x \\\n# c\n",
        )
        | {
            "a heredoc": _times("x\n", "RUN <<A\n", "A\n"),
            "one line": _times("x", "RUN "),
            "heredocs": _times("<<A", "RUN ", "\nA\n"),
        },
        most=64 * 1024,
        typed=(Unreadable,),
    ),
    "requirements": Trial(
        lambda text: packages.requirements(text, "requirements.txt"),
        _texts("a==1\n", "a[", "a[b]==1", " ", "a-", "=", "#\n", "\n", "a==1.", "[", "a\\\n")
        | {"versions": lambda size: "".join(f"p{each}==1.{each}\n" for each in range(size // 12))},
        most=64 * 1024,
    ),
    "Python that is audited": Trial(
        lambda text: code.read(text, "file.py"),
        _texts(
            "a()\n",
            "x = 'y'\n",
            "import a.b\n",
            "f(",
            "a.",
            "(",
            "{'a': 1}\n",
            "#\n",
            "'",
            "a = b = ",
            "from a import b\n",
        ),
        most=8 * 1024,
        typed=(Unreadable,),
    ),
    "trajectories that are audited": Trial(
        lambda text: trajectory.read(text, "log.jsonl", Policy.load("strict")),
        _texts("\n", "{}\n", '{"type":"iteration","code_blocks":[{"code":"x"}]}\n', "[1]\n", " "),
        most=64 * 1024,
        typed=(Unreadable,),
    ),
    "pages of logs": Trial(
        _kept(view.render),
        {
            name: _bytes(unit)
            for name, unit in {
                "lines": b"\n",
                "objects": b"{}\n",
                "noise": b"x",
                "turns": b'{"type":"iteration","prompt":[{"role":"user","content":"<"}],'
                b'"response":"\\u001b","code_blocks":[{"code":"x","result":{"stdout":"<"}}]}\n',
            }.items()
        },
        most=64 * 1024,
    ),  # fmt: skip
    "trajectories": Trial(
        _kept(lambda path: sum(1 for _ in read_trajectory(path))),
        {
            name: _bytes(unit)
            for name, unit in {
                "lines": b"\n",
                "objects": b"{}\n",
                "turns": b'{"type":"iteration","prompt":[{"role":"user","content":"x"}],"code_blocks":[]}\n',
                "short turns": b'{"type":"iteration","same":0,"prompt":[{"role":"user","content":"x"}]}\n',
                "children": b'{"type":"iteration","code_blocks":[{"result":{"rlm_calls":[{"metadata":{"iterations":[]}}]}}]}\n',
            }.items()
        },
        most=64 * 1024,
        typed=(ValueError,),
    ),
    "audit logs": Trial(
        _kept(lambda path: audit_log.verify(path)),
        {
            name: _bytes(unit)
            for name, unit in {
                "lines": b"\n",
                "objects": b"{}\n",
                "noise": b"x",
                "entries": b'{"seq":0,"prev":"' + b"0" * 64 + b'","event":"x"}\n',
            }.items()
        },
        most=64 * 1024,
        typed=(AuditLogError,),
    ),  # fmt: skip
    "a policy's patterns": Trial(
        _loaded, _texts("(", "(?:", "[", "a{1,9}", "+", "a*", "|", "\\", "(a+)+"), most=1000, typed=(PolicyError,)
    ),
}


def _is_toml(text: str) -> bool:
    try:
        toml.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True)
class Reader:
    """What a module decodes with; the trials that cover it, or why none has to."""

    calls: str
    trials: tuple[str, ...] = ()
    reason: str = ""


_HOST_JSON, _GUEST_JSON = ("json of the host",), ("json of the guest",)
_KERNEL = "what the kernel wrote, of a size that the module names"
_ARENA = "the arena's own processes, on pipes and files of theirs; sizes are checked where a session could have written"

READERS: dict[str, Reader] = {
    "agents/replies.py": Reader("find in a loop, loads", ("a model's lenient JSON", "code in a reply")),
    "agents/tables/child.py": Reader(
        "csv.reader fromhex",
        reason="64 KiB of a file in a process of its own, which tests/agents/test_tables_read.py bounds; the host's filter",
    ),
    "agents/tables/read.py": Reader("from_bytes loads os.read", ("json of the host", "values with tags")),
    "rlm/answers.py": Reader("loads", (*_HOST_JSON, "answers under a plain schema", "answers under an object's schema")),
    "audit/accept.py": Reader("loads", _HOST_JSON),
    "audit/attack.py": Reader("validate_json", reason="the job that the same user's audit wrote for its own process"),
    "audit/probes.py": Reader("bound loads validate_json", _HOST_JSON),
    "audit/read/cells.py": Reader("loads", _HOST_JSON),
    "audit/read/code.py": Reader("ast.parse", ("Python that is audited",)),
    "audit/read/document.py": Reader("loads", ("JSON with places", "JSON lines")),
    "audit/read/trajectory.py": Reader("find in a loop, loads", ("trajectories that are audited",)),
    "audit/read/yaml_document.py": Reader("get_event", ("YAML",)),
    "audit/rules/packages.py": Reader("tomllib.loads", reason="a table of ours, in the package"),
    "broker/client.py": Reader("decode", ("signed answers",)),
    "broker/protocol.py": Reader("binascii.a2b_base64 loads", ("frames in the host", "signed answers", "values with tags")),
    "broker/signed.py": Reader("event", ("signed answers",)),
    "broker/transports/http1.py": Reader("find in a loop, recv", ("host http",)),
    "broker/transports/https.py": Reader("urlsplit", reason="the address that a provider's API names, once a session"),
    "broker/transports/lines.py": Reader("base64.b64decode, find in a loop", ("host lines",)),
    "broker/transports/tube.py": Reader("decode", ("host lines",)),
    "broker/transports/uds.py": Reader(
        "recv, unpack", ("host http",), "what is unpacked the kernel wrote: who connected"
    ),
    "checks/patterns.py": Reader("find in a loop", ("answers under an object's schema",)),
    "checks/schema.py": Reader("json.loads", reason="the user's own schema, written and read again to copy it"),
    "checks/typed.py": Reader("validate_json", ("json of the host",)),
    "cli/options.py": Reader("json.loads", reason="an argument of the command line, from the user"),
    "clients/gemini.py": Reader("b64decode", reason="media and ids of calls, which the host itself put into base64"),
    "clients/prices.py": Reader("tomllib.loads", reason="a table of ours, in the package"),
    "clients/tool_calls.py": Reader("loads", ("arguments of a call",)),
    "clients/transport.py": Reader("recv", reason="one piece for the library that asked for it; nobody looks into it"),
    "compat/core/comms_utils.py": Reader("loads, recv, unpack", ("frames of upstream",)),
    "environments/cloud/lease.py": Reader("decode", ("lines of a lease",)),
    "environments/cloud/provider.py": Reader("urlsplit", reason="addresses that the user configured"),
    "environments/docker/engine.py": Reader("urlsplit", reason="DOCKER_HOST, from the user"),
    "environments/docker/stream.py": Reader("recv, unpack_from", ("frames of an engine",)),
    "environments/local/cgroup.py": Reader("os.read", reason=_KERNEL),
    "environments/local/listener.py": Reader("unpack_from", reason=_KERNEL),
    "environments/local/pidfd.py": Reader("unpack", reason=_KERNEL),
    "environments/seccomp.py": Reader("json.loads", reason="a profile of ours, or a file that the user names"),
    "environments/local/session.py": Reader("recvmsg struct.unpack", reason=_KERNEL),
    "environments/local/image.py": Reader(
        "os.pread", reason="the table of a file of ours beside the bytecode: who can write there can change our code"
    ),
    "guest/image.py": Reader("os.pread", reason="the file that the host passes, which the host has checked"),
    "environments/local/startup.py": Reader("os.read", reason="one read of 64 KiB of the zygote's errors, of ours"),
    "environments/local/worker.py": Reader(
        "decode event os.pread recv socket.recv_fds unpack_from", ("frames in the host",)
    ),
    "environments/local/zygote.py": Reader("decode socket.recv_fds", _HOST_JSON),
    "environments/cloud/prime.py": Reader("partition in a loop", reason="names of sandboxes that the provider's API lists"),
    "environments/cloud/cluster.py": Reader("loads urlsplit", _HOST_JSON, "the addresses of the user's kubeconfig"),
    "environments/remote/worker.py": Reader("decode event", ("frames in the host",)),
    "files.py": Reader("os.read", reason="pieces of a file, counted; who asks for them decodes"),
    "guest/language/facades/times.py": Reader("os.read", reason="64 KiB at most of each of the machine's time zones"),
    "guest/zygote/apart.py": Reader("recvmsg socket.recv_fds unpack", reason=_KERNEL),
    "guest/supervisor/bodies.py": Reader("wire.loads", _GUEST_JSON),
    "guest/language/compiler.py": Reader("compile", reason="a cell's own source, in its worker, under the clock of its cell"),
    "guest/session/tagged.py": Reader("binascii.a2b_base64", reason="values that the host set"),
    "guest/supervisor/dial.py": Reader("base64.b64decode, find in a loop, os.read, recv, wire.loads", ("guest lines",)),
    "guest/supervisor/fetch.py": Reader(
        "os.read zlib.decompressobj", reason="64 KiB at a time, as many as were announced and are taken; nobody looks at them"
    ),
    "guest/language/facades/binary.py": Reader("zlib.decompressobj", reason="for a cell, in its worker, under its own limits"),
    "guest/language/library/array.py": Reader("struct.unpack", reason="for a cell, in its worker, under its limits"),
    "guest/language/library/files.py": Reader("find in a loop", reason="for a cell, in its worker, under its limits"),
    "guest/language/library/secrets.py": Reader("from_bytes", reason="for a cell, in its worker, under its limits"),
    "guest/language/library/configparser.py": Reader("find in a loop", reason="for a cell, in its worker, under its limits"),
    "guest/language/library/html_parser.py": Reader("find in a loop", reason="for a cell, in its worker, under its limits"),
    "guest/packages/hooks.py": Reader(
        "find in a loop, struct.unpack_from", reason="numpy's own library and its memory, before there is a cell"
    ),
    "guest/language/facades/text.py": Reader(
        "ast.literal_eval json.loads shlex.split", reason="for a cell, in its worker, under its limits"
    ),
    "guest/kernel/leash.py": Reader("os.read", reason="one byte at a time, and none is looked at"),
    "guest/supervisor/http.py": Reader("recv recv_into", ("guest http",)),
    "guest/supervisor/worker_link.py": Reader("os.pread recv unpack_from", ("frames in the supervisor",)),
    "guest/supervisor/zygote_link.py": Reader("os.read socket.recv_fds wire.loads", _GUEST_JSON),
    "guest/session/memory.py": Reader("json.loads", reason="a context of the host's, in the worker that has it"),
    "guest/supervisor/privileges.py": Reader("fromhex", reason=_KERNEL),
    "guest/supervisor/supervisor.py": Reader("fromhex os.read wire.loads", _GUEST_JSON),
    "guest/supervisor/uploads.py": Reader("fromhex", reason="64 digits, matched before"),
    "guest/wire.py": Reader(
        "json.JSONDecoder recvmsg struct.iter_unpack unpack_from", ("frames in the guest", "json of the guest")
    ),
    "guest/zygote/zygote.py": Reader("fromhex recv wire.loads", _GUEST_JSON),
    "logger/audit_log.py": Reader("loads os.pread", ("audit logs",)),
    "logger/read.py": Reader("loads", ("pages of logs", "trajectories")),
    "rlm/parsing.py": Reader("find in a loop", ("a model's words",)),
    "policy/locate.py": Reader("tomllib.loads", ("places in TOML",)),
    "policy/toml.py": Reader("tomllib.loads", ("TOML",)),
    "testing/arena/__init__.py": Reader("loads", _HOST_JSON),
    "testing/arena/attempts.py": Reader("loads validate_json", _HOST_JSON),
    "testing/arena/build.py": Reader("json.load os.read struct.unpack", reason=_ARENA),
    "testing/arena/relay.py": Reader("recv struct.unpack", reason=_ARENA),
    "testing/control.py": Reader("loads os.read unpack", _HOST_JSON),
    "testing/foreign.py": Reader("loads os.pread recv unpack", _HOST_JSON),
    "testing/host.py": Reader("json.loads recv socket.recv_fds unpack", reason=_ARENA),
    "testing/launch.py": Reader("json.load", reason=_ARENA),
    "testing/nested.py": Reader("os.read struct.unpack", reason=_ARENA),
    "testing/target.py": Reader("os.pread recv", reason=_ARENA),
    "tagged.py": Reader("base64.b64decode fromisoformat", ("values with tags",)),
    "testing/yardstick.py": Reader("unpack_from", reason="two numbers in memory of our own"),
    "tools/toolbox.py": Reader("json.loads", reason="what the host itself wrote of a tool's result, of at most its limit"),
    "untrusted_json.py": Reader("json.JSONDecoder", _HOST_JSON),
}


def others() -> Iterator[str]:
    """Trials of what no list of decoders names: parsers that go through characters by themselves."""
    yield from (
        "answers under a schema that refers to itself", "what is shown", "secrets in text", "values to write", "Dockerfiles",
        "requirements", "a policy's patterns",
    )  # fmt: skip
