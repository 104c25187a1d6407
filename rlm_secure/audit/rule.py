"""What a rule is: one class, whose docstring is the page that `rlm-secure explain` prints.

The page has a summary, the reason, `Bad:` and `Good:` with an example each, and `See:` with references. A test
feeds every example to its rule: the bad one must be found, the good one must not.
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
    """What a rule looks at."""

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
    """A rule, explained. `bad` and `good` are examples of its kind of file; "" where a file cannot show it."""

    summary: str
    why: str
    bad: str
    good: str
    see: tuple[str, ...]


class Rule(ABC, Generic[S]):
    """One thing that can be wrong. Subclasses say what in their docstring, and find it in `check`."""

    id: ClassVar[str]
    """A word or two in kebab case; it never changes."""
    kind: ClassVar[Kind]
    severity: ClassVar[Severity] = Severity.MEDIUM
    confidence: ClassVar[Confidence] = Confidence.HIGH
    weakens: ClassVar[tuple[Guarantee, ...]] = ()
    """The guarantees that it weakens, by the ids of threat-model.md."""
    hint: ClassVar[str] = ""
    """What to do, for every finding of this rule that has nothing more exact."""

    @abstractmethod
    def check(self, subject: S) -> Iterator[Finding]:
        """Everything of this kind that is wrong with `subject`."""

    @classmethod
    @functools.cache
    def page(cls) -> Page:
        """The docstring, taken apart."""
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
        """Where the rule is defined, as an address. None for a rule of another distribution."""
        if cls.__module__.partition(".")[0] != __package__.partition(".")[0]:
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
        """A finding of this rule. What is not given is the rule's own."""
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
