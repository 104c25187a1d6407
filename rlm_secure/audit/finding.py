"""The results of an audit: a finding, its location, and its severity.

Names and contents of audited files are untrusted. All text here is made inert: one line that is safe to print.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from rlm_secure.guarantees import Guarantee
from rlm_secure.inert import inert_line


class Severity(StrEnum):
    """The damage that a true finding allows, from least to most."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info, 4 for critical."""
        return list(Severity).index(self)


class Confidence(StrEnum):
    """How certain it is that a finding is true."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; `line` and `column` are 1-based and count characters. 1:1 stands for the whole file."""

    file: str
    """The path as it was given, or the name of what is no file."""
    line: int = 1
    column: int = 1

    def __post_init__(self) -> None:
        _spell_out(self, "file")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem.

    `message` says what was found, `hint` what to do. `about` names the part of the file (a key, an instruction),
    so that the fingerprint stays the same when lines move.
    """

    rule: str
    """The id of the rule."""
    severity: Severity
    """How bad it is."""
    confidence: Confidence
    """How sure the rule is."""
    location: Location
    """Where it is."""
    message: str
    hint: str
    weakens: tuple[Guarantee, ...] = ()
    """The guarantees that hold less because of it."""
    about: str = ""

    def __post_init__(self) -> None:
        _spell_out(self, "message", "hint", "about")

    @property
    def fingerprint(self) -> str:
        """Identifies this finding in baselines: depends on the rule, the file and the part, not on the line."""
        text = "\0".join((self.rule, self.location.file, self.about or self.message))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Something that an audit was asked to check and could not. It never counts as clean."""

    what: str
    """The target, or the attack."""
    reason: str
    """Why it was not."""
    count: int = 1
    """How many things it names."""

    def __post_init__(self) -> None:
        _spell_out(self, "what", "reason")


class Unreadable(Exception):
    """A target cannot be read or parsed. `line` and `column` are 1-based; 1:1 if the place is not known."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(inert_line(message))
        self.line = line
        self.column = column


def _spell_out(made: object, *names: str) -> None:
    """Make the named texts of a frozen object inert, during its construction."""
    for name in names:
        object.__setattr__(made, name, inert_line(getattr(made, name)))
