"""secrets, from the kernel's generator: no seed repeats them."""

from __future__ import annotations

import base64
import os
from hmac import compare_digest
from typing import Any

__all__ = [
    "DEFAULT_ENTROPY", "choice", "compare_digest", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe",
]  # fmt: skip
LEFT_OUT = {"SystemRandom": "use choice, randbelow and randbits, or random.Random"}

DEFAULT_ENTROPY = 32


def token_bytes(nbytes: int | None = None) -> bytes:
    return os.urandom(DEFAULT_ENTROPY if nbytes is None else nbytes)


def token_hex(nbytes: int | None = None) -> str:
    return token_bytes(nbytes).hex()


def token_urlsafe(nbytes: int | None = None) -> str:
    return base64.urlsafe_b64encode(token_bytes(nbytes)).rstrip(b"=").decode("ascii")


def randbits(k: int) -> int:
    if k < 0:
        raise ValueError("number of bits must be non-negative")
    return int.from_bytes(os.urandom((k + 7) // 8), "big") >> (-k % 8)


def randbelow(exclusive_upper_bound: int) -> int:
    if exclusive_upper_bound <= 0:
        raise ValueError("Upper bound must be positive.")
    bits = exclusive_upper_bound.bit_length()
    found = randbits(bits)
    while found >= exclusive_upper_bound:
        found = randbits(bits)
    return found


def choice(seq: Any) -> Any:
    if not len(seq):
        raise IndexError("Cannot choose from an empty sequence")
    return seq[randbelow(len(seq))]
