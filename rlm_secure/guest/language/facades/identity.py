"""`id()` for cells: a number that identifies an object without revealing its address.

An attacker who wants to forge an object, by a bug of the interpreter, needs the addresses of its type and of its bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any


def _identity() -> tuple[Callable[[Any], int], Callable[[], None]]:
    """Create the functions below. Their key is only in this closure."""
    address = id
    number = int.from_bytes
    key = os.urandom(32)
    keyed: Any = None  # made at the first use: until then, a session shares its pages with all others

    def id_(value: Any, /) -> int:
        """A 64-bit number that stays the same for the lifetime of the object, in this session."""
        nonlocal keyed
        if keyed is None:
            keyed = hashlib.blake2b(key=key, digest_size=8)
        made = keyed.copy()
        made.update(address(value).to_bytes(8, "little"))
        return number(made.digest(), "little")

    def new_key() -> None:
        """Choose a new key. Call it in every forked session, before its first cell."""
        nonlocal key, keyed
        key, keyed = os.urandom(32), None

    id_.__name__ = id_.__qualname__ = "id"
    return id_, new_key


identity, new_key = _identity()
