"""One host function that cells may call, with the JSON types of its parameters and of its result."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from rlm_secure.checks import OutOfSteps, Steps, Typed
from rlm_secure.checks.typed import first_mistake
from rlm_secure.tools.plain import NoJSON, plain

_NO_TYPE = (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError)


class HostTool:
    """One host function with the JSON types of its parameters. `signature` is None for a builtin that has none.

    Raises ValueError when no JSON value can be converted to the type of a required parameter, and for a type with a
    regular expression that takes more than linear time.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        """Its name in cells."""
        self.function = function
        """The host's function."""
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
