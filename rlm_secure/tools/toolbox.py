"""The host functions that cells may call.

A host function is an opening that the user makes in the sandbox, so it is kept narrow: JSON arguments validated
against its signature, a JSON result, limits of time and size, and errors that reveal nothing about the host.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from rlm_secure.checks import OutOfSteps, Steps, Typed
from rlm_secure.checks.typed import first_mistake
from rlm_secure.errors import CallFailed, CallRefused
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy
from rlm_secure.tools.hostcall import on_abandon
from rlm_secure.tools.plain import NoJSON, TooLong, class_name, plain

_NO_TYPE = (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError)

#: Most characters of an exception's text that a cell is given.
_TOLD: Final = 4_000


class ToolError(Exception):
    """Raise it in a tool to send a message to the cell: the text of any other exception is withheld."""


class HostTool:
    """One host function with the JSON types of its parameters.

    Raises ValueError when no JSON value can be converted to the type of a required parameter, and for a type with a
    regular expression that takes more than linear time.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None  # a builtin without a signature; it checks its arguments itself
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
        """Convert JSON values to the declared types. Raises a ValueError that says which argument is wrong.

        `steps` limits all the checks together; the default is the number of steps for the largest values.
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
        """The function's result as JSON text. Raises NoJSON, and TooLong if it is larger than about `limit` bytes."""
        if isinstance(value, Iterator):
            raise NoJSON("an iterator, which may never end; return a list")
        if self._returns is not None:
            try:
                value = self._returns.dump_python(self._returns.validate_python(value), mode="json")
            except ValidationError:
                raise NoJSON("a value of another type than it declares") from None
        return json.dumps(plain(value, limit), allow_nan=False)

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
        """The names of its parameters, without defaults: a default may be a secret."""
        names = self.signature.parameters if self.signature else ()
        return f"({', '.join(names)})"


class Toolbox:
    """The host functions that the cells of one session may call, in any environment.

    A function may be a coroutine function. Whatever it returns or raises, a call returns a JSON value or raises
    CallFailed; only exceptions of the classes in `through` pass as they are.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        policy: Policy,
        *,
        through: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._tools = {name: HostTool(name, function) for name, function in functions.items()}
        self._gate = Gate(policy, tools=frozenset(self._tools))
        self._limit = policy.lm.reply_bytes
        self._through = through

    def __getitem__(self, name: str) -> HostTool:
        return self._tools[name]

    def call(self, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call one tool in this thread. Raises CallRefused if the policy refuses the call, CallFailed if it fails."""
        self._gate.tool(name).require(CallRefused)
        tool = self._tools[str(name)]
        try:
            positional, named = self._arguments(tool, args, kwargs)
            return self._result(tool, _run(tool.function, positional, named))
        except self._through:
            raise
        except (ToolError, CallFailed) as told:
            if isinstance(told, CallRefused):
                raise
            text = _text(told)
            said = f" failed: {class_name(told)}" if text is None else f": {text}"
            raise CallFailed(f"{tool.name}{said}") from None
        except BaseException as error:  # noqa: BLE001 - any error of the tool; its SystemExit must end nothing either
            # The text of a host exception may contain paths and secrets.
            raise CallFailed(f"{tool.name} failed: {class_name(error)}") from None

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
        except TooLong as error:
            size = error.args[0]
        except NoJSON as error:
            problem = str(error)
        except Exception:  # noqa: BLE001 - methods of the value: hooks, descriptors, an __iter__
            problem = "a value that JSON cannot hold"
        self._gate.tool_result(tool.name, size, problem).require(CallRefused)
        return json.loads(text)


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call `function` to completion; if it returns an awaitable, run that in a new event loop."""
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


def _text(error: BaseException) -> str | None:
    """The text of an exception, encodable as UTF-8; None if its `__str__` fails."""
    try:
        said = str(error)
        return said[:_TOLD].encode("utf-8", "replace").decode("utf-8")
    except Exception:  # noqa: BLE001 - its __str__ is the tool's
        return None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a function or of an object's `__call__`; empty if they cannot be resolved."""
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
