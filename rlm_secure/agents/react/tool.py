"""Tools of a ReAct agent: host functions, with what the model is told of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.checks import JSONSchema, OutOfSteps, Steps
from rlm_secure.clients.tool_calls import ToolSpec
from rlm_secure.policy import Gate
from rlm_secure.tools import HostTool, described

#: The types that `parameters` may name, and the JSON Schema of each.
_TYPES: Final[dict[str, dict[str, Any]]] = {
    "any": {},
    "string": {"type": "string"},
    "str": {"type": "string"},
    "number": {"type": "number"},
    "float": {"type": "number"},
    "integer": {"type": "integer"},
    "int": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "array": {"type": "array"},
    "list": {"type": "array"},
    "object": {"type": "object"},
    "dict": {"type": "object"},
}


class FinalAnswerCalled(Exception):
    """The model called `final_answer`: the run is over, with `answer` (any JSON value)."""

    def __init__(self, answer: Any) -> None:
        super().__init__(f"Final answer: {answer}")
        self.answer = answer

    def __reduce__(self) -> tuple[type[FinalAnswerCalled], tuple[Any], dict[str, Any]]:
        return type(self), (self.answer,), dict(self.__dict__)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: `function(**arguments)` with JSON values, called in the host's process.

    `name` and `description` are by default the function's own name and the first paragraph of its docstring.
    `parameters` adds what the model is told of them, and checks, beside the function's own annotations:
    `{"city": {"type": "string", "description": "..."}}`; the types are any, string, number, integer, boolean, array and
    object, or a whole JSON Schema under "schema".
    """

    function: Callable[..., Any]
    name: str = ""
    description: str = ""
    parameters: Mapping[str, Mapping[str, Any]] | None = None

    @classmethod
    def of(cls, given: Any, name: str = "") -> Tool:
        """A tool of a function, of a Tool, or of upstream's `{"tool": function, "description": text}`."""
        value, said = described(given)
        if isinstance(value, Tool):
            return value
        if not callable(value):
            raise TypeError(f"a tool is a {type(value).__name__}; give a function, or a Tool")
        return cls(value, name, said or "")


class CheckedTool:
    """A Tool with all its parts, whose arguments are checked before each call.

    Raises ValueError for a name that no tool can have, a parameter that the function does not take, and a type that no
    JSON value can have.
    """

    def __init__(self, tool: Tool) -> None:
        function = tool.function
        self.name = tool.name or str(getattr(function, "__name__", type(function).__name__))
        if not Gate.tool_name(self.name).allowed:
            raise ValueError(f"{self.name!r} cannot be a tool's name; give it one: Tool(function, name='search_notes')")
        self.function = function
        self._host = HostTool(self.name, function)
        self.description = tool.description or _first_paragraph(function)
        self._checks = {name: _check(self.name, name, told) for name, told in (tool.parameters or {}).items()}
        self._told = dict(tool.parameters or {})
        signature = self._host.signature
        if signature is not None and not any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
            for name in self._told:
                if name not in signature.parameters:
                    raise ValueError(f"tool {self.name!r} takes no parameter {name!r}; leave it out of parameters")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments: from the signature, with what `parameters` says of each."""
        schema = self._host.schema
        properties = dict(schema["properties"])
        for name, check in self._checks.items():
            known = {key: value for key, value in properties.get(name, {}).items() if key == "default"}
            properties[name] = {**known, **(check.schema or properties.get(name, {}))}
            if text := self._told[name].get("description"):
                properties[name]["description"] = str(text)
        return {**schema, "properties": properties}

    @property
    def spec(self) -> ToolSpec:
        """What a provider's native tool calls are told."""
        return ToolSpec(self.name, self.description, self.schema)

    def bound(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function takes them. Raises a ValueError that says which is wrong."""
        return self._host.arguments((), arguments, Steps.of(len(json.dumps(dict(arguments)))))

    def mistake(self, arguments: Mapping[str, Any], steps: Steps) -> str | None:
        """What `parameters` has against the arguments, as a sentence; the function's own annotations come later."""
        for name, value in arguments.items():
            check = self._checks.get(name)
            try:
                problem = None if check is None else check.mismatch(value, steps)
            except OutOfSteps:
                return f"{self.name}: {name} is too large or nested too deep to be checked; pass less"
            if problem is not None:
                return f"{self.name}: {problem.of(name)}"
        return None


def final_answer(answer: Any) -> None:
    """Give the final answer and end the run."""
    raise FinalAnswerCalled(answer)


def checked(tools: Iterable[Any] | Mapping[str, Any], reserved: Iterable[str]) -> dict[str, CheckedTool]:
    """The tools by name. Raises ValueError for two of one name, and for a name in `reserved`."""
    given = [(name, each) for name, each in tools.items()] if isinstance(tools, Mapping) else [("", t) for t in tools]
    found: dict[str, CheckedTool] = {}
    for name, each in given:
        tool = CheckedTool(Tool.of(each, name))
        if tool.name in reserved:
            raise ValueError(f"{tool.name!r} is the agent's own tool, and is there already; name yours otherwise")
        if tool.name in found:
            raise ValueError(f"two tools are called {tool.name!r}; name one otherwise")
        found[tool.name] = tool
    return found


def _check(tool: str, name: str, told: Mapping[str, Any]) -> JSONSchema:
    kind = told.get("schema", told.get("type", "any"))
    schema = kind if isinstance(kind, Mapping) else _TYPES.get(str(kind))
    if schema is None:
        known = "any, string, number, integer, boolean, array, object"
        raise ValueError(f"tool {tool!r}: parameter {name!r} has the type {kind!r}; there are {known}")
    return JSONSchema(schema, f"tool {tool!r}: the schema of {name!r}")


def _first_paragraph(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) or ""
    return " ".join(text.partition("\n\n")[0].split())
