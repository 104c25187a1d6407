"""The key of one session: it signs what the host says and proves who answered.

Nothing but the key's holder can speak to a broker, and nothing else can answer for it: the signature covers
the request's number, method, target and body, and an answer's signature fits one request only. The key itself
crosses the wall once, at the start, before any untrusted code is there.

Guards: who speaks for a broker: the signature of every request and answer
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

KEY_BYTES: Final = 32


class SessionKey:
    """A fresh random key. Its text never appears in a repr, so it does not get into a log by accident."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secrets.token_bytes(KEY_BYTES) if secret is None else secret

    def __repr__(self) -> str:
        return "SessionKey(...)"

    def hex(self) -> str:
        """The key as the supervisor's start configuration carries it."""
        return self._secret.hex()

    def headers(self, number: int, method: str, target: str, digest: str) -> dict[str, str]:
        """The headers that sign one request; `digest` is its body's sha256, in hexadecimal."""
        mac = self._mac("rlm1-request", str(number), method, target, digest)
        return {"Rlm-Id": str(number), "Rlm-Sha256": digest, "Rlm-Mac": mac}

    def verifies(self, mac: str, number: int, method: str, target: str, status: int, body: bytes) -> bool:
        """Whether `mac` is the broker's signature of this answer to this request."""
        digest = hashlib.sha256(body).hexdigest()
        expected = self._mac("rlm1-answer", str(number), method, target, str(status), digest)
        return hmac.compare_digest(expected.encode("ascii"), mac.encode("utf-8", "surrogateescape"))

    def _mac(self, *parts: str) -> str:
        return hmac.new(self._secret, "\n".join(parts).encode("ascii"), "sha256").hexdigest()
