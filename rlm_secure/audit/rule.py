"""The base class of rules. The docstring of a rule is the page that `rlm-secure explain` prints.

The page has a summary, the reason, `Bad:` and `Good:` with an example each, and `See:` with references. A test
runs each rule on its examples: the bad one must give a finding, the good one must not.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from rlm_secure.audit.finding import Confidence, Finding, Location, Severity
from rlm_secure.guarantees import Guarantee

S = TypeVar("S")

_PARTS = ("Bad:", "Good:", "See:")
_HOME = "https://github.com/rlm-secure/rlm-secure/blob/main"


class Kind(StrEnum):
    """What a rule checks."""

    POLICY = "policy"
    PACKAGES = "packages"
    PYTHON = "python"
    DOCKERFILE = "dockerfile"
    CONTAINER = "container"
    SECCOMP = "seccomp"
    CELLS = "cells"
    TRAJECTORY = "trajectory"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's parsed docstring. `bad` and `good` are examples of its kind of file; "" if a file cannot show it."""

    summary: str
    """The first sentence."""
    why: str
    """Why it is a problem."""
    bad: str
    good: str
    see: tuple[str, ...]
    """Links to read more."""


class Rule(ABC, Generic[S]):
    """One kind of problem. Subclasses describe it in their docstring, and find it in `check`."""

    id: ClassVar[str]
    """A word or two in kebab case; it never changes."""
    kind: ClassVar[Kind]
    """What it looks at."""
    severity: ClassVar[Severity] = Severity.MEDIUM
    """How bad its findings are, unless one says otherwise."""
    confidence: ClassVar[Confidence] = Confidence.HIGH
    """How sure its findings are, unless one says otherwise."""
    weakens: ClassVar[tuple[Guarantee, ...]] = ()
    """The guarantees that the problem weakens, by the ids of threat-model.md."""
    hint: ClassVar[str] = ""
    """What to do, for findings of this rule without a more specific hint."""

    @abstractmethod
    def check(self, subject: S) -> Iterator[Finding]:
        """Yield a finding for each problem of this kind in `subject`."""

    @classmethod
    @functools.cache
    def page(cls) -> Page:
        """The docstring, parsed."""
        parts: dict[str, list[str]] = {"": []}
        part = ""
        for line in (inspect.getdoc(cls) or "").splitlines():
            if line in _PARTS:
                part = line
                parts[part] = []
            else:
                parts[part].append(line)
        texts = {name: inspect.cleandoc("\n".join(["", *lines])).strip() for name, lines in parts.items()}
        summary, _, why = texts[""].partition("\n\n")
        see = tuple(line.strip() for line in texts.get("See:", "").splitlines() if line.strip())
        return Page(summary, why, texts.get("Bad:", ""), texts.get("Good:", ""), see)

    @classmethod
    def markdown(cls) -> str:
        """The page as Markdown, for `explain` and for SARIF's `help.markdown`."""
        page = cls.page()
        text = f"# {cls.id}\n\n{page.summary}\n\n"
        text += f"Severity {cls.severity}, confidence {cls.confidence}, found in: {cls.kind}."
        if cls.weakens:
            text += " Weakens " + ", ".join(f"`{each}`" for each in cls.weakens) + "."
        text += f"\n\n## Why\n\n{page.why}\n\n## What to do\n\n{cls.hint[:1].upper()}{cls.hint[1:]}.\n"
        for title, example in (("Bad", page.bad), ("Good", page.good)):
            if example:
                text += f"\n## {title}\n\n```{_LANGUAGES.get(cls.kind, '')}\n{example}\n```\n"
        if page.see:
            text += "\n## See\n\n" + "\n".join(f"- {each}" for each in page.see) + "\n"
        return text

    @classmethod
    def source(cls) -> str | None:
        """The URL of the file that defines the rule. None for a rule of another distribution."""
        if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
            return None
        return f"{_HOME}/{cls.__module__.replace('.', '/')}.py"

    @classmethod
    def finding(
        cls,
        location: Location,
        message: str,
        *,
        about: str = "",
        hint: str = "",
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        weakens: tuple[Guarantee, ...] | None = None,
    ) -> Finding:
        """A finding of this rule. Arguments that are not given default to the rule's own values."""
        return Finding(
            rule=cls.id,
            severity=severity or cls.severity,
            confidence=confidence or cls.confidence,
            location=location,
            message=message,
            hint=hint or cls.hint,
            weakens=cls.weakens if weakens is None else weakens,
            about=about,
        )


_LANGUAGES = {
    Kind.POLICY: "toml",
    Kind.PACKAGES: "text",
    Kind.PYTHON: "python",
    Kind.DOCKERFILE: "dockerfile",
    Kind.CONTAINER: "yaml",
    Kind.SECCOMP: "json",
    Kind.CELLS: "python",
    Kind.TRAJECTORY: "json",
}
