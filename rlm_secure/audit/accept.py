"""What does not count: findings that a policy accepts until a date, and those that a baseline has already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlm_secure.audit.finding import Finding, Unreadable
from rlm_secure.audit.read import files
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.report import Ignored
from rlm_secure.audit.rules import BY_ID
from rlm_secure.audit.rules.ignores import IgnoreUnmatched
from rlm_secure.policy.model import Ignore
from rlm_secure.untrusted_json import MalformedJson, loads

BASELINE_VERSION = 1
#: Whoever accepts findings cannot accept that the list of them is wrong.
_ALWAYS = "ignore-"


def apply_ignores(
    findings: Sequence[Finding], policies: Iterable[PolicySubject], ran: frozenset[str], files_seen: frozenset[str]
) -> tuple[list[Finding], list[Ignored]]:
    """The findings that count and those that policies accept, with a finding for each entry that matches nothing.

    `ran` are the rules that looked at something, `files_seen` the files: no other entry can be called unmatched.
    """
    left = list(findings)
    ignored: list[Ignored] = []
    for policy in policies:
        if policy.loaded is None:
            continue
        for index, entry in enumerate(policy.policy.audit.ignore):
            matching = [each for each in left if _matches(entry, each)]
            known = any(_matches(entry, each.finding) for each in ignored)
            if not matching and not known and _would_have(entry, ran, files_seen):
                left.append(IgnoreUnmatched().unmatched(policy, index))
            if entry.expires <= policy.today:
                continue
            reason = f"{entry.reason} (until {entry.expires.isoformat()})"
            ignored += [Ignored(each, reason) for each in matching]
            left = [each for each in left if each not in matching]
    return left, ignored


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints in a baseline. Raises Unreadable."""
    try:
        value: Any = loads(files.text(path))
    except MalformedJson:
        raise Unreadable(f"{path}: this is not JSON; write a new one with --write-baseline") from None
    entries = value.get("findings") if isinstance(value, dict) and value.get("version") == BASELINE_VERSION else None
    if not isinstance(entries, list):
        raise Unreadable(f"{path}: this is no baseline of version {BASELINE_VERSION}; write one with --write-baseline")
    return frozenset(str(each.get("fingerprint")) for each in entries if isinstance(each, dict))


def baseline(findings: Iterable[Finding]) -> Mapping[str, Any]:
    """A baseline of these findings, as JSON: fingerprints, with what they stand for so that people can review it."""
    entries = [
        {"fingerprint": each.fingerprint, "rule": each.rule, "at": str(each.location), "message": each.message}
        for each in findings
    ]
    return {"version": BASELINE_VERSION, "findings": sorted(entries, key=lambda each: (each["rule"], each["at"]))}


def apply_baseline(findings: Iterable[Finding], known: frozenset[str]) -> tuple[list[Finding], list[Ignored]]:
    """The findings that are new, and those that the baseline has."""
    new, old = [], []
    for each in findings:
        if each.fingerprint in known:
            old.append(Ignored(each, "in the baseline"))
        else:
            new.append(each)
    return new, old


def _matches(entry: Ignore, finding: Finding) -> bool:
    if entry.rule != finding.rule or finding.rule.startswith(_ALWAYS):
        return False
    place = finding.location
    return entry.at in ("", str(place), place.file, f"{place.file}:{place.line}")


def _would_have(entry: Ignore, ran: frozenset[str], files_seen: frozenset[str]) -> bool:
    if entry.rule not in BY_ID or entry.rule not in ran:
        return False
    file = entry.at
    for _ in range(2):
        head, _, tail = file.rpartition(":")
        if head and tail.isdigit():
            file = head
    return not entry.at or file in files_seen
