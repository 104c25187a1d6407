"""The host functions that cells may call.

A host function is an opening that the user makes in the sandbox, so it is kept narrow: JSON arguments validated
against its signature, a JSON result, limits of time and size, and errors that reveal nothing about the host.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.errors import CallFailed, CallRefused
from rlm_secure.policy.gate import Gate
from rlm_secure.tools.hostcall import on_abandon
from rlm_secure.tools.plain import NoJSON, TooLong, class_name

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy
    from rlm_secure.tools.hosttool import HostTool

#: Most characters of an exception's text that a cell is given.
_TOLD: Final = 4_000


class ToolError(Exception):
    """Raise it in a tool to send a message to the cell: the text of any other exception is withheld."""


class Toolbox:
    """The host functions that the cells of one session may call, in any environment.

    A function may be a coroutine function. Whatever it returns or raises, a call returns a JSON value or raises
    CallFailed; only exceptions of the classes in `through` pass as they are.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        policy: Policy,
        *,
        through: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._tools = _host_tools(functions) if functions else {}
        self._gate = Gate(policy, tools=frozenset(self._tools))
        self._limit = policy.lm.reply_bytes
        self._through = through

    def __getitem__(self, name: str) -> HostTool:
        return self._tools[name]

    def call(self, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call one tool in this thread. Raises CallRefused if the policy refuses the call, CallFailed if it fails."""
        self._gate.tool(name).require(CallRefused)
        tool = self._tools[str(name)]
        try:
            positional, named = self._arguments(tool, args, kwargs)
            return self._result(tool, _run(tool.function, positional, named))
        except self._through:
            raise
        except (ToolError, CallFailed) as told:
            if isinstance(told, CallRefused):
                raise
            text = _text(told)
            said = f" failed: {class_name(told)}" if text is None else f": {text}"
            raise CallFailed(f"{tool.name}{said}") from None
        except BaseException as error:  # noqa: BLE001 - any error of the tool; its SystemExit must end nothing either
            # The text of a host exception may contain paths and secrets.
            raise CallFailed(f"{tool.name} failed: {class_name(error)}") from None

    def _arguments(
        self, tool: HostTool, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        from rlm_secure.checks import Steps  # imported by the tool itself

        size = len(json.dumps([list(args), dict(kwargs)]))
        self._gate.tool_arguments(tool.name, size, None).require(CallRefused)
        try:
            return tool.arguments(args, kwargs, Steps.of(size))
        except ValueError as error:
            self._gate.tool_arguments(tool.name, size, _text(error) or "the arguments are wrong").require(CallRefused)
            raise

    def _result(self, tool: HostTool, value: Any) -> Any:
        text, size, problem = "null", 0, None
        try:
            text = tool.result(value, self._limit)
            size = len(text)
        except TooLong as error:
            size = error.args[0]
        except NoJSON as error:
            problem = str(error)
        except Exception:  # noqa: BLE001 - methods of the value: hooks, descriptors, an __iter__
            problem = "a value that JSON cannot hold"
        self._gate.tool_result(tool.name, size, problem).require(CallRefused)
        return json.loads(text)


def _host_tools(functions: Mapping[str, Callable[..., Any]]) -> dict[str, HostTool]:
    from rlm_secure.tools.hosttool import HostTool  # with pydantic, which most sandboxes have no use for

    return {name: HostTool(name, function) for name, function in functions.items()}


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call `function` to completion; if it returns an awaitable, run that in a new event loop."""
    value = function(*args, **kwargs)
    if not inspect.isawaitable(value):
        return value
    import asyncio  # most tools are plain functions, and most sandboxes have none

    async def finished(awaitable: Awaitable[Any]) -> Any:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        if on_abandon(lambda: loop.call_soon_threadsafe(task.cancel)):
            raise asyncio.CancelledError
        return await awaitable

    return asyncio.run(finished(value))


def _text(error: BaseException) -> str | None:
    """The text of an exception, encodable as UTF-8; None if its `__str__` fails."""
    try:
        said = str(error)
        return said[:_TOLD].encode("utf-8", "replace").decode("utf-8")
    except Exception:  # noqa: BLE001 - its __str__ is the tool's
        return None
