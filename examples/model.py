"""Who answers the model calls of an example: the turns that are written in it, or a real model that you name.

    python examples/long_log.py                                       offline, with the written turns
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/long_log.py    OpenAI; the key is in OPENAI_API_KEY

Before the colon is a backend of rlm_secure (openai, anthropic, gemini, ...), after it the backend's name of a model. A
server of your own that speaks OpenAI's API is named by OPENAI_BASE_URL. A program of yours names its model itself:

    RLM("openai", {"model_name": "gpt-5-mini"})
"""

from __future__ import annotations

import os
from typing import Any


def model(**script: Any) -> tuple[str, dict[str, Any]]:
    """The first two arguments of RLM and of the agents: a backend, and what it is told.

    `script` is for the scripted backend: `turns`, `replies` and `child_turns`.
    """
    named = os.environ.get("RLM_SECURE_MODEL")
    if not named:
        return "scripted", script
    backend, _, name = named.partition(":")
    return backend, {"model_name": name}
