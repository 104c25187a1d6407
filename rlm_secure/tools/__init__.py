"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the sandbox."""

from rlm_secure.tools.definition import (
    RESERVED_TOOL_NAMES,
    ToolInfo,
    described,
    extract_tool_value,
    parse_custom_tools,
    validate_custom_tools,
)
from rlm_secure.tools.toolbox import HostTool, Toolbox, ToolError

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
