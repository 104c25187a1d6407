"""The report as SARIF 2.1.0, for code scanning. The tests validate it against the official schema."""

from __future__ import annotations

import json
import re
from typing import Any

from rlm_secure.audit import rules
from rlm_secure.audit.finding import Finding, Location, Severity
from rlm_secure.audit.report import Report
from rlm_secure.audit.rule import Rule
from rlm_secure.inert import inert

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOME = "https://github.com/rlm-secure/rlm-secure"
_LEVELS = {
    Severity.INFO: "note",
    Severity.LOW: "note",
    Severity.MEDIUM: "warning",
    Severity.HIGH: "error",
    Severity.CRITICAL: "error",
}
#: The scores that code scanning sorts by, on the CVSS scale.
_SCORES = {
    Severity.INFO: "0.0",
    Severity.LOW: "3.0",
    Severity.MEDIUM: "5.0",
    Severity.HIGH: "7.5",
    Severity.CRITICAL: "9.5",
}
_FINGERPRINT = "rlmSecure/v1"


def render(report: Report) -> str:
    """One SARIF log with one run."""
    return json.dumps(value(report), indent=2, ensure_ascii=True) + "\n"


def value(report: Report) -> dict[str, Any]:
    """The log as plain values."""
    shown = [*report.findings, *(each.finding for each in report.ignored)]
    ids = list(dict.fromkeys((*report.rules, *(each.rule for each in shown))))
    results = [_result(each, ids) for each in report.findings]
    for each in report.ignored:
        suppression = {"kind": "external", "status": "accepted", "justification": inert(each.reason)}
        results.append({**_result(each.finding, ids), "suppressions": [suppression]})
    notifications = [
        {"level": "warning", "message": {"text": inert(f"not checked: {each.what}: {each.reason}")}}
        for each in report.not_checked
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rlm-secure",
                        "version": report.version,
                        "informationUri": _HOME,
                        "rules": [_rule(rules.get(each)) for each in ids],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "exitCode": report.code,
                        "startTimeUtc": report.started.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": results,
                "properties": {"notChecked": report.not_checked_count, "checks": report.checks},
            }
        ],
    }


def _rule(rule: type[Rule[Any]]) -> dict[str, Any]:
    page = rule.page()
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": page.why or page.summary},
        **({"helpUri": source} if (source := rule.source()) else {}),
        "help": {"text": f"{page.why}\n\n{rule.hint}", "markdown": rule.markdown()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "security-severity": _SCORES[rule.severity],
            "precision": {"low": "low", "medium": "medium", "high": "very-high"}[rule.confidence.value],
            "tags": ["security", rule.kind.value, *(each.value for each in rule.weakens)],
        },
    }


def _result(finding: Finding, ids: list[str]) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": inert(f"{finding.message}. {finding.hint[:1].upper()}{finding.hint[1:]}.")},
        "locations": [{"physicalLocation": _place(finding.location)}],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": {
            "severity": finding.severity.value,
            "confidence": finding.confidence.value,
            "weakens": [each.value for each in finding.weakens],
        },
    }


def _place(location: Location) -> dict[str, Any]:
    # A URI may contain only ASCII, and "environment:" would be parsed as a scheme.
    file = location.file.replace("environment:", "environments/").replace("installed:", "packages/")
    address = re.sub(r"[^A-Za-z0-9._~/+@-]", lambda match: "".join(f"%{b:02X}" for b in match[0].encode()), file)
    return {
        "artifactLocation": {"uri": address},
        "region": {"startLine": location.line, "startColumn": location.column},
    }
