"""Findings that do not count: those that a policy accepts until a date, and those in the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlm_secure.audit.finding import Finding, Unreadable
from rlm_secure.audit.read import files
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.report import Ignored
from rlm_secure.audit.rules.ignores import IgnoreUnmatched
from rlm_secure.policy.model import Ignore
from rlm_secure.untrusted_json import MalformedJson, loads

BASELINE_VERSION = 1
#: Rules with this prefix report errors in the list of accepted findings, so no entry can accept them.
_ALWAYS = "ignore-"


def apply_ignores(
    findings: Sequence[Finding],
    policy: PolicySubject,
    ran: frozenset[str],
    files_seen: frozenset[str],
    known: Iterable[Ignored] = (),
) -> tuple[list[Finding], list[Ignored]]:
    """The findings that count, plus one for each entry that matches nothing; and those that `policy` accepts.

    An entry is unmatched only if its rule `ran` and its file is in `files_seen`, and if it does not match a finding
    that was accepted earlier (`known`).
    """
    if policy.loaded is None:
        return list(findings), []
    matching: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        for key in _keys(each):
            matching.setdefault(key, []).append(each)
    accepted = {key for each in known for key in _keys(each.finding)}
    left, ignored = dict.fromkeys(findings), list[Ignored]()
    done: set[tuple[str, str]] = set()
    for index, entry in enumerate(policy.policy.audit.ignore):
        key = entry.rule, entry.at
        if key not in matching and key not in accepted and _would_have(entry, ran, files_seen):
            left[IgnoreUnmatched().unmatched(policy, index)] = None
        if entry.expires <= policy.today or key in done:
            continue
        done.add(key)
        reason = f"{entry.reason} (until {entry.expires.isoformat()})"
        for each in matching.get(key, ()):
            if each in left:
                del left[each]
                ignored.append(Ignored(each, reason))
    return list(left), ignored


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
    """A baseline of these findings, as JSON: fingerprints, with rule, place and message for human review."""
    entries = [
        {"fingerprint": each.fingerprint, "rule": each.rule, "at": str(each.location), "message": each.message}
        for each in findings
    ]
    return {"version": BASELINE_VERSION, "findings": sorted(entries, key=lambda each: (each["rule"], each["at"]))}


def apply_baseline(findings: Iterable[Finding], known: frozenset[str]) -> tuple[list[Finding], list[Ignored]]:
    """The new findings, and those that are in the baseline."""
    new, old = [], []
    for each in findings:
        if each.fingerprint in known:
            old.append(Ignored(each, "in the baseline"))
        else:
            new.append(each)
    return new, old


def _keys(finding: Finding) -> set[tuple[str, str]]:
    """The rule with each form of the place that an entry may use to accept this finding."""
    if finding.rule.startswith(_ALWAYS):
        return set()
    place = finding.location
    return {(finding.rule, at) for at in ("", str(place), place.file, f"{place.file}:{place.line}")}


def _would_have(entry: Ignore, ran: frozenset[str], files_seen: frozenset[str]) -> bool:
    if entry.rule not in ran:
        return False
    file = entry.at
    for _ in range(2):
        head, _, tail = file.rpartition(":")
        if head and tail.isdigit():
            file = head
    return not entry.at or file in files_seen
