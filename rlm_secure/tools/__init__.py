"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlm_secure.tools.definition import (
    RESERVED_TOOL_NAMES,
    ToolInfo,
    described,
    extract_tool_value,
    parse_custom_tools,
    validate_custom_tools,
)
from rlm_secure.tools.toolbox import Toolbox, ToolError

if TYPE_CHECKING:
    from rlm_secure.tools.hosttool import HostTool


def __getattr__(name: str) -> Any:
    if name != "HostTool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rlm_secure.tools import hosttool  # with pydantic, which a sandbox without tools has no use for

    return hosttool.HostTool


__all__ = [
    "RESERVED_TOOL_NAMES",
    "HostTool",
    "ToolError",
    "ToolInfo",
    "Toolbox",
    "described",
    "extract_tool_value",
    "parse_custom_tools",
    "validate_custom_tools",
]
