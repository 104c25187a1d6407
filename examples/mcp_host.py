"""An MCP host: a ReActAgent whose tools are those of an MCP server, which it starts over stdio.

    pip install rlm-secure mcp
    python examples/mcp_host.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/mcp_host.py    a real model
    python examples/mcp_host.py COMMAND ARGUMENT...                   another server

The server is examples/mcp_server.py if none is named. What the model is told of a tool, and what its arguments must be,
is the server's own description and JSON Schema.

It prints:

    1: run_python({"code": "squares = [n * n for n in range(10)]"}) ->
    2: run_python({"code": "open('/etc/passwd')"}) -> removed-builtin: open() does not exist here
    3: run_python({"code": "sum(squares)"}) -> 285
    the answer is 285
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp
from mcp.types import TextContent
from model import model

from rlm_secure.agents import ReActAgent, Tool
from rlm_secure.tools import ToolError

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]

#: What a model writes when it is asked this; the scripted backend plays it.
REPLIES = [
    'Action: run_python\nAction Input: {"code": "squares = [n * n for n in range(10)]"}',
    'Action: run_python\nAction Input: {"code": "open(\'/etc/passwd\')"}',
    'Action: run_python\nAction Input: {"code": "sum(squares)"}',
    'Action: final_answer\nAction Input: {"answer": 285}',
]


def tool_of(client: mcp.Client, told: mcp.Tool, loop: asyncio.AbstractEventLoop) -> Tool:
    """A tool of the agent that calls the server's. The agent calls it in a thread, the client lives on `loop`."""

    def call(**arguments: Any) -> str:
        result = asyncio.run_coroutine_threadsafe(client.call_tool(told.name, arguments), loop).result()
        text = "\n".join(each.text for each in result.content if isinstance(each, TextContent))
        if result.is_error:
            raise ToolError(text)
        return text

    named = {name: {"schema": schema} for name, schema in told.input_schema.get("properties", {}).items()}
    return Tool(call, told.name, told.description or "", named)


async def main() -> None:
    command, *arguments = sys.argv[1:] or SERVER
    async with mcp.Client(mcp.stdio_client(mcp.StdioServerParameters(command=command, args=arguments))) as client:
        loop = asyncio.get_running_loop()
        tools = [tool_of(client, told, loop) for told in (await client.list_tools()).tools]
        agent = ReActAgent(tools, *model(turns=REPLIES))
        completion = await agent.arun("What is the sum of the squares of 0 to 9? Let Python compute it.")
    for step in completion.steps[:-1]:
        told = (step.observation or "").strip().splitlines()[-1:]
        print(f"{step.number}: {step.action}({json.dumps(step.input)}) ->", *(line.split(";")[0] for line in told))
    print("the answer is", completion.answer)


if __name__ == "__main__":
    asyncio.run(main())
