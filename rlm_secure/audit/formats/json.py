"""The report as JSON. `schema` is its version: within a version keys may be added, but not changed or removed."""

from __future__ import annotations

import json
from typing import Any

from rlm_secure.audit.finding import Finding
from rlm_secure.audit.report import Report
from rlm_secure.audit.subject import EnvironmentSubject
from rlm_secure.inert import inert
from rlm_secure.testing.verdict import Result

SCHEMA = 1


def render(report: Report) -> str:
    """One JSON document, in ASCII."""
    return json.dumps(value(report), indent=2, ensure_ascii=True) + "\n"


def value(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "rlm-secure", "version": report.version},
        "policy": report.policy,
        "started": report.started.isoformat(timespec="seconds"),
        "seconds": round(report.seconds, 3),
        "exit_code": report.code,
        "fail_on": report.fail_on.value,
        "targets": [inert(each) for each in report.targets],
        "summary": {
            "findings": {severity.value: report.counts[severity] for severity in type(report.fail_on)},
            "checks": report.checks,
            "passed": report.passed,
            "ignored": len(report.ignored),
            "not_checked": report.not_checked_count,
        },
        "findings": [_finding(each) for each in report.findings],
        "ignored": [{**_finding(each.finding), "reason": inert(each.reason)} for each in report.ignored],
        "not_checked": [{"what": inert(each.what), "reason": inert(each.reason)} for each in report.not_checked],
        "environments": [_environment(each) for each in report.environments],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    place = finding.location
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "file": inert(place.file),
        "line": place.line,
        "column": place.column,
        "message": inert(finding.message),
        "hint": inert(finding.hint),
        "weakens": [guarantee.value for guarantee in finding.weakens],
        "fingerprint": finding.fingerprint,
    }


def _environment(environment: EnvironmentSubject) -> dict[str, Any]:
    return {
        "name": inert(environment.name),
        "seconds": round(environment.seconds, 3),
        "report": environment.report.to_dict() if environment.report else None,
        "missing": [wall.value for wall in environment.missing],
        "left_out": environment.left_out,
        "arena": None if environment.arena is None else inert(environment.arena),
        "trouble": inert(environment.trouble),
        "counts": {result.value: environment.count(result) for result in Result},
        "probes": [
            {
                "attack": probe.name,
                "guarantee": probe.guarantee.value,
                "language_layer": probe.screened,
                "result": probe.result.value,
                "reach": probe.reach.value if probe.reach else None,
                "wall": probe.wall.value if probe.wall else None,
                "evidence": inert(probe.evidence),
                "seconds": round(probe.seconds, 3),
            }
            for probe in environment.probes
        ],
    }
