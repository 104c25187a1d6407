"""Policy rules on accepted findings. Whether an entry still matches one is known only after all other rules ran."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import ClassVar

from rlm_secure import registry
from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.rule import Kind, Rule

_LONG = timedelta(days=400)


class IgnoreExpired(Rule[PolicySubject]):
    """The entry for an accepted finding has expired.

    The finding that it accepted counts again as well. Moving the date is a decision, and belongs in a review.

    Bad:
        [[audit.ignore]]
        rule = "context-logged"
        reason = "a week of debugging"
        expires = 2020-01-31

    Good:
        [audit]
        ignore = []

    See:
        policies/TEMPLATE.toml, audit.ignore
    """

    id = "ignore-expired"
    kind = Kind.POLICY
    hint = "put the finding right and take the entry out, or give a new date and a new reason"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, entry in enumerate(subject.policy.audit.ignore):
            if entry.expires <= subject.today:
                message = f"the entry for {entry.rule} ended on {entry.expires.isoformat()}"
                yield self.finding(subject.at("audit.ignore", index), message, about=f"{entry.rule} {entry.at}")


class IgnoreEndless(Rule[PolicySubject]):
    """A finding is accepted for more than a year.

    A date that far away has no effect: the decision will not be reviewed again.

    Bad:
        [[audit.ignore]]
        rule = "context-logged"
        at = "policy.toml:2:1"
        reason = "we need the logs"
        expires = 2999-12-31

    Good:
        [audit]
        ignore = []

    See:
        policies/TEMPLATE.toml, audit.ignore
    """

    id = "ignore-endless"
    kind = Kind.POLICY
    severity = Severity.LOW
    hint = "give a date within a year"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, entry in enumerate(subject.policy.audit.ignore):
            if entry.expires > subject.today + _LONG:
                message = f"the entry for {entry.rule} holds until {entry.expires.isoformat()}"
                yield self.finding(subject.at("audit.ignore", index), message, about=f"{entry.rule} {entry.at}")


class IgnoreEverywhere(Rule[PolicySubject]):
    """An entry accepts all findings of a rule, in every file.

    The next finding of the same rule, in another file, is then accepted without review.

    Bad:
        [[audit.ignore]]
        rule = "context-logged"
        reason = "a week of debugging"
        expires = 2020-01-31

    Good:
        [[audit.ignore]]
        rule = "context-logged"
        at = "policy.toml:2:1"
        reason = "a week of debugging"
        expires = 2020-01-31

    See:
        policies/TEMPLATE.toml, audit.ignore
    """

    id = "ignore-everywhere"
    kind = Kind.POLICY
    severity = Severity.LOW
    hint = 'say where, as the finding shows it: at = "file:line:column", or "file"'

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, entry in enumerate(subject.policy.audit.ignore):
            if not entry.at:
                message = f"the entry for {entry.rule} holds everywhere"
                yield self.finding(subject.at("audit.ignore", index), message, about=entry.rule)


class IgnoreUnknown(Rule[PolicySubject]):
    """An entry accepts findings of a rule that does not exist.

    After a typo in the name the finding still counts, and the entry would accept findings of a future rule of that
    name.

    Bad:
        [[audit.ignore]]
        rule = "context-loged"
        at = "policy.toml:2:1"
        reason = "a week of debugging"
        expires = 2020-01-31

    Good:
        [[audit.ignore]]
        rule = "context-logged"
        at = "policy.toml:2:1"
        reason = "a week of debugging"
        expires = 2020-01-31

    See:
        rlm-secure audit --list-rules
    """

    id = "ignore-unknown"
    kind = Kind.POLICY
    hint = "correct the name; rlm-secure audit --list-rules shows all"
    known: ClassVar[Collection[str]] = ()
    """The ids of our rules; set in rules/__init__.py. What other distributions add is looked up, and not imported."""

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, entry in enumerate(subject.policy.audit.ignore):
            if entry.rule not in self.known and (reason := self._unknown(entry.rule)):
                yield self.finding(subject.at("audit.ignore", index), reason, about=f"{entry.rule} {entry.at}")

    def _unknown(self, name: str) -> str:
        """Why no rule of another distribution is known by `name`; "" if there is one."""
        try:
            others = registry.plugins(registry.PluginGroup.RULES, self.known)
        except ValueError as error:  # they disagree; that is no fault of the policy
            return f"nobody can say whether a rule is called {name}: {error}"
        return "" if name in others else f"no rule is called {name}"


class IgnoreUnmatched(Rule[PolicySubject]):
    """An entry accepts a finding that does not exist any more.

    It would accept the same mistake if it is made again. An audit reports only entries for files and rules that it
    checked.

    Bad:
        [[audit.ignore]]
        rule = "context-logged"
        reason = "a week of debugging"
        expires = 2020-01-31

    Good:
        [audit]
        ignore = []

    See:
        policies/TEMPLATE.toml, audit.ignore
    """

    id = "ignore-unmatched"
    kind = Kind.POLICY
    severity = Severity.LOW
    hint = "take the entry out"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:  # noqa: ARG002 - found by ignores.py, after all rules
        return iter(())

    def unmatched(self, subject: PolicySubject, index: int) -> Finding:
        """The finding for the entry with this index."""
        entry = subject.policy.audit.ignore[index]
        message = f"the entry for {entry.rule} matches no finding"
        return self.finding(subject.at("audit.ignore", index), message, about=f"{entry.rule} {entry.at}")


RULES = (IgnoreExpired, IgnoreEndless, IgnoreEverywhere, IgnoreUnknown, IgnoreUnmatched)
