"""Masks secrets in logs: by the name of the key, by the format of the value, by the value.

Not a wall: secrets that no rule here matches stay in the log. Values that a configuration names as secrets are masked
wherever they appear again, in prompts and output as well.

Guards: that no key gets into a log
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from rlm_secure.checks.patterns import Pattern
from rlm_secure.checks.steps import OutOfSteps, Steps
from rlm_secure.types import json_safe

MASK: Final = "[redacted]"

# A name is a secret's if one of its words is in this set. `token` is a secret, `tokens` is a count.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS: Final = frozenset(
    {
        "apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "dsn", "key",
        "keys", "passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets", "signature", "token",
    }
)  # fmt: skip
#: Settings in which every value may be a secret, whatever its name: gateways define their own header names. The values
#: are masked in place, and learned only under a secret's name: values such as "application/json" are common text.
_PRIVATE_WORDS: Final = frozenset({"header", "headers"})
#: Steps that a pattern of the policy may take per text, and in addition per character.
_FIRST, _EACH = 50_000, 8
#: Minimum number of characters to leave out before a cut: a secret that is cut is not recognized.
_BEFORE_CUT: Final = 512
#: In values of models and cells, `key`, `token` and `secret` are common words: only these names count there.
_SECRET_NAMES: Final = re.compile(
    r"(?i)api_?key|password|passwd|passphrase|authorization|credential|private_?key|access_?key|secret_?key"
    r"|(?:access|auth|api|bearer|refresh|session)_?token(?!s)|(?:api|app|client|shared)_?secret"
)
_ENVIRONMENT_NAMES: Final = ("API_KEY", "APIKEY", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD")

# Formats of secrets of well-known issuers. Each begins at a boundary and does not backtrack, so that the time is linear
# in the text; most require a digit, so that long-hyphenated-words do not match.
_DIGIT: Final = r"(?=[A-Za-z_.~+/-]{0,64}+[0-9=])"
_LOOKS: Final = (
    # Not possessive: CPython 3.11.2 (Debian 12) mishandles lookahead in a possessive group.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
    (
        r"(?<![A-Za-z0-9_-])(?:"
        rf"(?:sk|pk|rk|dtn|e2b|fw|gsk|glpat|hf|npm|nvapi|pit|pplx|pypi|r8|tgp_v1|whsec|xai)[-_]{_DIGIT}[A-Za-z0-9_-]{{20,}}+"
        rf"|a[ks]-{_DIGIT}[A-Za-z0-9]{{20,}}+"
        r"|github_pat_[A-Za-z0-9_]{20,}+"
        r"|gh[opsru]_[A-Za-z0-9]{20,}+"
        r"|xox[a-z]-[A-Za-z0-9-]{10,}+"
        r"|AIza[A-Za-z0-9_-]{30,}+"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
        r"|eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]*+"
        r")"
    ),
    rf"(?i:(?<![A-Za-z0-9])(?:bearer|basic)[ \t]{{1,4}}){_DIGIT}[A-Za-z0-9._~+/=-]{{16,}}+",
    r"(?<=://)[^\s/@:\"']{0,256}+:[^\s/@\"']{1,256}+(?=@)",
    r"(?i:(?<=[?&])(?:api_?key|access_token|token|key|signature|sig|secret|password)=)[^\s&\"'#]{4,}+",
)


class Redactor:
    """Masks secrets in JSON values and in text. Thread-safe.

    `patterns` are further regular expressions whose matches are masked. They are matched in linear time: one with a
    lookaround or a backreference raises ValueError, see rlm_secure.checks.Pattern, and a text that takes too many steps
    is masked completely. With `environ`, the values of this process's environment variables whose names end like a
    secret's (OPENAI_API_KEY, ...) are masked as well.
    """

    def __init__(self, patterns: Iterable[str] = (), *, environ: bool = True) -> None:
        self._looks = re.compile("|".join(f"(?:{look})" for look in _LOOKS), re.DOTALL)
        self._extra = [Pattern(pattern) for pattern in patterns]
        self._lock = threading.Lock()
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self._before_cut = _BEFORE_CUT
        self._environ = environ
        if environ:
            self.learn(_of_environment())

    def __reduce__(self) -> tuple[Callable[..., Redactor], tuple[tuple[str, ...], frozenset[str], bool]]:
        """The same rules, and the secrets that it was told. Those of the environment stay: the reader has its own."""
        told = self._values.difference(_of_environment()) if self._environ else self._values
        return _knowing, (tuple(each.pattern for each in self._extra), told, self._environ)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these strings wherever they appear from now on, except those too short or common to be recognized."""
        new = {each for each in secrets if _is_distinct(each)}
        with self._lock:
            if not new <= self._values:
                self._values |= new
                self._before_cut = max(_BEFORE_CUT, *map(len, self._values))
                # The longest first: a secret that begins with another one is masked completely.
                self._known = re.compile("|".join(map(re.escape, sorted(self._values, key=len, reverse=True))))

    def extended(self, patterns: Iterable[str]) -> Redactor:
        """A redactor that knows the same secrets, and masks these patterns instead of its own."""
        return _knowing(patterns, self._values)

    def text(self, text: str) -> str:
        """`text` without what looks like a secret or is known to be one."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        text = self._looks.sub(MASK, text)
        try:
            for pattern in self._extra:
                text = pattern.sub(MASK, text, Steps(_FIRST + _EACH * len(text)))
        except OutOfSteps:
            return MASK  # which parts to mask is unknown
        return text

    def beginning(self, text: str, limit: int) -> str:
        """As text(), but only the beginning if `text` has more than `limit` characters; the rest is not processed.

        Characters before a cut are left out, so that no part of a divided secret remains.
        """
        before = 2 * self._before_cut  # a mask may be longer than what it replaces
        if len(text) <= limit + before:
            return self.text(text)
        return self.text(text[: limit + before])[:-before] + " ..."

    def configuration(self, value: Any) -> Any:
        """A JSON-safe copy of settings. Values under a secret's name are masked and learned; headers are masked."""
        safe = json_safe(value)
        self.learn(_secrets(safe))
        return self._walk(safe, _names_what_is_private)

    def content(self, value: Any) -> Any:
        """A masked copy of a JSON-safe value from a model or a cell, as json_safe returns it."""
        return self._walk(value, _names_nothing_else)

    def _walk(self, value: Any, is_secret: Callable[[str], bool]) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._walk(item, is_secret) for item in value]
        if isinstance(value, dict):
            return {
                self.text(name): _masked(item) if is_secret(name) else self._walk(item, is_secret)
                for name, item in value.items()
            }
        return value


def _of_environment() -> Iterator[str]:
    """The secrets of this process's environment."""
    return (value for name, value in os.environ.items() if name.upper().endswith(_ENVIRONMENT_NAMES))


def _knowing(patterns: Iterable[str], secrets: Iterable[str], environ: bool = False) -> Redactor:
    """A redactor of these patterns that knows these secrets."""
    made = Redactor(patterns, environ=environ)
    made.learn(secrets)
    return made


def names_a_secret(name: str) -> bool:
    """Whether a setting of that name is a secret."""
    words = {word.lower() for word in _WORD.findall(name)}
    return bool(words & _SECRET_WORDS) or _names_nothing_else(name)


def _names_what_is_private(name: str) -> bool:
    return names_a_secret(name) or any(word.lower() in _PRIVATE_WORDS for word in _WORD.findall(name))


def _names_nothing_else(name: str) -> bool:
    return bool(_SECRET_NAMES.search(name))


def _is_distinct(secret: str) -> bool:
    """Whether `secret` is unlikely to be ordinary text, unlike placeholders such as "EMPTY" and "lm-studio"."""
    return len(secret) >= 16 or (len(secret) >= 8 and any(map(str.isdigit, secret)) and any(map(str.isalpha, secret)))


def _masked(value: Any) -> Any:
    """`value` with every text masked. Numbers and switches (`token_limit`, `use_auth`) are not secrets."""
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return MASK if isinstance(value, str) and value else value


def _secrets(value: Any, inside: bool = False) -> Iterator[str]:
    """The strings under a secret's name."""
    if isinstance(value, str):
        if inside:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item, inside)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _secrets(item, inside or names_a_secret(name))
