"""The only decoder of frames from a guest. Every byte is hostile until it is decoded.

`decode` turns one frame into a JSON object within limits of bytes, depth, values and digits, or raises
ProtocolViolation and nothing else; untrusted_json.py enforces the limits. `event` turns the object into a `Call` or a
`CellResult`, checking every type and length. Names that the guest chose are looked up in closed tables only. Every
str that is returned encodes as UTF-8.

Guards: what a frame from a sandbox may contain
"""

from __future__ import annotations

import binascii
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from rlm_secure.errors import CellError, CellException, CellMemoryLimit, CellRefused, CellTimeout, ProtocolViolation
from rlm_secure.guarantees import Wall
from rlm_secure.inert import inert_line
from rlm_secure.tagged import CrowdedValue, MalformedValue, untag
from rlm_secure.types import CodeFinding, CodeFindingReason, not_kept
from rlm_secure.untrusted_json import MAX_DEPTH as MAX_DEPTH
from rlm_secure.untrusted_json import MAX_NODES as MAX_NODES
from rlm_secure.untrusted_json import MalformedJson, loads

MAX_NAMES: Final = 256
MAX_NAME: Final = 128
MAX_PROMPTS: Final = 10_000
MAX_MEDIA: Final = 16

CallKind = Literal["llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "tool"]
_LM_KINDS: Final = ("llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched")

_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

#: Upper bound of all byte and second counts; every int up to here is exact as a float.
_LARGEST: Final = 2.0**53

_WALLS: Final = frozenset(wall.value for wall in Wall)
_LEVELS: Final = frozenset({"full", "partial", "none"})
#: A level and its evidence, by wall.
Findings = Mapping[str, tuple[str, str]]

#: What the name of a file in a sandbox may be: as guest/session/store.py has it, so that a user may write it below a
#: folder. No absolute path, no step up, no drive, no control character, and no dot or blank at the end of a part, which
#: Windows leaves out.
_PART: Final = r"[^/\\:\x00-\x1f\x7f-\x9f\ud800-\udfff]+(?<![. ])"
_FILE_NAME: Final = re.compile(rf"{_PART}(?:/{_PART})*")
MAX_FILES: Final = 4096
MAX_FILE_NAME: Final = 200

#: Findings of one check of code, and characters of a message, as guest/language/guardrails.py has them.
MAX_FINDINGS: Final = 20
MAX_FINDING: Final = 400
_REASONS: Final = frozenset(get_args(CodeFindingReason))

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
#: Half of a surrogate pair, as the decoder writes it: three bytes for a worker, which counts them before that.
_HALF: Final = re.compile(r"\\ud[89a-f][0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Call:
    """A request from a cell to the host: prompts for a model or a child, or one tool call.

    `prompts` has exactly one entry unless `kind` ends in "_batched". `args` and `kwargs` are JSON values. `media` are
    bytes that an `llm_query` says are images or sound.
    """

    kind: CallKind
    prompts: tuple[str, ...] = ()
    model: str | None = None
    tool: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    media: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Printed:
    """What a cell has printed to its stdout or stderr since it was last told, while it runs."""

    stream: Literal["stdout", "stderr"]
    text: str


class Variable(NamedTuple):
    """A variable as the guest describes it: a type name, a JSON value when it is small, else a safe repr.

    If the request asked for values, those that the cell bound have `whole`, which is the value in a tuple, or
    `size`, the least number of bytes of one that is too large, or `why`, the reason why another is no plain data.
    """

    type: str
    value: Any = None
    has_value: bool = False
    repr: str = ""
    whole: tuple[Any] | None = None
    size: int = 0
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether it has its whole value, or says why not."""
        return self.whole is not None or bool(self.size or self.why)


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A final answer: its text, and its value when it is plain data. `none`: it is None, which has no other value
    than a text has."""

    text: str
    value: Any = None
    none: bool = False


@dataclass(slots=True)
class CellResult:
    """The result of a cell as the guest reports it; the host sets `seconds`, and `error` for limits it enforces.

    `variables` are all of the session if `gone` is None; otherwise those that the cell bound or can have changed, and
    `gone` are the names of others that there are no longer.
    """

    stdout: str = ""
    stderr: str = ""
    variables: Mapping[str, Variable] = field(default_factory=dict)
    gone: tuple[str, ...] | None = field(default=None, repr=False)
    value: Variable | None = None
    files: Mapping[str, int] = field(default_factory=dict)
    answer: TextAnswer | None = None
    error: CellError | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    dropped_bytes: int = 0
    resumed: bool = False
    described: Any = field(default=None, repr=False)
    """What the host makes of the variables for its own result (environments/variables.py)."""


def decode(data: bytes | bytearray | memoryview, *, limit: int) -> dict[str, Any]:
    """One frame's JSON object. Raises ProtocolViolation for anything else, whatever the bytes are."""
    raw = bytes(data)
    if len(raw) > limit:
        raise _broken(f"a frame of {len(raw)} bytes is over the limit of {limit}")
    if not raw.isascii() or raw[:1] != b"{" or raw[-1:] != b"}":
        raise _broken("a frame is not an object in ASCII")
    try:
        message: dict[str, Any] = loads(raw)
    except MalformedJson as refused:
        raise _broken(f"a frame is refused: {refused}") from None
    return message


def event(
    message: Mapping[str, Any], *, value_bytes: int, stdout_bytes: int, result_bytes: int
) -> Call | Printed | CellResult:
    """The `call` or `done` that a frame carries, fully checked. Raises ProtocolViolation.

    A worker truncates its output and values itself. Where it did not, they are truncated here and count as dropped.
    """
    op = message.get("op")
    if op == "call":
        return _printed(message, stdout_bytes) if message.get("call") == "output" else _call(message)
    if op == "done":
        return _result(message, value_bytes, stdout_bytes, result_bytes)
    raise _broken("a frame is neither a call nor a result")


def fresh_nonce() -> str:
    """A random value, sent last in a frame: the worker's next frame repeats it, which proves that it read this one."""
    return os.urandom(8).hex()


def check_nonce(message: Mapping[str, Any], nonce: str | None) -> None:
    """Raise ProtocolViolation for a frame that does not carry `nonce`: it answers another frame, or none."""
    if message.get("nonce") != nonce:
        raise _broken("a frame came from a worker that had not read what it was told")


def ready(message: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The walls of a `ready` frame, sent before any untrusted code ran. Raises ProtocolViolation."""
    if message.get("op") != "ready":
        raise _broken("the first frame is not ready")
    return findings(message.get("walls"))


def findings(value: Any) -> dict[str, tuple[str, str]]:
    """The level and the evidence of each wall, as zygotes and workers report it. Raises ProtocolViolation."""
    if not isinstance(value, dict):
        raise _broken("walls is not an object")
    walls: dict[str, tuple[str, str]] = {}
    for name, entry in value.items():
        if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(part, str) for part in entry):
            raise _broken("a wall's status is not a level and its evidence")
        level, evidence = entry
        if name not in _WALLS or level not in _LEVELS:
            raise _broken("a wall or its level has no known name")
        walls[name] = (level, inert_line(evidence[:400]))
    return walls


def is_file_name(name: object) -> bool:
    """Whether a file of a session can have this name."""
    return isinstance(name, str) and len(name) <= MAX_FILE_NAME and _FILE_NAME.fullmatch(name) is not None


def file_sizes(listed: Any) -> dict[str, int]:
    """Files of a session by name, and the size of each. Raises ProtocolViolation."""
    if not isinstance(listed, dict) or len(listed) > MAX_FILES:
        raise _broken(f"files are no object of at most {MAX_FILES}")
    for name, size in listed.items():
        if not is_file_name(name):
            raise _broken("a file has a name that no file has")
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise _broken("a file has no size")
    return dict(listed)


def digest_of(value: Variable) -> str:
    """The digest that a worker found of a variable that is plain data. Raises ProtocolViolation."""
    found = None if value.whole is None else value.whole[0]
    if type(found) is not str or not _DIGEST.fullmatch(found):
        raise _broken("a digest is no SHA-256 in hex")
    return found


def code_findings(value: Variable | None) -> list[CodeFinding]:
    """What a worker found in the code that it was asked to check. Raises ProtocolViolation."""
    found = None if value is None or value.whole is None else value.whole[0]
    if type(found) is not list or len(found) > MAX_FINDINGS:
        raise _broken(f"findings are no list of at most {MAX_FINDINGS}")
    return [_code_finding(each) for each in found]


def _code_finding(entry: Any) -> CodeFinding:
    if type(entry) is not dict or entry.keys() != {"reason", "message", "line"}:
        raise _broken("a finding is no reason, message and line")
    reason, message, line = entry["reason"], entry["message"], entry["line"]
    if type(reason) is not str or reason not in _REASONS:
        raise _broken("a finding is of no known reason")
    if type(message) is not str or not 0 < len(message) <= MAX_FINDING:
        raise _broken("a finding's message is not a short string")
    if type(line) is not int or not 0 <= line <= _LARGEST:
        raise _broken("a finding is in no line")
    return CodeFinding(cast(CodeFindingReason, reason), inert_line(message), line)


def _printed(message: Mapping[str, Any], stdout_bytes: int) -> Printed:
    stream, text = message.get("stream"), _string(message, "text")
    if stream not in ("stdout", "stderr"):
        raise _broken("output comes from no known stream")
    if not _fits(_HALF.sub("...", text), stdout_bytes):
        raise _broken("output is longer than limits.stdout_bytes")
    return Printed(cast(Literal["stdout", "stderr"], stream), text)


def _call(message: Mapping[str, Any]) -> Call:
    kind = message.get("call")
    if kind in _LM_KINDS:
        prompts = message.get("prompts")
        if not isinstance(prompts, list) or not all(isinstance(prompt, str) for prompt in prompts):
            raise _broken("a prompt is not a string")
        single = not kind.endswith("_batched")
        if len(prompts) > MAX_PROMPTS or (single and len(prompts) != 1):
            raise _broken(f"a call carries {len(prompts)} prompts")
        model = message.get("model")
        if model is not None and (not isinstance(model, str) or len(model) > 256):
            raise _broken("a model name is not a short string")
        return Call(cast(CallKind, kind), tuple(prompts), model, media=_media(kind, message.get("media", [])))
    if kind == "tool":
        tool = message.get("tool")
        if not isinstance(tool, str) or not _NAME.fullmatch(tool):
            raise _broken("a tool name is not an identifier")
        args = message.get("args")
        if not isinstance(args, list):
            raise _broken("tool arguments are not a list")
        return Call("tool", tool=tool, args=tuple(args), kwargs=_dict(message, "kwargs"))
    raise _broken("a call is of no known kind")


def _media(kind: str, media: Any) -> tuple[bytes, ...]:
    if not isinstance(media, list) or len(media) > MAX_MEDIA or (media and kind != "llm_query"):
        raise _broken("media is not a short list, or not that of llm_query")
    try:
        return tuple(binascii.a2b_base64(each, strict_mode=True) for each in media)
    except (TypeError, ValueError):  # binascii.Error is a ValueError
        raise _broken("an image or a sound is not base64") from None


def _result(message: Mapping[str, Any], value_bytes: int, stdout_bytes: int, result_bytes: int) -> CellResult:
    stdout, stderr = _string(message, "stdout"), _string(message, "stderr")
    cut = 0
    if 4 * max(len(stdout), len(stderr)) > stdout_bytes:
        stdout, cut_of_stdout = _kept(stdout, stdout_bytes)
        stderr, cut_of_stderr = _kept(stderr, stdout_bytes)
        cut = cut_of_stdout + cut_of_stderr
    variables, cut_of_values = _variables(_dict(message, "variables"), value_bytes)
    cut += cut_of_values
    value = answer = error = None
    if (described := message.get("value")) is not None:
        value, cut_of_value = _variable(described, value_bytes)
        cut += cut_of_value
    if (given := message.get("answer")) is not None:
        answer, cut_of_answer = _answer(given, result_bytes)
        cut += cut_of_answer
    if (said := message.get("error")) is not None:
        error = _error(said)
    files = message.get("files", {})
    return CellResult(
        stdout=stdout,
        stderr=stderr,
        variables=variables,
        gone=_gone(message.get("gone")),
        value=value,
        files={} if files == {} else file_sizes(files),
        answer=answer,
        error=error,
        cpu_seconds=_number(message, "cpu"),
        peak_bytes=int(_number(message, "peak")),
        dropped_bytes=int(_number(message, "dropped")) + cut,
    )


def _kept(text: str, most: int) -> tuple[str, int]:
    """The longest prefix of `text` within `most` bytes of UTF-8, and the size of the rest in bytes."""
    if 4 * len(text) <= most:
        return text, 0
    raw = text.encode()
    kept = raw[:most].decode("utf-8", "ignore")
    return kept, len(raw) - len(kept.encode())


def _fits(text: str, most: int) -> bool:
    """Whether `text` takes at most `most` bytes of UTF-8."""
    return 4 * len(text) <= most or (len(text) <= most and len(text.encode()) <= most)


def _size(value: Any, most: int) -> int:
    """Bytes of `value` as JSON; 0 where its type and length show that they are at most `most`, the common case."""
    kind = type(value)
    if (
        value is None
        or kind is bool
        or kind is float
        or (kind is int and value.bit_length() <= 3 * most - 6)
        or (kind is str and 6 * len(value) + 2 <= most)
    ):
        return 0
    return len(_encode(value).encode())


def _variables(described: Mapping[str, Any], value_bytes: int) -> tuple[dict[str, Variable], int]:
    """The variables, and how many bytes of them were dropped: values whose JSON takes more than `value_bytes`."""
    if len(described) > MAX_NAMES:
        raise _broken(f"a result describes more than {MAX_NAMES} variables")
    variables: dict[str, Variable] = {}
    cut = 0
    for name, entry in described.items():
        if len(name) > MAX_NAME:
            raise _broken("a variable's name is not a short string")
        variables[name], size = _variable(entry, value_bytes)
        cut += size
    return variables, cut


def _gone(names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) > MAX_NAMES:
        raise _broken(f"the names that are gone are no list of at most {MAX_NAMES}")
    if not names:
        return ()
    if not all(isinstance(name, str) and len(name) <= MAX_NAME for name in names):
        raise _broken("a variable's name is not a short string")
    return tuple(names)


def _variable(entry: Any, value_bytes: int) -> tuple[Variable, int]:
    """One variable, or the value of an expression, and how many bytes of it were dropped."""
    if not isinstance(entry, dict):
        raise _broken("a variable is not described by an object")
    kind = entry.get("type")
    if not isinstance(kind, str) or len(kind) > MAX_NAME:
        raise _broken("a variable's type is not a short string")
    shown = entry.get("repr", "")
    if not isinstance(shown, str) or (shown and not _fits(shown, value_bytes)):
        raise _broken("a variable's repr is not a short string")
    why = entry.get("why", "")
    if not isinstance(why, str) or len(why) > 2 * MAX_NAME:
        raise _broken("the reason why a variable has no value is not a short string")
    value, has_value, cut = entry.get("value"), "value" in entry, 0
    if has_value and (size := _size(value, value_bytes)) > value_bytes:
        value, has_value, shown, cut = None, False, not_kept(size), size
    whole: tuple[Any] | None = None
    least = int(_number(entry, "size")) if "size" in entry else 0
    if "whole" in entry:
        if (size := _size(entry["whole"], value_bytes)) > value_bytes:
            least, cut = size, cut + size
        else:
            try:
                whole = (_untagged(entry["whole"]),)
            except CrowdedValue as refused:
                why = str(refused)
    return Variable(kind, value, has_value, shown, whole, least, inert_line(why) if why else ""), cut


def _untagged(value: Any) -> Any:
    try:
        return untag(value)
    except CrowdedValue:
        raise
    except MalformedValue as refused:
        raise _broken(str(refused)) from None


def _answer(entry: Any, result_bytes: int) -> tuple[TextAnswer, int]:
    """The answer, and how many bytes of it were dropped: a value over an eighth of `result_bytes`."""
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise _broken("an answer has no text")
    if not _fits(entry["text"], result_bytes):
        raise _broken("an answer is longer than limits.result_bytes")
    value, most = entry.get("whole"), result_bytes // 8
    size = _size(value, most)
    if size > most:
        return TextAnswer(entry["text"]), size
    try:
        return TextAnswer(entry["text"], _untagged(value), "whole" in entry and value is None), 0
    except CrowdedValue:
        return TextAnswer(entry["text"]), 0


def _error(entry: Any) -> CellError:
    if not isinstance(entry, dict) or not isinstance(entry.get("message"), str):
        raise _broken("an error has no message")
    rule = entry.get("rule")
    if rule is not None and (not isinstance(rule, str) or len(rule) > MAX_NAME):
        raise _broken("an error's rule is not a short string")
    rule = None if rule is None else inert_line(rule)
    message = entry["message"][:4000]
    # A closed table: the guest picks a kind, never a class. Whether a limit that the host enforces was reached is
    # decided by the host, in Session.execute, whatever kind the guest reports.
    match entry.get("kind"):
        case "exception":
            return CellException(message)
        case "refused":
            return CellRefused(message, rule=rule, wall="language")
        case "memory":
            return CellMemoryLimit(message, limit="limits.memory_bytes", wall="rlimits")
        case "interrupted":
            return CellTimeout(message, limit="limits.cell_seconds", wall="wall-clock")
        case "cpu":
            return CellTimeout(message, limit="limits.cell_cpu_seconds", wall="rlimits")
        case _:
            raise _broken("an error is of no known kind")


def _dict(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = message.get(key)
    if not isinstance(value, dict):
        raise _broken(f"{key} is not an object")
    return value


def _string(message: Mapping[str, Any], key: str) -> str:
    value = message.get(key)
    if not isinstance(value, str):
        raise _broken(f"{key} is not a string")
    return value


def _number(message: Mapping[str, Any], key: str) -> float:
    value = message.get(key)
    if type(value) is not float and type(value) is not int:
        raise _broken(f"{key} is not a number")
    if not 0 <= value <= _LARGEST:
        raise _broken(f"{key} is not a size")
    return value


def _broken(reason: str) -> ProtocolViolation:
    return ProtocolViolation(f"the sandbox broke the protocol: {reason}")
