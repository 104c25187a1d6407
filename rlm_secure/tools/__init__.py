"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the walls."""

from rlm_secure.tools.toolbox import (
    RESERVED_TOOL_NAMES,
    HostTool,
    Toolbox,
    ToolError,
    ToolInfo,
    parse_custom_tools,
    validate_custom_tools,
)

__all__ = [
    "RESERVED_TOOL_NAMES",
    "HostTool",
    "ToolError",
    "ToolInfo",
    "Toolbox",
    "parse_custom_tools",
    "validate_custom_tools",
]
