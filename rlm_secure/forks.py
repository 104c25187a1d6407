"""What a process does when it is forked, on systems that have forks: Windows has none, and Python no hook there."""

from __future__ import annotations

import os
from collections.abc import Callable


def at_fork(
    *,
    after_in_child: Callable[[], object],
    before: Callable[[], object] | None = None,
    after_in_parent: Callable[[], object] | None = None,
) -> None:
    """os.register_at_fork(), and nothing where a process cannot be forked."""
    if not hasattr(os, "register_at_fork"):
        return
    os.register_at_fork(after_in_child=after_in_child)
    if before is not None:
        os.register_at_fork(before=before)
    if after_in_parent is not None:
        os.register_at_fork(after_in_parent=after_in_parent)
