"""The result of an audit, as a value. The formats turn it into text; only the command line prints."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from rlm_secure.audit.finding import Finding, NotChecked, Severity
from rlm_secure.audit.subject import EnvironmentSubject
from rlm_secure.inert import inert_line

CLEAN = 0
"""Exit code of `rlm-secure audit`: nothing at or above the level that fails. Those beside these four are reserved."""
FOUND = 1
"""Exit code: findings."""
COULD_NOT_RUN = 2
"""Exit code: the audit could not run."""
NOTHING_AUDITED = 3
"""Exit code: nothing was looked at."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that does not count: the policy accepts it until a date, or the baseline contains it."""

    finding: Finding
    """What was found."""
    reason: str
    """Why it does not count."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", inert_line(self.reason))


@dataclass(frozen=True, slots=True)
class Report:
    """The complete result of an audit.

    `checks` counts pairs of a rule and a target; `failed` is how many of them have findings that count. With `strict`,
    `code` is COULD_NOT_RUN if anything was not checked.
    """

    version: str
    """The version of rlm-secure that made it."""
    policy: str
    """The name of the policy of `--policy`."""
    started: datetime
    """When the audit began."""
    seconds: float
    """How long it took."""
    targets: tuple[str, ...]
    """What was looked at."""
    findings: tuple[Finding, ...]
    """The problems that count."""
    ignored: tuple[Ignored, ...] = ()
    """The problems that do not, each with the reason."""
    not_checked: tuple[NotChecked, ...] = ()
    """What could not be looked at."""
    environments: tuple[EnvironmentSubject, ...] = ()
    """What was attacked, with what each attack came to."""
    checks: int = 0
    failed: int = 0
    fail_on: Severity = Severity.MEDIUM
    """The least severity with which an audit fails."""
    rules: tuple[str, ...] = field(default=())
    """The ids of the rules that were used."""
    strict: bool = False

    @property
    def passed(self) -> int:
        """Checks that ran and found nothing that counts."""
        return self.checks - self.failed

    @property
    def counts(self) -> Counter[Severity]:
        """Findings by severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def code(self) -> int:
        """The exit code: CLEAN, FOUND, COULD_NOT_RUN or NOTHING_AUDITED.

        A requested environment that could not be judged gives COULD_NOT_RUN, whatever else was found.
        """
        if any(not environment.judged for environment in self.environments):
            return COULD_NOT_RUN
        if self.strict and self.not_checked:
            return COULD_NOT_RUN
        if not self.checks and not any(environment.probes for environment in self.environments):
            return NOTHING_AUDITED
        return FOUND if any(each.severity.rank >= self.fail_on.rank for each in self.findings) else CLEAN

    @property
    def not_checked_count(self) -> int:
        """How many things could not be checked, including attacks."""
        probes = sum(environment.count_not_checked() for environment in self.environments)
        return sum(each.count for each in self.not_checked) + probes
