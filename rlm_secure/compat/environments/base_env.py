"""Upstream's `rlm.environments.base_env`: the interface of environments, and the format of custom tools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rlm_secure.compat.environments.repl import UpstreamREPL
from rlm_secure.tools import RESERVED_TOOL_NAMES, ToolInfo, described, extract_tool_value, validate_custom_tools
from rlm_secure.types import REPLResult

__all__ = [
    "RESERVED_TOOL_NAMES",
    "BaseEnv",
    "IsolatedEnv",
    "NonIsolatedEnv",
    "SupportsCustomTools",
    "SupportsPersistence",
    "ToolInfo",
    "extract_tool_value",
    "format_tools_for_prompt",
    "parse_custom_tools",
    "parse_tool_entry",
    "validate_custom_tools",
]


class BaseEnv(ABC):
    """The base class of a user's own environment. The classes of this package count as its subclasses."""

    def __init__(
        self, persistent: bool = False, depth: int = 1, max_concurrent_subcalls: int = 4, **kwargs: Any
    ) -> None:
        self.persistent = persistent
        self.depth = depth
        self.max_concurrent_subcalls = max_concurrent_subcalls
        self.kwargs = kwargs

    @abstractmethod
    def setup(self) -> None:
        """Get ready to run cells."""

    @abstractmethod
    def load_context(self, context_payload: Any) -> None:
        """Bind the payload as `context`."""

    @abstractmethod
    def execute_code(self, code: str) -> REPLResult:
        """Run one cell."""


class NonIsolatedEnv(BaseEnv, ABC):
    """Cells on this machine."""


class IsolatedEnv(BaseEnv, ABC):
    """Cells on another machine."""


@runtime_checkable
class SupportsPersistence(Protocol):
    """Keeps its session between completions, with numbered contexts and histories."""

    def update_handler_address(self, address: Any) -> None:
        """Send later model calls of cells to `address`."""

    def add_context(self, context_payload: Any, context_index: int | None = None) -> int:
        """Add a context for cells. Returns its number."""
        ...

    def get_context_count(self) -> int:
        """How many contexts there are."""
        ...

    def add_history(self, message_history: Sequence[Mapping[str, Any]], history_index: int | None = None) -> int:
        """Add a history for cells. Returns its number."""
        ...

    def get_history_count(self) -> int:
        """How many histories there are."""
        ...


@runtime_checkable
class SupportsCustomTools(Protocol):
    """Has custom tools."""

    custom_tools: Mapping[str, Any]


def parse_tool_entry(name: str, entry: Any) -> ToolInfo:
    """One entry as a ToolInfo; a description that is not a str is dropped."""
    value, description = described(entry)
    return ToolInfo(name, value, description if isinstance(description, str) else None)


def parse_custom_tools(custom_tools: Mapping[str, Any] | None) -> list[ToolInfo]:
    """The entries as a list, as upstream returns them. validate_custom_tools checks the names."""
    return [parse_tool_entry(name, entry) for name, entry in (custom_tools or {}).items()]


def format_tools_for_prompt(custom_tools: Mapping[str, Any] | None) -> str | None:
    """A line for each tool; None if there are none."""
    return "\n".join(map(_line, parse_custom_tools(custom_tools))) or None


def _line(tool: ToolInfo) -> str:
    kind = "function" if tool.is_callable else f"{type(tool.value).__name__} value"
    return f"- `{tool.name}`: {tool.description or f'A custom {kind}'}"


BaseEnv.register(UpstreamREPL)
