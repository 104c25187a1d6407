"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the walls.

A host function is a hole of the user's making, so it is a narrow one: JSON arguments checked against its
signature, a JSON result, a time and a size for both, and failures that tell the cell nothing of the host.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from rlm_secure.clients.base import InThread, in_thread
from rlm_secure.environments.interface import CallFailed

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

#: Bytes of a tool's arguments or result, as JSON, where nothing else is said.
DEFAULT_BYTES: Final = 4 * 1024 * 1024


class ToolError(Exception):
    """Raise it in a tool to tell the cell something: its text, unlike that of any other exception, crosses the wall."""


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
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()) or name.startswith("_"):
            raise ValueError(f"{name!r} cannot be a tool's name; take an identifier without a leading underscore")


class HostTool:
    """One host function with the JSON types of its parameters.

    Raises ValueError when a required parameter has a type that no JSON value can become.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None  # a builtin that does not say; it checks its arguments itself
        hints = _hints(function)
        self._parameters: dict[str, TypeAdapter[Any] | None] = {}
        for parameter in self.signature.parameters.values() if self.signature else ():
            self._parameters[parameter.name] = self._adapter(parameter, hints.get(parameter.name, Any))
        returns = hints.get("return", Any)
        self._returns = None if returns is Any else _adapter_or_none(returns)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, for prompts and for programs."""
        shown = {name: adapter for name, adapter in self._parameters.items() if adapter is not None}
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

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """JSON values as what the function declares. Raises CallFailed that says which argument is wrong."""
        if self.signature is None:
            return list(args), dict(kwargs)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise CallFailed(f"{self.name}{self._shape()}: {error}") from None
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(self._checked(name, each) for each in value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: self._checked(name, each) for key, each in value.items()}
            else:
                bound.arguments[name] = self._checked(name, value)
        return list(bound.args), dict(bound.kwargs)

    def result(self, value: Any, limit: int) -> Any:
        """The function's result as a plain JSON value. Raises CallFailed for one that is none, or too large."""
        try:
            if self._returns is not None:
                value = self._returns.validate_python(value)
                value = self._returns.dump_python(value, mode="json")
            else:
                value = to_jsonable_python(value)
            text = json.dumps(value, allow_nan=False)
        except ValidationError:
            raise CallFailed(f"{self.name} returned a value of another type than it declares") from None
        except (PydanticSerializationError, TypeError, ValueError, RecursionError):
            raise CallFailed(f"{self.name} returned a value that JSON cannot hold") from None
        if len(text) > limit:
            raise CallFailed(f"{self.name} returned {len(text)} bytes; the limit is {limit}, ask for less")
        return json.loads(text)

    def _adapter(self, parameter: inspect.Parameter, hint: Any) -> TypeAdapter[Any] | None:
        adapter = _adapter_or_none(hint)
        if adapter is None and parameter.default is inspect.Parameter.empty:
            raise ValueError(
                f"tool {self.name!r}: no JSON value can become parameter {parameter.name!r} ({hint!r}); "
                "give it a JSON type, a pydantic model, or a default"
            )
        return adapter

    def _checked(self, name: str, value: Any) -> Any:
        adapter = self._parameters[name]
        if adapter is None:
            raise CallFailed(f"{self.name}: {name} cannot be given from a cell; leave it out")
        try:
            return adapter.validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = "".join(f"[{part!r}]" for part in first["loc"])
            raise CallFailed(f"{self.name}: {name}{path}: {first['msg']}") from None

    def _shape(self) -> str:
        """Its parameters' names, without defaults: a default may be a secret."""
        names = self.signature.parameters if self.signature else ()
        return f"({', '.join(names)})"


class Toolbox:
    """The host functions of one run. `limit` is bytes of JSON for arguments and for results, each."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], *, limit: int = DEFAULT_BYTES) -> None:
        self._tools = {name: HostTool(name, function) for name, function in functions.items()}
        self._limit = limit

    def __getitem__(self, name: str) -> HostTool:
        return self._tools[name]

    async def acall(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], seconds: float) -> Any:
        """Call one tool in a thread of its own, for at most `seconds`. Raises CallFailed for every failure."""
        tool = self._tools.get(name)
        if tool is None:
            raise CallFailed(f"there is no tool {name!r}; the tools are: {', '.join(sorted(self._tools)) or 'none'}")
        size = len(json.dumps([list(args), dict(kwargs)]))
        if size > self._limit:
            raise CallFailed(f"{name} was given {size} bytes; the limit is {self._limit}, pass less")
        positional, named = tool.arguments(args, kwargs)
        try:
            async with asyncio.timeout(seconds) as limit:
                value = await in_thread(lambda: _run(tool.function, positional, named))
        except TimeoutError:
            ended = f"did not return within {seconds:g} seconds" if limit.expired() else "failed: TimeoutError"
            raise CallFailed(f"{name} {ended}") from None
        except (ToolError, CallFailed) as told:
            raise CallFailed(f"{name}: {told}") from None
        except InThread:
            raise
        except Exception as error:  # noqa: BLE001  a host exception's text may hold paths and secrets
            raise CallFailed(f"{name} failed: {type(error).__name__}") from None
        return tool.result(value, self._limit)


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call `function` to its end, with an event loop of its own where it is a coroutine function."""
    value = function(*args, **kwargs)
    if inspect.iscoroutine(value):
        return asyncio.run(value)
    return value


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
