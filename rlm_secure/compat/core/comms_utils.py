"""Upstream's messages between an environment and its handler, and its frames on a socket.

Nothing here listens on a socket. The messages are for programs that build them; the frames, with a size limit and
exact reads, are for programs that have their own server.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self, TypeAlias

from rlm_secure.errors import CallRefused, ProtocolViolation
from rlm_secure.types import RLMChatCompletion
from rlm_secure.untrusted_json import MalformedJson, loads

#: Longest frame that is read or sent, in bytes.
FRAME_BYTES: Final = 64 * 1024 * 1024
_HEADER: Final = struct.Struct(">I")


@dataclass
class LMRequest:
    """One prompt, or several: exactly one of `prompt` and `prompts` is set."""

    prompt: str | None = None
    prompts: list[str] | None = None
    model: str | None = None
    depth: int = -1

    @property
    def is_batched(self) -> bool:
        """Whether it has several prompts."""
        return self.prompts is not None

    @property
    def problem(self) -> str | None:
        """Why the request is invalid, in upstream's wording where it has one; None if it is valid."""
        if not self.prompt and not self.prompts:
            return "Missing 'prompt' or 'prompts' in request."
        texts = self.prompts if self.prompts is not None else [self.prompt]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return "A prompt must be a string."
        if self.model is not None and not isinstance(self.model, str):
            return "A model must be named by a string."
        return None

    def to_dict(self) -> dict[str, Any]:
        """The wire form: keys that are not set are left out."""
        pairs = {"prompt": self.prompt, "prompts": self.prompts, "model": self.model}
        return {key: value for key, value in pairs.items() if value is not None} | {"depth": self.depth}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse the wire form. Unknown keys are ignored; `problem` says what is wrong with the rest."""
        return cls(data.get("prompt"), data.get("prompts"), data.get("model"), data.get("depth", -1))


@dataclass
class LMResponse:
    """An answer: an error, one completion, or one completion per prompt."""

    error: str | None = None
    chat_completion: RLMChatCompletion | None = None
    chat_completions: list[RLMChatCompletion] | None = None

    @property
    def success(self) -> bool:
        """Whether there is no error."""
        return self.error is None

    @property
    def is_batched(self) -> bool:
        """Whether it answers several prompts."""
        return self.chat_completions is not None

    def to_dict(self) -> dict[str, Any]:
        """The wire form: always three keys."""
        return {
            "error": self.error,
            "chat_completion": None if self.chat_completion is None else self.chat_completion.to_dict(),
            "chat_completions": None
            if self.chat_completions is None
            else [completion.to_dict() for completion in self.chat_completions],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse the wire form."""
        one, several = data.get("chat_completion"), data.get("chat_completions")
        return cls(
            error=data.get("error"),
            chat_completion=None if one is None else RLMChatCompletion.from_dict(one),
            chat_completions=None if several is None else [RLMChatCompletion.from_dict(each) for each in several],
        )

    @classmethod
    def success_response(cls, chat_completion: RLMChatCompletion) -> Self:
        """A response with one answer."""
        return cls(chat_completion=chat_completion)

    @classmethod
    def batched_success_response(cls, chat_completions: Sequence[RLMChatCompletion]) -> Self:
        """A response with one answer per prompt."""
        return cls(chat_completions=list(chat_completions))

    @classmethod
    def error_response(cls, error: str) -> Self:
        """A response with an error."""
        return cls(error=error)


class Completes(Protocol):
    """An object with the method LMHandler.complete_all."""

    def complete_all(
        self, prompts: Sequence[str], model: str | None = None, depth: int | None = None
    ) -> list[RLMChatCompletion]:
        """One completion for each prompt, in order."""
        ...


#: A handler, or the host and port of a server that uses upstream's frames.
Address: TypeAlias = Completes | tuple[str, int]


def answer(handler: Completes, request: LMRequest) -> LMResponse:
    """The handler's answer to one request. An invalid or refused request is an error response, not an exception."""
    if (problem := request.problem) is not None:
        return LMResponse.error_response(problem)
    prompts = request.prompts if request.prompts is not None else [request.prompt or ""]
    try:
        completions = handler.complete_all(prompts, request.model, request.depth)
    except CallRefused as refused:
        return LMResponse.error_response(str(refused))
    if request.prompts is not None:
        return LMResponse.batched_success_response(completions)
    if completions[0].error is not None:
        return LMResponse.error_response(completions[0].error)
    return LMResponse.success_response(completions[0])


def send_lm_request(
    address: Address, request: LMRequest, timeout: float = 300.0, depth: int | None = None
) -> LMResponse:
    """Send one request. A failed connection is an error response, never an exception."""
    if depth is not None:
        request.depth = depth
    return _ask(address, request, timeout)


def send_lm_request_batched(
    address: Address,
    prompts: list[str],
    model: str | None = None,
    timeout: float = 300.0,
    depth: int = 0,
) -> list[LMResponse]:
    """Send several prompts in one request. Returns one response per prompt, in order."""
    response = _ask(address, LMRequest(prompts=prompts, model=model, depth=depth), timeout)
    if response.chat_completions is None:
        return [LMResponse.error_response(response.error or "No completions in response")] * len(prompts)
    if len(response.chat_completions) != len(prompts):
        said = f"{len(response.chat_completions)} completions for {len(prompts)} prompts"
        return [LMResponse.error_response(said)] * len(prompts)
    return [
        LMResponse.success_response(each) if each.error is None else LMResponse.error_response(each.error)
        for each in response.chat_completions
    ]


def socket_send(sock: socket.socket, data: Mapping[str, Any]) -> None:
    """Send one frame: 4 bytes of length, big-endian, then JSON in ASCII. Raises ProtocolViolation if it is too long."""
    body = json.dumps(data).encode("ascii")
    if len(body) > FRAME_BYTES:
        raise ProtocolViolation(f"a frame of {len(body)} bytes is over the limit of {FRAME_BYTES}")
    sock.sendall(_HEADER.pack(len(body)) + body)


def socket_recv(sock: socket.socket, deadline: float | None = None) -> dict[str, Any]:
    """Read one frame; {} if the peer closed before it. Raises ProtocolViolation for anything else.

    Raises TimeoutError if the whole frame has not arrived by `deadline`, in seconds of the monotonic clock.
    """
    header = _exactly(sock, _HEADER.size, deadline)
    if not header:
        return {}
    (length,) = _HEADER.unpack(header)
    if length > FRAME_BYTES:
        raise ProtocolViolation(f"a frame of {length} bytes is over the limit of {FRAME_BYTES}")
    try:
        value = loads(_exactly(sock, length, deadline) if length else b"{}")
    except MalformedJson as refused:
        raise ProtocolViolation(f"a frame is refused: {refused}") from None
    if not isinstance(value, dict):
        raise ProtocolViolation("a frame is not an object")
    return value


def socket_request(address: tuple[str, int], data: Mapping[str, Any], timeout: float = 300.0) -> dict[str, Any]:
    """Send one frame to a server and read its answer, all within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    with socket.create_connection(address, timeout=timeout) as sock:
        sock.settimeout(_left(deadline))
        socket_send(sock, data)
        return socket_recv(sock, deadline)


def _ask(address: Address, request: LMRequest, timeout: float) -> LMResponse:
    try:
        if not isinstance(address, tuple):
            return answer(address, request)
        return LMResponse.from_dict(socket_request(address, request.to_dict(), timeout))
    except (OSError, ProtocolViolation, LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        return LMResponse.error_response(f"Request failed: {type(error).__name__}")


def _left(deadline: float) -> float:
    """Seconds until `deadline`. Raises TimeoutError if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the server did not answer in time")
    return left


def _exactly(sock: socket.socket, count: int, deadline: float | None) -> bytes:
    """Read `count` bytes; b"" if the peer closed before the first. Raises ProtocolViolation if it closed later."""
    parts: list[bytes] = []
    missing = count
    while missing:
        if deadline is not None:
            sock.settimeout(_left(deadline))
        part = sock.recv(min(missing, 1 << 20))
        if not part:
            if missing == count:
                return b""
            raise ProtocolViolation(f"a frame ended {missing} bytes early")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
