"""Custom tools: host functions that cells call by name, data that cells read, code that runs inside the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm_secure.late import importer
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


# It needs pydantic, which a sandbox without tools has no use for.
__getattr__ = importer(__name__, {"HostTool": "rlm_secure.tools.hosttool"})

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
