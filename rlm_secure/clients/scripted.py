"""A backend without a model: it answers from a script. For demos, documentation and tests, offline.

    RLM(backend="scripted", backend_kwargs={
        "turns": ["```repl\\nprint(len(context))\\n```", "FINAL(done)"],
        "replies": ["one", "two"],
    })

`turns` answers chat messages (the loop's turns), `replies` answers plain prompts (`llm_query`), and the messages of
those with media. Each is

- a list, used up in order; an entry is a str, or a callable of the messages (turns) or the prompt (replies);
- a callable, called every time;
- for `replies` also a single str, returned every time.

A run started by `rlm_query` plays `child_turns` from its beginning (each child its own copy), and shares
`replies` with its parent. A list that runs out, or was never given, raises ScriptExhausted with its name.
Tokens are counted as a quarter of the characters. A script of strings only can be stored as JSON.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from rlm_secure.clients.base import (
    Client,
    Completion,
    OnText,
    Prompt,
    as_messages,
    call_usage,
    estimated_prompt_tokens,
    estimated_tokens,
    in_thread,
    reads_only,
)
from rlm_secure.errors import ProviderError
from rlm_secure.turns import Messages

Line: TypeAlias = str | Callable[[Any], str]
Lines: TypeAlias = str | Callable[[Any], str] | Sequence[Line] | None


#: Characters of a piece of a streamed line.
_PIECE: Final = 16


class ScriptExhausted(ProviderError):
    """A script has no line left. `list_name` is the list that ran out, `used` how many lines it had."""

    def __init__(self, list_name: str, used: int) -> None:
        had = f"all its {used} lines are used" if used else "it has no line"
        super().__init__(f"the scripted backend cannot answer: {had} in `{list_name}`; add one")
        self.list_name = list_name
        self.used = used


class Script:
    """Lines returned in order, one per call. Thread-safe."""

    def __init__(self, name: str, lines: Lines, *, forever: bool = False) -> None:
        if isinstance(lines, str) and not forever:
            raise ValueError(f"`{name}` of the scripted backend is a str; put it in a list")
        self.name = name
        self._always: Line | None = lines if isinstance(lines, str) or callable(lines) else None
        listed: list[Any] = list(lines) if isinstance(lines, Sequence) and self._always is None else []
        wrong = [type(line).__name__ for line in listed if not isinstance(line, str) and not callable(line)]
        if wrong:
            raise ValueError(f"`{name}` of the scripted backend holds a {wrong[0]}; give text or a callable")
        self._lines: list[Line] = listed
        self._next = 0
        self._lock = threading.Lock()

    def line(self) -> Line:
        """The next line. Raises ScriptExhausted."""
        if self._always is not None:
            return self._always
        with self._lock:
            if self._next >= len(self._lines):
                raise ScriptExhausted(self.name, len(self._lines))
            self._next += 1
            return self._lines[self._next - 1]


class ScriptedClient(Client):
    """Plays a script. `delay` seconds pass before each answer, to simulate a model's latency."""

    vendor = "scripted"
    billing = "none"

    def __init__(
        self,
        turns: Lines = None,
        replies: Lines = None,
        child_turns: Lines = None,
        model_name: str | None = "scripted",
        delay: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name or "scripted", **kwargs)
        self.turns = Script("turns", turns)
        self.replies = Script("replies", replies, forever=True)
        self.delay = delay
        self._child_turns = child_turns

    def inherit(self, parent: Client) -> None:
        """Take the parent's `child_turns` as turns. See Client.inherit."""
        if isinstance(parent, ScriptedClient):
            self.turns = Script("child_turns", parent._child_turns)
            self.replies = parent.replies

    def complete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """The next line of `replies` for a str, of `turns` for messages. A callable's exception passes through."""
        messages, name = as_messages(prompt), self.name_of(model)
        if self.delay:
            time.sleep(min(self.delay, self.seconds_of(timeout)))
        script, asked = self._script(prompt, messages)
        line = script.line()
        return self._completed(line(_given(asked)) if callable(line) else line, script, messages, name)

    def _script(self, prompt: Prompt, messages: list[dict[str, Any]] | Messages) -> tuple[Script, Any]:
        """The script that answers, and what a callable in it gets."""
        plain = isinstance(prompt, str) or isinstance(prompt[-1].get("content"), list)
        return (self.replies, prompt) if plain else (self.turns, messages)

    def _completed(self, text: Any, script: Script, messages: list[dict[str, Any]] | Messages, name: str) -> Completion:
        if not isinstance(text, str):
            raise ProviderError(f"a callable in `{script.name}` returned {type(text).__name__}, not text")
        usage = call_usage(estimated_prompt_tokens(messages), estimated_tokens(text))
        self.tally.add(name, usage)
        return Completion(text, name, usage)

    @reads_only
    async def astream(
        self, prompt: Prompt, on_text: OnText, *, model: str | None = None, timeout: float | None = None
    ) -> Completion:
        """As acomplete(), with the line in pieces of a few characters."""
        completion = await self.acomplete(prompt, model=model, timeout=timeout)
        for number, begin in enumerate(range(0, len(completion.text), _PIECE)):
            on_text(number, completion.text[begin : begin + _PIECE])
        return completion

    @reads_only
    async def acomplete(self, prompt: Prompt, *, model: str | None = None, timeout: float | None = None) -> Completion:
        """As complete(); a callable runs in a thread, as it may block."""
        messages = prompt if isinstance(prompt, Messages) else as_messages(prompt)
        name = self.name_of(model)
        if self.delay:
            await asyncio.sleep(min(self.delay, self.seconds_of(timeout)))
        script, asked = self._script(prompt, messages)
        line = script.line()
        text = await in_thread(lambda: line(_given(asked))) if callable(line) else line
        return self._completed(text, script, messages, name)


def _given(asked: Any) -> Any:
    """What a callable gets: messages as a list of its own."""
    return as_messages(asked) if isinstance(asked, Messages) else asked
