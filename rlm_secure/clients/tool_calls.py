"""Tools that a model is offered, and its calls of them: as a provider's reply holds them, and as messages do.

A conversation has one form, OpenAI's, whatever provider it goes to; each client translates it. An assistant's message
may have "tool_calls": [{"id", "type": "function", "function": {"name", "arguments"}}], and the result of each call is a
message {"role": "tool", "tool_call_id", "content"}.

Guards: the number, the shape and the names of the tool calls in a reply
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rlm_secure.errors import ProviderError
from rlm_secure.types import encodable
from rlm_secure.untrusted_json import MalformedJson, loads

#: Most tool calls in one reply.
MAX_CALLS: Final = 64
#: Most characters of the name in a call.
MAX_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model is offered. `parameters` is the JSON Schema of an object: the arguments of a call."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for. `arguments` is the model's JSON text, not decoded: it may be no JSON at all.

    `name` may be of no tool that was offered. Lone surrogates in all three are made encodable.
    """

    id: str
    name: str
    arguments: str

    def __post_init__(self) -> None:
        for field in ("id", "name", "arguments"):
            object.__setattr__(self, field, encodable(getattr(self, field)))

    @property
    def texts(self) -> tuple[str, str]:
        """What the model wrote: the name and the arguments."""
        return self.name, self.arguments

    def decoded(self, vendor: str) -> dict[str, Any]:
        """The arguments for a provider that takes them as an object. Raises ProviderError where they are none."""
        try:
            value = loads(self.arguments or "{}")
        except MalformedJson:
            value = None
        if not isinstance(value, dict):
            raise ProviderError(
                f"the {vendor} call was not made: the arguments of a tool call in the conversation are no JSON object"
            )
        return value


def checked_calls(vendor: str, found: Iterable[Sequence[Any]]) -> tuple[ToolCall, ...]:
    """The calls of a reply of `vendor`, each given as an id, a name, and arguments: JSON text, or what it stands for.

    A call without an id gets one. Raises ProviderError for more than MAX_CALLS, and for a call that is none.
    """
    given = list(islice(found, MAX_CALLS + 1))
    if len(given) > MAX_CALLS:
        raise _malformed(vendor, f"more than {MAX_CALLS} tool calls")
    return tuple(_checked(vendor, *each) for each in given)


def _checked(vendor: str, key: Any, name: Any, arguments: Any) -> ToolCall:
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    if not isinstance(arguments, str):
        raise _malformed(vendor, f"a tool call whose arguments are {type(arguments).__name__}, not JSON")
    if not isinstance(name, str) or not name:
        raise _malformed(vendor, "a tool call without a name")
    if key is not None and not isinstance(key, str):
        raise _malformed(vendor, f"a tool call whose id is {type(key).__name__}, not text")
    call = ToolCall(key or f"call_{secrets.token_hex(12)}", name, arguments)
    if len(call.name) > MAX_NAME:
        raise _malformed(vendor, f"a tool call whose name has more than {MAX_NAME} characters")
    return call


def _malformed(vendor: str, what: str) -> ProviderError:
    return ProviderError(f"the {vendor} call was answered with {what}; ask again, or check base_url")


def functions_called(vendor: str, calls: Any) -> tuple[ToolCall, ...]:
    """The `tool_calls` of a message in a reply of OpenAI's API, as its SDK reads them. Raises ProviderError."""
    if calls is not None and not isinstance(calls, list):
        raise _malformed(vendor, f"{type(calls).__name__} in place of tool calls")
    functions = ((getattr(each, "id", None), getattr(each, "function", None)) for each in calls or ())
    return checked_calls(
        vendor, ((key, getattr(each, "name", None), getattr(each, "arguments", None)) for key, each in functions)
    )


def functions_offered(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The part of a request of OpenAI's API that offers `tools`; empty without any."""
    offered = [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": dict(each.parameters)},
        }
        for each in tools
    ]
    return {"tools": offered} if offered else {}


def offered_text(tools: Sequence[ToolSpec]) -> str:
    """`tools` as a request states them, for counting."""
    return json.dumps(functions_offered(tools)) if tools else ""


def calls_in(message: Mapping[str, Any]) -> list[ToolCall]:
    """The tool calls in a message of a conversation. Raises ValueError for calls that are not in the one form."""
    given = message.get("tool_calls")
    if given is not None and not isinstance(given, list):
        raise ValueError("Invalid tool_calls in a message: it is no list")
    calls = []
    for each in given or ():
        match each:
            case {"id": str(key), "function": {"name": str(name), "arguments": str(arguments)}}:
                calls.append(ToolCall(key, name, arguments))
            case _:
                raise ValueError("Invalid tool_calls in a message: one lacks an id, or a function's name or arguments")
    return calls
