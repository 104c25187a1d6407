"""An MCP server that offers a sandbox: its tool `run_python` runs code behind walls, and variables last.

    pip install rlm-secure mcp
    python examples/mcp_server.py    speaks MCP on stdin and stdout

A host starts it with its own entry for that, such as Claude Desktop's or an editor's list of servers:

    {"mcpServers": {"sandbox": {"command": "python", "args": ["/path/to/mcp_server.py"]}}}

examples/mcp_host.py is a host that uses it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server import MCPServer

from rlm_secure import AsyncSandbox

SANDBOX = AsyncSandbox(policy="strict")


@asynccontextmanager
async def sandbox_of(_: MCPServer[None]) -> AsyncIterator[None]:
    """The sandbox lives as long as the server."""
    async with SANDBOX:
        yield


server = MCPServer("sandbox", lifespan=sandbox_of, log_level="WARNING")


@server.tool()
async def run_python(code: str, seconds: float = 10.0) -> str:
    """Run Python in a sandbox without files or network, and return what it printed and the value of its last line.

    Variables last from call to call. `seconds` is at most 30.
    """
    result = await SANDBOX.run(code, timeout=min(seconds, 30.0))
    return result.stdout + result.text + result.stderr


if __name__ == "__main__":
    server.run("stdio")
