"""hmac, over the hashes of hashlib."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

__all__ = ["HMAC", "compare_digest", "digest", "digest_size", "new"]
LEFT_OUT = {"trans_36 trans_5C": "internal"}

# Bound by the loader.
compare_digest: Callable[[Any, Any], bool]

digest_size = None


class HMAC:
    def __init__(self, key: Any, msg: Any = None, digestmod: Any = "") -> None:
        if not isinstance(key, bytes | bytearray):
            raise TypeError(f"key: expected bytes or bytearray, but got {type(key).__name__!r}")
        if not digestmod:
            raise TypeError("Missing required argument 'digestmod'.")
        made = hashlib.new(digestmod) if isinstance(digestmod, str) else digestmod()
        self.digest_size, self.block_size, self.name = made.digest_size, made.block_size, f"hmac-{made.name}"
        if len(key) > self.block_size:
            hashed = made.copy()
            hashed.update(key)
            key = hashed.digest()
        key = bytes(key) + bytes(self.block_size - len(key))
        self._inner, self._outer = made.copy(), made.copy()
        self._inner.update(bytes([each ^ 0x36 for each in key]))
        self._outer.update(bytes([each ^ 0x5C for each in key]))
        if msg is not None:
            self.update(msg)

    def update(self, msg: Any) -> None:
        self._inner.update(msg)

    def copy(self) -> HMAC:
        made = HMAC.__new__(HMAC)
        made.digest_size, made.block_size, made.name = self.digest_size, self.block_size, self.name
        made._inner, made._outer = self._inner.copy(), self._outer.copy()
        return made

    def digest(self) -> bytes:
        outer = self._outer.copy()
        outer.update(self._inner.digest())
        return bytes(outer.digest())

    def hexdigest(self) -> str:
        return self.digest().hex()


def new(key: Any, msg: Any = None, digestmod: Any = "") -> HMAC:
    return HMAC(key, msg, digestmod)


def digest(key: Any, msg: Any, digest: Any) -> bytes:
    return HMAC(key, msg, digest).digest()
