"""Policy rules on data: what logs may contain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlm_secure.audit.finding import Confidence, Finding, Severity
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.checks import OutOfSteps, Pattern, PatternRefused, Steps
from rlm_secure.guarantees import Guarantee
from rlm_secure.policy.complaint import shown

#: A repeated innermost group, in a pattern without its escapes.
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_GROUP = re.compile(r"\(([^()]*+)\)[+*{]")
#: Limit of the steps of one pattern on one of these texts.
_STEPS = 20_000
_ORDINARY = ("the root cause is line 7", "2026-01-01 12:00:00 ok", "")


class ContextLogged(Rule[PolicySubject]):
    """The context may be written to logs.

    The context is the confidential input of a run, and the largest. A log outlives the run, is copied, and is read by
    people and tools that must not see the documents.

    Bad:
        [data]
        log_context = true

    Good:
        [data]
        log_context = false

    See:
        threat-model.md, section 2
    """

    id = "context-logged"
    kind = Kind.POLICY
    severity = Severity.HIGH
    weakens = (Guarantee.NO_SECRETS,)
    hint = "leave data.log_context false; logs then say how large it was"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        if subject.policy.data.log_context:
            yield self.finding(subject.at("data.log_context"), "data.log_context is true", about="data.log_context")


class PromptsLogged(Rule[PolicySubject]):
    """Prompts are logged, and no secrets of your own are masked in them.

    Keys of well-known issuers are masked by default. Only you know what your own secrets look like (a customer
    number, an internal token).

    Bad:
        [data]
        log_prompts = true
        redact = []

    Good:
        [data]
        redact = ["ACME-[0-9]{8}"]

    See:
        policies/TEMPLATE.toml, data.redact
    """

    id = "prompts-logged"
    kind = Kind.POLICY
    severity = Severity.INFO
    weakens = (Guarantee.NO_SECRETS,)
    hint = "add patterns to data.redact, or set data.log_prompts to false"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        if subject.policy.data.log_prompts and not subject.policy.data.redact:
            message = "prompts and replies are logged, and data.redact is empty"
            yield self.finding(subject.at("data.log_prompts"), message, about="data.log_prompts")


class RedactEverything(Rule[PolicySubject]):
    """A pattern of `redact` matches ordinary text, or the empty string.

    Logs then contain only masks, and do not show what a run did. An attacker could add such a pattern to hide it.

    Bad:
        [data]
        redact = [".*"]

    Good:
        [data]
        redact = ["ACME-[0-9]{8}"]

    See:
        policies/TEMPLATE.toml, data.redact
    """

    id = "redact-everything"
    kind = Kind.POLICY
    confidence = Confidence.MEDIUM
    hint = "match what a secret looks like, and nothing else"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, pattern in enumerate(subject.policy.data.redact):
            if _is_ordinary(pattern):
                message = f"data.redact has {shown(pattern)}, which matches ordinary text"
                yield self.finding(subject.at("data.redact", index), message, about=f"data.redact {pattern}")


class RedactSlow(Rule[PolicySubject]):
    """A pattern of `redact` repeats a repetition.

    On a crafted text, most programs need time for such a pattern that doubles with each character, and logged text
    comes from cells and models. This host stops after a limited number of steps, and then masks the whole text: the
    log does not contain it at all.

    Bad:
        [data]
        redact = ["(a+)+b"]

    Good:
        [data]
        redact = ["a+b"]

    See:
        https://owasp.org/www-community/attacks/Regular_expression_Denial_of_Service_-_ReDoS
    """

    id = "redact-slow"
    kind = Kind.POLICY
    confidence = Confidence.MEDIUM
    hint = "take one of the repetitions out"

    def check(self, subject: PolicySubject) -> Iterator[Finding]:
        for index, pattern in enumerate(subject.policy.data.redact):
            if any("+" in group or "*" in group for group in _GROUP.findall(_ESCAPED.sub("", pattern))):
                message = f"data.redact has {shown(pattern)}, which repeats a repetition"
                yield self.finding(subject.at("data.redact", index), message, about=f"data.redact {pattern}")


def _is_ordinary(pattern: str) -> bool:
    """Whether a policy's pattern matches ordinary text. Does not use `re`, which may take exponential time."""
    try:
        known = Pattern(pattern)
        return any(known.search(text, Steps(_STEPS)) for text in _ORDINARY)
    except (PatternRefused, OutOfSteps):
        return False  # it uses lookaround, or is too large


RULES = (ContextLogged, PromptsLogged, RedactEverything, RedactSlow)
