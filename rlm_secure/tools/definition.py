"""The definition of a custom tool: a name, a value or a function, and its description for the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.policy.gate import Gate

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
"""Names of the REPL that no tool may take: upstream's, and ours."""

_NUMBERED = re.compile(r"(context|history)_\d+")


@dataclass
class ToolInfo:
    """One custom tool: a value or a function, and its description for the model."""

    name: str
    """Its name in cells."""
    value: Any
    """The value or the function."""
    description: str | None = None
    """What the model is told of it; None for nothing."""

    @property
    def is_callable(self) -> bool:
        """Whether it is a host function that cells call."""
        return callable(self.value)

    @property
    def is_code(self) -> bool:
        """Whether it is source text that defines a function or class with the tool's name, or a lambda.

        Any other text is data, even with newlines in it.
        """
        if not isinstance(self.value, str):
            return False
        defines = rf"^(?:async\s+def|def|class)\s+{re.escape(self.name)}\b"
        return bool(re.search(defines, self.value, re.MULTILINE)) or self.value.lstrip().startswith("lambda ")

    @property
    def source(self) -> str:
        """The code to run inside the sandbox, for `is_code`."""
        text = str(self.value)
        return f"{self.name} = {text.strip()}" if text.lstrip().startswith("lambda ") else text


def parse_custom_tools(custom_tools: Mapping[str, Any] | None) -> dict[str, ToolInfo]:
    """Parse upstream's two forms: `{"name": value}` and `{"name": {"tool": value, "description": str}}`.

    Raises ValueError for a name that is reserved or not an identifier, and for a description that is not a str.
    """
    validate_custom_tools(custom_tools)
    return {name: _info(name, entry) for name, entry in (custom_tools or {}).items()}


def described(entry: Any) -> tuple[Any, Any]:
    """The value and the description, unchecked, of one entry of custom tools: either form, or a ToolInfo."""
    if isinstance(entry, ToolInfo):
        return entry.value, entry.description
    if isinstance(entry, Mapping) and "tool" in entry:
        return entry["tool"], entry.get("description")
    return entry, None


def extract_tool_value(entry: Any) -> Any:
    """The value of one entry of custom tools: either form, or a ToolInfo."""
    return described(entry)[0]


def _info(name: str, entry: Any) -> ToolInfo:
    value, description = described(entry)
    if description is not None and not isinstance(description, str):
        raise ValueError(f"the description of tool {name!r} is a {type(description).__name__}, not text")
    return ToolInfo(name, value, description)


def validate_custom_tools(custom_tools: Mapping[str, Any] | None) -> None:
    """Raise ValueError for names that are reserved for the REPL or that no cell could write."""
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
