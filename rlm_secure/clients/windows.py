"""How much text a model takes: a dated table, sizes given by the caller, and a count that is never too high.

A prompt that cannot fit is refused before it is sent: a provider would read all of it, refuse it, and may charge for
it. A name must match as rlm_secure.clients.prices says: "gpt-4o" is not "gpt-4o-mini", and an unknown model has no
window here, for its server knows better. A window is the most tokens of *input*, the largest that a provider sells
under the name (a million for Claude Sonnet 4.5 is on request).

The numbers are `max_input_tokens` of litellm 1.106.2 (PyPI, taken on 2026-11-24), which cites the providers' own pages:
platform.openai.com/docs/models, docs.claude.com/en/docs/about-claude/models, ai.google.dev/gemini-api/docs/models,
api-docs.deepseek.com, docs.mistral.ai, docs.x.ai/docs/models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rlm_secure.clients.base import Prompt, message_text
from rlm_secure.clients.prices import SNAPSHOT

_PROVIDERS: Final = frozenset(
    {
        "anthropic", "azure", "deepseek", "gemini", "google", "mistral", "mistralai", "models", "openai", "openrouter",
        "x-ai", "xai",
    }
)  # fmt: skip

_MODELS: Final[Mapping[int, str]] = {
    8_192: "gpt-4",
    16_385: "gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-3.5-turbo-1106 gpt-3.5-turbo-16k",
    32_000: "mistral-tiny",
    32_768: "gpt-4-32k",
    128_000: (
        "gpt-4-0125-preview gpt-4-1106-preview gpt-4-turbo gpt-4-turbo-preview gpt-4o gpt-4o-mini chatgpt-4o-latest "
        "gpt-5-chat gpt-5-chat-latest gpt-5.1-chat-latest gpt-5.2-chat-latest gpt-5.3-chat-latest codestral-2508"
    ),
    131_072: "deepseek-chat deepseek-reasoner ministral-3b-2512",
    163_840: "deepseek-v3.2",
    200_000: "claude-haiku-4-5 claude-opus-4-5 o1 o1-pro o3 o3-mini o3-pro o4-mini",
    256_000: "grok-build-0.1 grok-code-fast-1",
    262_144: (
        "ministral-14b-2512 ministral-8b-2512 ministral-8b-latest mistral-large-2512 mistral-medium-3-5 "
        "mistral-medium-latest mistral-small-2603 mistral-small-latest"
    ),
    272_000: (
        "gpt-5 gpt-5-codex gpt-5-mini gpt-5-nano gpt-5.1 gpt-5.2 gpt-5.2-codex gpt-5.2-pro gpt-5.3-codex gpt-5.4-mini "
        "gpt-5.4-nano"
    ),
    400_000: "gpt-5-pro gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-codex-mini",
    500_000: "grok-4.5 grok-4.6 grok-4.7",
    922_000: "gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-luna gpt-6-sol gpt-6.1-sol",
    1_000_000: (
        "claude-fable-5 claude-fable-5-1 claude-haiku-5-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 "
        "claude-opus-5 claude-opus-5-5 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-5-5 "
        "deepseek-flash deepseek-v4-flash deepseek-v4-pro grok-4.20 grok-4.3"
    ),
    1_047_576: "gpt-4.1 gpt-4.1-mini gpt-4.1-nano",
    1_048_576: (
        "gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro gemini-3-flash-preview gemini-3.1-flash-lite "
        "gemini-3.1-pro-preview gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash gemini-3.7-flash "
        "gemini-3.8-flash gemini-4-argon mistral-large-4"
    ),
    1_050_000: "gpt-5.4 gpt-5.4-pro gpt-5.5 gpt-5.5-pro",
}
WINDOWS: Final[Mapping[str, int]] = MappingProxyType(
    {name: tokens for tokens, names in _MODELS.items() for name in names.split()}
)

#: Characters that a token stands for at most, over a whole text: prose has 4 to 5 of them, in any script, code fewer.
#: Only runs of blanks and of one repeated sign have far more, and count as one character here.
_CHARACTERS: Final = 7
_RUN: Final = re.compile(r"\s+|([^\w\s]|_)\1+")


class Windows:
    """The table, with entries replaced or added by `given`: model name -> tokens, or None for no limit here.

    Raises ValueError for anything else.
    """

    def __init__(self, given: Mapping[str, int | None] | None = None) -> None:
        self.given: dict[str, int | None] = dict(given or {})
        for name, tokens in self.given.items():
            if tokens is not None and (type(tokens) is not int or tokens < 1):
                raise ValueError(f"windows[{name!r}] is no window; give the most tokens of a prompt, or None: no limit")

    def of(self, model: str) -> int | None:
        """The most tokens that `model` takes; None if unknown."""
        if model in self.given:
            return self.given[model]
        *provider, name = model.split("/")
        if not _PROVIDERS.issuperset(provider):
            return None
        return WINDOWS.get(name) or WINDOWS.get(SNAPSHOT.sub("", name))


def prompt_characters(prompt: Prompt) -> int:
    """Characters of a prompt's text."""
    return sum(map(len, _texts(prompt)))


def fewest_tokens(prompt: Prompt) -> int:
    """Tokens that a prompt takes at least, with any tokenizer. Takes time linear in its length."""
    return sum(len(_RUN.sub(" ", text)) // _CHARACTERS for text in _texts(prompt))


def _texts(prompt: Prompt) -> list[str]:
    if isinstance(prompt, str):
        return [prompt]
    return [message_text(message) for message in prompt]
