"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the walls.

A host function is a hole of the user's making, so it is a narrow one: JSON arguments checked against its
signature, a JSON result, a time and a size for both, and failures that tell the cell nothing of the host.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import typing
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from rlm_secure.checks import OutOfSteps, Steps, Typed
from rlm_secure.checks.typed import first_mistake
from rlm_secure.errors import CallFailed, CallRefused
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy
from rlm_secure.tools.hostcall import on_abandon

#: Names of the REPL that no tool may take: upstream's, and ours.
RESERVED_TOOL_NAMES: Final = frozenset(
    {
        "llm_query",
        "llm_query_batched",
        "rlm_query",
        "rlm_query_batched",
        "SHOW_VARS",
        "answer",
        "context",
        "history",
        "FINAL",
        "FINAL_VAR",
        "final_answer",
        "print",
    }
)

_NUMBERED = re.compile(r"(context|history)_\d+")
_NO_TYPE = (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError)

#: Levels of lists and dicts in a result: as many as a frame from a guest may have.
_DEPTH: Final = 64
#: Bits of an integer in a result: somewhat below the 4,300 digits that Python reads and writes as text.
_BITS: Final = 14_000
#: Characters of what a tool tells a cell by an exception.
_TOLD: Final = 4_000


class ToolError(Exception):
    """Raise it in a tool to tell the cell something: its text, unlike that of any other exception, crosses the wall."""


class _NoJSON(Exception):
    """What a tool returned cannot be held by JSON, for the reason in the message."""


class _TooLong(Exception):
    """What a tool returned is longer than a cell may be told."""


@dataclass
class ToolInfo:
    """One custom tool: a value, or a function, and what the model is told about it."""

    name: str
    value: Any
    description: str | None = None

    @property
    def is_callable(self) -> bool:
        """Whether cells call it, and the host answers."""
        return callable(self.value)

    @property
    def is_code(self) -> bool:
        """Whether it is source text that defines a function or class of its own name.

        Only that is code. Prose with a newline in it stays data.
        """
        if not isinstance(self.value, str):
            return False
        defines = rf"^(?:async\s+def|def|class)\s+{re.escape(self.name)}\b"
        return bool(re.search(defines, self.value, re.MULTILINE)) or self.value.lstrip().startswith("lambda ")

    @property
    def source(self) -> str:
        """The code to run inside the walls, for `is_code`."""
        text = str(self.value)
        return f"{self.name} = {text.strip()}" if text.lstrip().startswith("lambda ") else text


def parse_custom_tools(custom_tools: Mapping[str, Any] | None) -> dict[str, ToolInfo]:
    """Read upstream's two forms: `{"name": value}` and `{"name": {"tool": value, "description": str}}`.

    Raises ValueError for a name that is reserved or no identifier, and for a description that is no text.
    """
    validate_custom_tools(custom_tools)
    tools: dict[str, ToolInfo] = {}
    for name, entry in (custom_tools or {}).items():
        if isinstance(entry, ToolInfo):
            tools[name] = ToolInfo(name, entry.value, entry.description)
        elif isinstance(entry, Mapping) and "tool" in entry:
            description = entry.get("description")
            if description is not None and not isinstance(description, str):
                raise ValueError(f"the description of tool {name!r} is a {type(description).__name__}, not text")
            tools[name] = ToolInfo(name, entry["tool"], description)
        else:
            tools[name] = ToolInfo(name, entry)
    return tools


def validate_custom_tools(custom_tools: Mapping[str, Any] | None) -> None:
    """Raise ValueError for names that belong to the REPL or that no cell could write."""
    names = list(custom_tools or {})
    reserved = sorted(name for name in names if name in RESERVED_TOOL_NAMES or _NUMBERED.fullmatch(str(name)))
    if reserved:
        raise ValueError(
            f"Custom tools cannot override reserved REPL functions: {reserved}. "
            f"Reserved names: {sorted(RESERVED_TOOL_NAMES)}"
        )
    for name in names:
        if not Gate.tool_name(name).allowed:
            raise ValueError(f"{name!r} cannot be a tool's name; take an identifier without a leading underscore")


class HostTool:
    """One host function with the JSON types of its parameters.

    Raises ValueError when a required parameter has a type that no JSON value can become, and for a type with a
    regular expression that takes more than linear time.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None  # a builtin that does not say; it checks its arguments itself
        hints = _hints(function)
        self._parameters: dict[str, Typed | None] = {}
        for parameter in self.signature.parameters.values() if self.signature else ():
            self._parameters[parameter.name] = self._adapter(parameter, hints.get(parameter.name, Any))
        returns = hints.get("return", Any)
        self._returns = None if returns is Any else _adapter_or_none(returns)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, for prompts and for programs."""
        shown = {name: each.adapter for name, each in self._parameters.items() if each is not None}
        schemas, shared = TypeAdapter.json_schemas([(name, "validation", each) for name, each in shown.items()])
        parameters = self.signature.parameters if self.signature else {}
        required = [
            name
            for name in shown
            if parameters[name].default is inspect.Parameter.empty
            and parameters[name].kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        ]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: schemas[(name, "validation")] for name in shown},
            "required": required,
            "additionalProperties": any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()),
        }
        return schema | ({"$defs": shared["$defs"]} if "$defs" in shared else {})

    def arguments(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], steps: Steps | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """JSON values as what the function declares. Raises ValueError that says which argument is wrong.

        `steps` are what all the checks together may take; without it, as many as those of the largest values.
        """
        steps = steps or Steps()
        if self.signature is None:
            return list(args), dict(kwargs)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ValueError(f"{self.name}{self._shape()}: {error}") from None
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(self._checked(name, each, steps) for each in value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: self._checked(name, each, steps) for key, each in value.items()}
            else:
                bound.arguments[name] = self._checked(name, value, steps)
        return list(bound.args), dict(bound.kwargs)

    def result(self, value: Any, limit: int) -> str:
        """The function's result as JSON text. Raises _NoJSON, and _TooLong where it is longer than `limit` bytes."""
        if isinstance(value, Iterator):
            raise _NoJSON("an iterator, which may never end; return a list")
        if self._returns is not None:
            try:
                value = self._returns.dump_python(self._returns.validate_python(value), mode="json")
            except ValidationError:
                raise _NoJSON("a value of another type than it declares") from None
        return json.dumps(_Plain(limit).of(value, _DEPTH), allow_nan=False)

    def _adapter(self, parameter: inspect.Parameter, hint: Any) -> Typed | None:
        adapter = _adapter_or_none(hint)
        if adapter is None and parameter.default is inspect.Parameter.empty:
            raise ValueError(
                f"tool {self.name!r}: no JSON value can become parameter {parameter.name!r} ({hint!r}); "
                "give it a JSON type, a pydantic model, or a default"
            )
        try:
            return None if adapter is None else Typed(adapter)
        except ValueError as error:
            raise ValueError(f"tool {self.name!r}: parameter {parameter.name!r}: {error}") from None

    def _checked(self, name: str, value: Any, steps: Steps) -> Any:
        typed = self._parameters[name]
        if typed is None:
            raise ValueError(f"{self.name}: {name} cannot be given from a cell; leave it out")
        try:
            return typed.read(value, steps)
        except OutOfSteps:
            raise ValueError(f"{self.name}: {name} is too large or nested too deep to be checked; pass less") from None
        except ValidationError as error:
            where, what = first_mistake(error)
            path = "".join(f"[{part!r}]" for part in where)
            raise ValueError(f"{self.name}: {name}{path}: {what}") from None

    def _shape(self) -> str:
        """Its parameters' names, without defaults: a default may be a secret."""
        names = self.signature.parameters if self.signature else ()
        return f"({', '.join(names)})"


class Toolbox:
    """The host functions that the cells of one session may call, whatever serves the session.

    A function may be a coroutine function. Whatever it returns or raises, a call ends with a JSON value or CallFailed.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], policy: Policy) -> None:
        self._tools = {name: HostTool(name, function) for name, function in functions.items()}
        self._gate = Gate(policy, tools=frozenset(self._tools))
        self._limit = policy.lm.reply_bytes

    def __getitem__(self, name: str) -> HostTool:
        return self._tools[name]

    def call(self, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call one tool, in this thread. Raises CallRefused for what the policy refuses, else CallFailed."""
        self._gate.tool(name).require(CallRefused)
        tool = self._tools[str(name)]
        try:
            positional, named = self._arguments(tool, args, kwargs)
            return self._result(tool, _run(tool.function, positional, named))
        except (ToolError, CallFailed) as told:
            if isinstance(told, CallRefused):
                raise
            text = _text(told)
            raise CallFailed(f"{tool.name} failed: {_kind(told)}" if text is None else f"{tool.name}: {text}") from None
        except BaseException as error:  # noqa: BLE001 - of the tool; SystemExit in its thread ends nothing either
            # The text of an exception of the host's may hold paths and secrets.
            raise CallFailed(f"{tool.name} failed: {_kind(error)}") from None

    def _arguments(
        self, tool: HostTool, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        size = len(json.dumps([list(args), dict(kwargs)]))
        self._gate.tool_arguments(tool.name, size, None).require(CallRefused)
        try:
            return tool.arguments(args, kwargs, Steps.of(size))
        except ValueError as error:
            self._gate.tool_arguments(tool.name, size, _text(error) or "the arguments are wrong").require(CallRefused)
            raise

    def _result(self, tool: HostTool, value: Any) -> Any:
        text, size, problem = "null", 0, None
        try:
            text = tool.result(value, self._limit)
            size = len(text)
        except _TooLong as error:
            size = error.args[0]
        except _NoJSON as error:
            problem = str(error)
        except Exception:  # noqa: BLE001 - methods of the value: hooks, descriptors, an __iter__
            problem = "a value that JSON cannot hold"
        self._gate.tool_result(tool.name, size, problem).require(CallRefused)
        return json.loads(text)


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call `function` to its end, with an event loop of its own where it returns an awaitable."""
    value = function(*args, **kwargs)
    if not inspect.isawaitable(value):
        return value
    import asyncio  # most tools are plain functions, and most sandboxes have none

    async def finished(awaitable: Awaitable[Any]) -> Any:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        if on_abandon(lambda: loop.call_soon_threadsafe(task.cancel)):
            raise asyncio.CancelledError
        return await awaitable

    return asyncio.run(finished(value))


class _Plain:
    """Turns what a tool returned into exact JSON types, without running what may never end. `limit` is bytes."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._limit = limit
        self._open: set[int] = set()

    def of(self, value: Any, depth: int) -> Any:
        """`value` in plain types. Raises _NoJSON, _TooLong, or what methods of the value raise."""
        self._take(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, Enum):
            return self.of(value.value, depth)
        if issubclass(kind, str):
            self._take(str.__len__(value))
            return _encodable(str.__str__(value))
        if issubclass(kind, int):
            return _bounded(int.__int__(value))
        if issubclass(kind, float):
            return _finite(float.__float__(value))
        if issubclass(kind, _LEAVES):
            return self.of(to_jsonable_python(value), 0)
        if depth == 0:
            raise _NoJSON(f"lists or dicts nested deeper than {_DEPTH}")
        if id(value) in self._open:
            raise _NoJSON("a value that contains itself, which JSON cannot hold")
        self._open.add(id(value))
        try:
            return self._container(kind, value, depth - 1)
        finally:
            self._open.discard(id(value))

    def _container(self, kind: type, value: Any, depth: int) -> Any:
        if issubclass(kind, dict):
            plain: dict[str, Any] = {}
            for key, item in dict.items(value):
                name = self._key(key)
                if name in plain:
                    raise _NoJSON("a dict with two keys of one name")
                plain[name] = self.of(item, depth)
            return plain
        for base in _LISTS:
            if issubclass(kind, base):
                return [self.of(item, depth) for item in base.__iter__(value)]
        if issubclass(kind, BaseModel):
            return self._container(dict, value.model_dump(mode="python"), depth)
        if dataclasses.is_dataclass(kind):
            return {field.name: self.of(getattr(value, field.name), depth) for field in dataclasses.fields(kind)}
        raise _NoJSON(f"a {_kind(value)}, which JSON cannot hold")

    def _key(self, key: Any) -> str:
        plain = self.of(key, 0)
        return plain if isinstance(plain, str) else json.dumps(plain)

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _TooLong(self._limit - self._left)


#: Classes of which pydantic knows a text or a number.
_LEAVES: Final = (date, time, timedelta, Decimal, UUID, PurePath)
_LISTS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, deque)


def _bounded(number: int) -> int:
    if number.bit_length() > _BITS:
        raise _NoJSON(f"an integer of {number.bit_length():,} bits; return it as text, or in parts")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise _NoJSON(f"{number}, which JSON cannot hold; return None or text in its place")
    return number


def _encodable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _NoJSON("text with a lone surrogate, which is no character; encode what is no text") from None
    return text


def _kind(value: object) -> str:
    """The name of a value's class, without asking its metaclass."""
    return ascii(type.__dict__["__name__"].__get__(type(value))[:80])[1:-1]


def _text(error: BaseException) -> str | None:
    """What an exception says, as text that encodes; None where it says nothing that does."""
    try:
        said = str(error)
        return said[:_TOLD].encode("utf-8", "replace").decode("utf-8")
    except Exception:  # noqa: BLE001 - its __str__ is the tool's
        return None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a function or of an object's `__call__`; none where they cannot be resolved."""
    for target in (function, getattr(function, "__call__", None)):  # noqa: B004  the method is what is wanted
        try:
            hints = typing.get_type_hints(target, include_extras=True)
        except _NO_TYPE:
            continue
        if hints:
            return hints
    return {}


def _adapter_or_none(hint: Any) -> TypeAdapter[Any] | None:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
        adapter.json_schema()
    except _NO_TYPE:
        return None
    return adapter
