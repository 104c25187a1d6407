"""What is tried for every push of a list that is tried whole by `python -m tests --all`.

Not in effort.py, which loads Hypothesis: that must not be in a process that runs attacks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def share(items: Sequence[_T], of: int) -> tuple[_T, ...]:
    """Each `of`-th of `items`, beginning with the first; all of them for `--all`."""
    return tuple(items if os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1" else items[::of])
