"""The text of a reply while it arrives, for listeners: as it comes, or masked where the policy says what to mask.

A secret may come in several pieces, so a policy with patterns in `data.redact` makes the pieces whole lines. A pattern
that matches across lines is masked in logs alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from rlm_secure.events import Event, TextDelta
from rlm_secure.logger import Redactor
from rlm_secure.types import encodable


class Deltas:
    """Emits a TextDelta for each piece of one reply; `end()` emits what is held back. `patterns`: what to mask."""

    def __init__(self, emit: Callable[[Event], None], purpose: str, patterns: tuple[str, ...]) -> None:
        self._emit = emit
        self._purpose = purpose
        self._redactor = Redactor(patterns) if patterns else None
        self._held = io.StringIO()
        self._next = 0

    def __call__(self, index: int, text: str) -> None:
        """Take piece `index` of the reply; 0 begins it anew."""
        if index == 0:
            self._held, self._next = io.StringIO(), 0
        if self._redactor is None:
            self._tell(text)
            return
        self._held.write(text)
        if "\n" in text:
            lines, _, rest = self._held.getvalue().rpartition("\n")
            self._held = io.StringIO()
            self._held.write(rest)
            self._tell(self._redactor.text(lines + "\n"))

    def end(self) -> None:
        """The reply is complete."""
        if self._redactor is not None and (rest := self._held.getvalue()):
            self._tell(self._redactor.text(rest))

    def _tell(self, text: str) -> None:
        self._emit(TextDelta(depth=0, purpose=self._purpose, index=self._next, text=encodable(text)))
        self._next += 1
