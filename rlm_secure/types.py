"""The data of a run: upstream's dataclasses under upstream's names, and their conversion to JSON.

Every `to_dict` here returns what strict JSON can hold, whatever a cell, a caller or a backend put into the
fields: `json_safe` is the one function that ensures it.
"""

from __future__ import annotations

import json
import math
import sys
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeAlias, cast

from rlm_secure.errors import CellError, ValueNotPlain, ValueTooLarge, ValueUnavailable
from rlm_secure.registry import EnvironmentType as EnvironmentType
from rlm_secure.tagged import tag
from rlm_secure.turns import Messages, Trajectory
from rlm_secure.values import Values

ClientBackend: TypeAlias = Literal[
    "openai",
    "portkey",
    "openrouter",
    "vercel",
    "vllm",
    "anthropic",
    "azure_openai",
    "gemini",
    "litellm",
    "scripted",
]
"""The names of our clients; any other text is one of another distribution."""

#: Why code goes back to the model that wrote it.
CodeFindingReason: TypeAlias = Literal[
    "syntax", "language", "import", "forbidden_call", "read_mutation", "missing_result", "missing_edit",
    "missing_filter",
]  # fmt: skip

#: The type of an answer that was parsed by an `answer_schema`: Any, where type checkers are told none.
if TYPE_CHECKING:
    from typing_extensions import TypeVar  # one with a default, so that a plain `RLM` stays a complete annotation

    Parsed = TypeVar("Parsed", default=Any)
else:  # the other takes milliseconds to import
    Parsed = typing.TypeVar("Parsed")

#: The types of the payload of a completion.
Payload: TypeAlias = str | dict[Any, Any] | list[Any]

MAX_DEPTH: Final = 48
MAX_NODES: Final = 200_000
MAX_TEXT: Final = 16 * 1024 * 1024
#: JavaScript reads larger numbers as Infinity, and Python refuses to print one of more than 4,300 digits.
MAX_BITS: Final = 1023
#: No limit: for values that are the caller's own, or already limited.
UNBOUNDED: Final = 1 << 62
#: Levels of a trajectory: each child's is nested eight levels deeper than its parent's.
_NESTED: Final = 160


def encodable(value: Any) -> Any:
    """`value` with every lone surrogate escaped ("\\\\ud800"), also in the strings of nested lists and dicts.

    Python's str may hold half of a surrogate pair, which cannot be written to a file or terminal: print() raises.
    Raises ValueError where two keys of a dict become one.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        made = {encodable(key): encodable(item) for key, item in value.items()}
        if len(made) != len(value):
            raise ValueError("two keys of a dict differ in lone surrogates only.")
        return made
    return value


def json_safe(value: Any, *, depth: int = MAX_DEPTH, nodes: int = MAX_NODES, text: int = MAX_TEXT) -> Any:
    """`value` as strict JSON can hold it: str, int, float, bool, None, list and dict with str keys, all new.

    At most `depth` levels, `nodes` values and `text` characters in all are kept; a note replaces what was
    cut off. NaN and the infinities, integers over MAX_BITS bits, containers that contain themselves, and
    objects of any other kind become short strings. Never raises, and never runs a method of a class that is
    not a builtin. Lone surrogates stay: `json.dumps` with ensure_ascii writes them.
    """
    return _Conversion(depth, nodes, text).convert(value, depth)


def held_bytes(value: Any, most: int = UNBOUNDED) -> int:
    """Bytes of memory that a JSON-like value takes, counted no further than `most`.

    A text that occurs twice counts twice. Other objects count with their own few bytes, without what they refer to.
    """
    if type(value) is str or value is None:
        return sys.getsizeof(value)
    total = 0
    waiting: list[Iterable[Any]] = [(value,)]
    while waiting and total <= most:
        for item in waiting.pop():
            total += sys.getsizeof(item)
            if total > most:
                break
            kind = type(item)
            if kind is dict:
                waiting += (item.keys(), item.values())
            elif kind is list or kind is tuple:
                waiting.append(item)
    return total


def not_kept(size: int, unit: str = "bytes") -> str:
    """The placeholder of a text that was dropped: its size, so that it is not mistaken for the text."""
    return f"[not kept: {size:,} {unit}]"


class _Conversion:
    """One call of json_safe, with what is left of its limits.

    Types are decided by `type(value)`, and values read through the builtin's own methods: `isinstance` would read
    `__class__`, and a subclass may override everything else.
    """

    def __init__(self, depth: int, nodes: int, text: int) -> None:
        self._depth = depth
        self._nodes = nodes
        self._text = text
        self._open: set[int] = set()

    def convert(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, str):
            return self._string(str.__str__(value))
        if issubclass(kind, int):
            return _integer(int.__int__(value))
        if issubclass(kind, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else _NOT_FINITE[float.__repr__(number)]
        for base in _CONTAINERS:
            if issubclass(kind, base):
                return self._container(value, base, depth)
        return self._string(_label(value))

    def _container(self, value: Any, base: Any, depth: int) -> Any:
        if id(value) in self._open:
            return f"<{base.__name__} that contains itself>"
        if depth <= 0:
            return f"<{base.__name__} nested deeper than {self._depth}>"
        self._open.add(id(value))
        try:
            return self._mapping(value, depth) if base is dict else self._sequence(value, base, depth)
        finally:
            self._open.discard(id(value))

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        safe: dict[str, Any] = {}
        # A copy: another thread may be writing to the original.
        for done, (key, item) in enumerate(list(dict.items(value))):
            if self._nodes <= 0:
                safe["..."] = f"[{dict.__len__(value) - done} more items]"
                break
            safe[self._key(key)] = self.convert(item, depth - 1)
        return safe

    def _sequence(self, value: Any, base: Any, depth: int) -> list[Any]:
        safe: list[Any] = []
        for item in list(base.__iter__(value)):
            if self._nodes <= 0:
                safe.append(f"[{base.__len__(value) - len(safe)} more items]")
                break
            safe.append(self.convert(item, depth - 1))
        return safe

    def _key(self, key: Any) -> str:
        if key is None or issubclass(type(key), str | int | float):
            return str(self.convert(key, 0))
        return self._string(_label(key))

    def _string(self, value: str) -> str:
        if len(value) <= self._text:
            self._text -= len(value)
            return value
        kept, self._text = value[: self._text], 0
        return f"{kept}... + [{len(value) - len(kept)} chars...]"


_CONTAINERS: Final = (dict, list, tuple, set, frozenset)
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: Classes whose str() is short and runs no foreign code.
_PATHS: Final = (PosixPath, WindowsPath, PurePosixPath, PureWindowsPath)


def _integer(value: int) -> int | str:
    return value if value.bit_length() <= MAX_BITS else f"<int of {value.bit_length()} bits>"


def _label(value: Any) -> str:
    """The placeholder of an object that JSON cannot hold: its type and, where it has a plain one, its name."""
    kind = type(value)
    if kind in _PATHS:
        return str(value)
    if kind is FunctionType or kind is BuiltinFunctionType:
        return f"<function {value.__name__!r}>"
    if kind is ModuleType:
        name = object.__getattribute__(value, "__dict__").get("__name__")
        return f"<module {name!r}>" if type(name) is str else "<module>"
    if issubclass(kind, type):
        return f"<class {_class_name(value)!r}>"
    if kind is bytes or kind is bytearray:
        return f"<{kind.__name__} of {len(value)} bytes>"
    return f"<{_class_name(kind)}>"


def _class_name(kind: type) -> str:
    """`kind.__name__` without running its metaclass."""
    return str(type.__dict__["__name__"].__get__(kind))


@dataclass
class ModelUsageSummary:
    """The usage of one model. `total_cost` is US dollars, None where the provider reports none."""

    total_calls: int = 0
    """How many calls were made."""
    total_input_tokens: int = 0
    """Tokens of all prompts."""
    total_output_tokens: int = 0
    """Tokens of all replies."""
    total_cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form; `total_cost` only where it is known."""
        known: dict[str, Any] = {
            "total_calls": self.total_calls,
            "total_input_tokens": self.total_input_tokens,
            "total_output_tokens": self.total_output_tokens,
        }
        if self.total_cost is not None:
            known["total_cost"] = json_safe(self.total_cost)
        return known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self:
        """The inverse of to_dict; missing fields count as zero."""
        data = data or {}
        cost = data.get("total_cost")
        return cls(
            total_calls=int(data.get("total_calls") or 0),
            total_input_tokens=int(data.get("total_input_tokens") or 0),
            total_output_tokens=int(data.get("total_output_tokens") or 0),
            total_cost=None if cost is None else float(cost),
        )


@dataclass
class UsageSummary:
    """The usage of every model, by model name."""

    model_usage_summaries: dict[str, ModelUsageSummary] = field(default_factory=dict)
    """The usage of each model, by its name."""

    @property
    def total_cost(self) -> float | None:
        """The sum of the known costs in US dollars, None when no cost is known."""
        costs = [each.total_cost for each in self.model_usage_summaries.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None

    @property
    def total_calls(self) -> int:
        """Calls of all models."""
        return sum(each.total_calls for each in self.model_usage_summaries.values())

    @property
    def total_input_tokens(self) -> int:
        """Tokens read by all models."""
        return sum(each.total_input_tokens for each in self.model_usage_summaries.values())

    @property
    def total_output_tokens(self) -> int:
        """Tokens written by all models."""
        return sum(each.total_output_tokens for each in self.model_usage_summaries.values())

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form; `total_cost` only where it is known."""
        known: dict[str, Any] = {
            "model_usage_summaries": {model: each.to_dict() for model, each in self.model_usage_summaries.items()}
        }
        if self.total_cost is not None:
            known["total_cost"] = json_safe(self.total_cost)
        return known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self:
        """The inverse of to_dict; None is no usage at all."""
        models = (data or {}).get("model_usage_summaries") or {}
        return cls({model: ModelUsageSummary.from_dict(each) for model, each in models.items()})


@dataclass(frozen=True, slots=True)
class Notice:
    """A problem that the caller of a run should know, although the run went on.

    `kind` is "log" (the trajectory file or the trajectory is incomplete), "records" (some calls are counted, but
    not kept), "bounded-spend" (a cost limit is enforced in part: the price of a model is unknown) or "nothing-ran"
    (the turns are used up, and the answer is plain text after turns in which no code was run).
    """

    kind: str
    message: str
    """One sentence that says what is so."""

    def to_dict(self) -> dict[str, str]:
        """JSON-safe form."""
        return {"kind": self.kind, "message": self.message}


class _Metadata:
    """The field `metadata`: what is a Trajectory becomes whole when it is first read.

    Whole prompts take memory quadratic in the number of turns, and few programs read them.
    """

    def __get__(self, completion: Any, owner: type) -> Any:
        if completion is None:
            return None  # what a dataclass takes as the field's default
        held = completion.__dict__["metadata"]
        if type(held) is Trajectory:
            held = completion.__dict__["metadata"] = held.whole()
        return held

    def __set__(self, completion: Any, value: Any) -> None:
        completion.__dict__["metadata"] = value


@dataclass
class RLMChatCompletion(Generic[Parsed]):
    """One answer: of a whole run, of a child, or of a plain model call.

    `execution_time` is seconds. `metadata` is the trajectory, where one was kept. `error` says why there is
    no real answer; `response` then begins with "Error:". `notices` list what differs from the request, in the
    whole tree of runs. `parsed` is the answer as the type of `answer_schema`, or as a JSON value under a JSON Schema;
    None without a schema. It is not part of to_dict(). `files` has the files that the run's own cells wrote, by name;
    to_dict() has their sizes.
    """

    root_model: str
    """The name of the model that was asked."""
    prompt: str | dict[Any, Any] | list[Any]
    """What it was asked."""
    response: str
    usage_summary: UsageSummary
    """The usage of each model, children included."""
    execution_time: float
    metadata: dict[str, Any] | None = cast("dict[str, Any] | None", _Metadata())  # noqa: RUF009  a descriptor
    error: str | None = None
    notices: list[Notice] = field(default_factory=list)
    parsed: Parsed = cast("Parsed", None)  # noqa: RUF009  evaluated once, on purpose: it is None
    files: dict[str, bytes] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form; `metadata`, `error`, `notices` and the sizes of `files` only where there are any."""
        return self._as_dict(self.metadata)

    def short_dict(self) -> dict[str, Any]:
        """As to_dict(), with a trajectory that was not read yet in its short form: see rlm_secure.turns."""
        held = self.__dict__["metadata"]
        return self._as_dict(held.short() if type(held) is Trajectory else held)

    def _as_dict(self, metadata: dict[str, Any] | None) -> dict[str, Any]:
        known: dict[str, Any] = {
            "root_model": self.root_model,
            "prompt": json_safe(self.prompt, nodes=UNBOUNDED, text=UNBOUNDED),
            "response": self.response,
            "usage_summary": self.usage_summary.to_dict(),
            "execution_time": json_safe(self.execution_time),
        }
        if metadata is not None:
            known["metadata"] = json_safe(metadata, depth=_NESTED, nodes=UNBOUNDED, text=UNBOUNDED)
        if self.error is not None:
            known["error"] = self.error
        if self.notices:
            known["notices"] = [each.to_dict() for each in self.notices]
        if self.files:
            known["files"] = {name: len(data) for name, data in self.files.items()}
        return known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_dict; a missing or null usage is no usage."""
        return cls(
            root_model=str(data.get("root_model") or ""),
            prompt=data.get("prompt", ""),
            response=data.get("response", ""),
            usage_summary=UsageSummary.from_dict(data.get("usage_summary")),
            execution_time=float(data.get("execution_time") or 0.0),
            metadata=data.get("metadata"),
            error=data.get("error"),
            notices=[Notice(str(each["kind"]), str(each["message"])) for each in data.get("notices") or ()],
        )


@dataclass
class RefusedCall(RLMChatCompletion):
    """A call that was refused before a model was asked. `prompt` says how long the prompt was, and holds none of it."""


_NO_VALUES: Final = Values()


@dataclass(init=False)
class REPLResult:
    """The result of one cell.

    `stdout` and `stderr` are what it printed, truncated; `dropped_bytes` counts what was cut off. `locals` maps the
    names of its variables to JSON values where they are small, else to a short text. `execution_time` and
    `cpu_seconds` are seconds, `peak_bytes` is the worker's peak memory, as it reports it. `rlm_calls` are the
    model calls that it made; `dropped_calls` counts those that were not kept because of limits.kept_bytes.
    `final_answer` is the answer that it gave, None when it gave none ('' is an answer), and `final_value` that
    answer as a value where it is plain data; `final_none` says that this value is None, which a text has not.
    `error` is the typed error of a cell that failed, else None.

    Of Sandbox.run also: `value` is the value of its last expression, as in a notebook, and `text` how it is shown, ''
    if the cell ended on a statement or on None. `values` has the variables, whole, and `reprs` a short text of each.
    `files` has the files that it wrote, by name (in a run as well).

    A value is plain data: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    deque, range, Counter of numbers, OrderedDict, Decimal, Fraction, UUID, date, time, datetime and timedelta, also
    inside each other, and arrives as what it was. Only a defaultdict arrives as a dict, a time zone as its offset, a
    time without its fold, and half of a surrogate pair, which no file can hold, as its escape.
    """

    stdout: str
    stderr: str
    locals: dict[str, Any]
    execution_time: float
    rlm_calls: list[RLMChatCompletion]
    final_answer: str | None
    error: CellError | None
    cpu_seconds: float
    peak_bytes: int
    dropped_bytes: int
    final_value: Any
    final_none: bool
    dropped_calls: int
    values: Values
    reprs: dict[str, str]
    text: str
    files: dict[str, bytes]

    def __init__(
        self,
        stdout: str,
        stderr: str,
        locals: dict[str, Any],  # noqa: A002  upstream's name
        execution_time: float | None = None,
        rlm_calls: list[RLMChatCompletion] | None = None,
        final_answer: str | None = None,
        *,
        error: CellError | None = None,
        cpu_seconds: float = 0.0,
        peak_bytes: int = 0,
        dropped_bytes: int = 0,
        final_value: Any = None,
        final_none: bool = False,
        dropped_calls: int = 0,
    ) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.locals = locals
        self.execution_time = execution_time or 0.0
        self.rlm_calls = rlm_calls if rlm_calls is not None else []
        self.final_answer = final_answer
        self.error = error
        self.cpu_seconds = cpu_seconds
        self.peak_bytes = peak_bytes
        self.dropped_bytes = dropped_bytes
        self.final_value = final_value
        self.final_none = final_none
        self.dropped_calls = dropped_calls
        self._value: Any = None
        self.values = _NO_VALUES
        self.reprs = {}
        self.text = ""
        self.files = {}

    def keep(self, value: Any, text: str) -> None:
        """Keep the value of the last expression, or the ValueUnavailable that says why there is none, and its text."""
        self._value, self.text = value, text

    @property
    def value(self) -> Any:
        """The value of the cell's last expression; None where there is none.

        Raises ValueTooLarge if it takes more than limits.value_bytes, or than one result holds (limits.result_bytes),
        ValueNotPlain if it is no plain data.
        """
        if isinstance(self._value, ValueUnavailable):
            raise self._value
        return self._value

    @property
    def usage(self) -> UsageSummary:
        """What the model calls of the cell used, by model."""
        totals: dict[str, ModelUsageSummary] = {}
        for call in self.rlm_calls:
            for model, used in call.usage_summary.model_usage_summaries.items():
                total = totals.setdefault(model, ModelUsageSummary())
                total.total_calls += used.total_calls
                total.total_input_tokens += used.total_input_tokens
                total.total_output_tokens += used.total_output_tokens
                if used.total_cost is not None:
                    total.total_cost = (total.total_cost or 0.0) + used.total_cost
        return UsageSummary(totals)

    @property
    def cost_usd(self) -> float | None:
        """US dollars that the model calls of the cell cost, as far as they are known; None if none is."""
        return self.usage.total_cost

    def check(self) -> Self:
        """Return the result itself when the cell succeeded. Raises `error`, a CellError, when it failed."""
        if self.error is not None:
            raise self.error
        return self

    def __str__(self) -> str:
        # Upstream's form, with escapes where a cell printed control characters: str() of it is safe to print.
        return (
            f"REPLResult(stdout={_escaped(self.stdout)}, stderr={_escaped(self.stderr)}, locals={self.locals!r}, "
            f"execution_time={self.execution_time}, rlm_calls={len(self.rlm_calls)}, "
            f"final_answer={self.final_answer!r})"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form with upstream's six keys, and `error`, `dropped_calls`, `value` and `values` if there are any.

        Files are shown by name, with their sizes in bytes. Values are written with tags ({"$set": [...]}), which are
        listed in rlm_secure/tagged.py; one that could not be returned is {"$too_large": BYTES} or {"$no_data": CLASS}.
        """
        return self.own_dict() | {"rlm_calls": [call.to_dict() for call in self.rlm_calls]}

    def own_dict(self) -> dict[str, Any]:
        """As to_dict(), without the model calls: `rlm_calls` is empty."""
        known: dict[str, Any] = {
            "stdout": self.stdout,
            "stderr": self.stderr,
            "locals": json_safe(self.locals),
            "execution_time": json_safe(self.execution_time),
            "rlm_calls": [],
            "final_answer": self.final_answer,
        }
        if self.error is not None:
            known["error"] = {
                "type": type(self.error).__name__,
                "message": str(self.error),
                "limit": self.error.limit,
                "wall": self.error.wall,
                "rule": self.error.rule,
            }
        if self.dropped_calls:
            known["dropped_calls"] = self.dropped_calls
        if self.text:
            known["value"], known["text"] = _tagged(self._value), self.text
        if self.files:
            known["files"] = {name: len(data) for name, data in self.files.items()}
        if self.values or self.values.refused:
            every = {**self.values, **self.values.refused}
            known["values"] = {name: _tagged(value) for name, value in every.items()}
        return known


def _tagged(value: Any) -> Any:
    if isinstance(value, ValueTooLarge):
        return {"$too_large": value.size}
    return {"$no_data": value.type} if isinstance(value, ValueNotPlain) else tag(value)


def _escaped(text: str) -> str:
    return repr(text)[1:-1]


@dataclass(frozen=True, slots=True)
class CodeFinding:
    """One thing for which code goes back to the model that wrote it, unrun: see REPL.check_code.

    `message` is one sentence that the model can act on. `line` is 1-based, 0 where the whole code is meant.
    """

    reason: CodeFindingReason
    message: str
    line: int = 0


@dataclass
class CodeBlock:
    """One cell and its result."""

    code: str
    """The text of the cell."""
    result: REPLResult
    """What came of it."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        return {"code": self.code, "result": self.result.to_dict()}


@dataclass
class Action:
    """One tool call, or one check, of an agent's turn: its `input` as JSON-safe data, and what came of it as text.

    `error` is what the model is told of its failure; None where it succeeded.
    """

    name: str
    """The tool or the check."""
    input: Any
    output: str
    """What came of it, as the model reads it."""
    error: str | None = None
    seconds: float = 0.0
    """How long it took."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form; `error` only where there is one."""
        known = {
            "name": self.name,
            "input": json_safe(self.input, nodes=UNBOUNDED, text=UNBOUNDED),
            "output": self.output,
            "seconds": json_safe(self.seconds),
        }
        return known if self.error is None else {**known, "error": self.error}


@dataclass
class RLMIteration:
    """One turn: the messages that the model saw, its reply, its cells, and the answer if there was one.

    `label` and `actions` are those of agents: what the turn is for, and its tool calls and checks.
    """

    prompt: str | dict[Any, Any] | list[Any]
    """The messages that the model saw."""
    response: str
    """Its reply, as text."""
    code_blocks: list[CodeBlock]
    """The cells of the reply, in order."""
    final_answer: str | None = None
    """The answer, or None where the run goes on."""
    iteration_time: float | None = None
    """Seconds that the turn took."""
    label: str | None = None
    actions: list[Action] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form; `final_answer` is null where there is none, `label` and `actions` are absent."""
        known: dict[str, Any] = {
            "prompt": json_safe(self.prompt, nodes=UNBOUNDED, text=UNBOUNDED),
            "response": self.response,
            "code_blocks": [block.to_dict() for block in self.code_blocks],
            "final_answer": self.final_answer,
            "iteration_time": json_safe(self.iteration_time),
        }
        if self.label is not None:
            known["label"] = self.label
        if self.actions:
            known["actions"] = [each.to_dict() for each in self.actions]
        return known


class AskedIteration(RLMIteration):
    """A turn whose prompt is a list only from its first reader on; until then `asked` are the run's own messages."""

    asked: Messages | list[Any]

    def __init__(self, asked: Messages, *arguments: Any, **named: Any) -> None:
        super().__init__(asked, *arguments, **named)  # type: ignore[arg-type]  # `prompt` makes a list of them

    @property
    def prompt(self) -> Any:
        """The prompt, as upstream has it."""
        if isinstance(self.asked, Messages):
            self.asked = list(self.asked)
        return self.asked

    @prompt.setter
    def prompt(self, asked: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]  # it is set, too
        self.asked = asked


@dataclass
class RLMMetadata:
    """How a run is configured. Credentials are masked when it is written (logger.redact)."""

    root_model: str
    """The name of the model of the run itself."""
    max_depth: int
    """How deep children may be nested."""
    max_iterations: int
    """How many turns a run may have."""
    backend: str
    """The client's name."""
    backend_kwargs: dict[str, Any]
    """The client's arguments."""
    environment_type: str
    """Where cells run, by the name of the environment."""
    environment_kwargs: dict[str, Any]
    """The environment's arguments."""
    other_backends: list[str] | None = None
    """The clients that cells and children may use besides."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form."""
        return {
            "root_model": self.root_model,
            "max_depth": self.max_depth,
            "max_iterations": self.max_iterations,
            "backend": self.backend,
            "backend_kwargs": json_safe(self.backend_kwargs),
            "environment_type": self.environment_type,
            "environment_kwargs": json_safe(self.environment_kwargs),
            "other_backends": json_safe(self.other_backends),
        }


@dataclass(init=False)
class QueryMetadata:
    """What the model is told about a payload: its type, and how many characters it and its chunks have."""

    context_lengths: list[int]
    context_total_length: int
    context_type: str

    def __init__(self, prompt: Payload) -> None:
        """Raises ValueError for a payload that is no str, dict or list."""
        if isinstance(prompt, str):
            self.context_type = "str"
            self.context_lengths = [len(prompt)]
        elif isinstance(prompt, Mapping):
            self.context_type = "dict"
            self.context_lengths = [_length(chunk) for chunk in prompt.values()]
        elif isinstance(prompt, list):
            self.context_type = "list"
            self.context_lengths = [_length(_content(chunk)) for chunk in prompt] or [0]
        else:
            raise ValueError(f"Invalid prompt type: {type(prompt)}")  # noqa: TRY004  upstream's type
        self.context_total_length = sum(self.context_lengths)


def _content(chunk: Any) -> Any:
    """A chat message counts by its text, anything else as a whole."""
    return chunk["content"] if isinstance(chunk, Mapping) and "content" in chunk else chunk


def _length(chunk: Any) -> int:
    """Characters of one chunk: of its text, or of its JSON."""
    if isinstance(chunk, str):
        return len(chunk)
    try:
        return len(json.dumps(chunk, default=_label))
    except (TypeError, ValueError, RecursionError):
        return len(json.dumps(json_safe(chunk, nodes=UNBOUNDED, text=UNBOUNDED)))
