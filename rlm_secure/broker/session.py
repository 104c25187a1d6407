"""The key of one session: signs the host's requests, and authenticates the broker's answers.

Only a holder of the key can send a request or an answer that is accepted: the signature covers the request's number,
method, target and body, and an answer's signature is valid for one request only. The key is sent into the sandbox
once, at the start, before any untrusted code runs there.

Guards: who may send a request to a broker, or answer for it: the signature of each
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

KEY_BYTES: Final = 32


class SessionKey:
    """A new random key. Its repr does not show it, so that it is not logged by accident."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secrets.token_bytes(KEY_BYTES) if secret is None else secret

    def __repr__(self) -> str:
        return "SessionKey(...)"

    def hex(self) -> str:
        """The key in hexadecimal, for the supervisor's start configuration."""
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
