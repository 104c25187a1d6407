"""What the source does not say about its regular expressions. Most need no line here: they are found, and tried.

A line is wanted for an expression that is made while the program runs (MADE), and for one that is not linear and need
not be (BOUNDED). The key is the module's path within the package, and the name or the function that has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Made:
    """Examples of an expression that is put together from what it is given, or why foreign bytes never meet it."""

    examples: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Bounded:
    """How many characters the longest text has that it meets, and what sees to that."""

    characters: int
    reason: str


MADE: dict[str, Made] = {
    "rlm/compaction.py:get_context_limit": Made((rf"(?<![a-z0-9]){re.escape('gpt-4.1')}",)),
    "guest/supervisor/surroundings.py:_field": Made((r"^NoNewPrivs:\s*(\S+)",), "the name is ours, and the kernel wrote the text"),
    "guest/language/library/template.py:_compiled": Made((), "a cell's own, in its worker, under its limits"),
    "guest/language/library/warnings.py:filterwarnings": Made((), "a cell's own, in its worker, under its limits"),
    "logger/redact.py:Redactor.learn": Made(("sk\\-0123456789abcdef|hunter22222|sk\\-0123456789",)),
    "tools/definition.py:ToolInfo.is_code": Made((r"(?m)^(?:async\s+def|def|class)\s+tool\b",)),
}

BOUNDED: dict[str, Bounded] = {
    "audit/targets.py:kind_of": Bounded(255, "a name in a folder has 255 bytes at most, by the kernel"),
}
