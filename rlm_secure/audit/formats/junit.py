"""The report as JUnit XML: one test case for each rule that was applied, and for each attack."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from rlm_secure.audit.finding import Finding
from rlm_secure.audit.report import Report
from rlm_secure.audit.subject import EnvironmentSubject, Probe
from rlm_secure.inert import inert
from rlm_secure.testing.verdict import Result

# The characters that XML 1.0 cannot represent, of those that inert() leaves.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """One document with a suite of rules, and one for each environment."""
    suites = [_rules(report), *(_environment(each) for each in report.environments)]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="rlm-secure audit">\n'
    return f"{head}{''.join(suites)}</testsuites>\n"


def _rules(report: Report) -> str:
    cases = []
    for rule in report.rules:
        counted = [each for each in report.findings if each.rule == rule]
        failing = [each for each in counted if each.severity.rank >= report.fail_on.rank]
        body = _failure(failing) if failing else _output(counted)
        cases.append(_case("rules", rule, 0.0, body))
    cases += [
        _case("rules", f"not checked: {each.what}", 0.0, f"<skipped message={_attribute(each.reason)}/>")
        for each in report.not_checked
    ]
    return _suite("rules", cases)


def _environment(environment: EnvironmentSubject) -> str:
    cases = []
    for probe in environment.probes:
        layer = "with-language-layer" if probe.screened else "without-language-layer"
        cases.append(_case(f"{environment.name}.{layer}", probe.name, probe.seconds, _probe(probe)))
    return _suite(f"environment {environment.name}", cases)


def _probe(probe: Probe) -> str:
    if probe.result is Result.WON:
        return f"<failure message={_attribute(probe.evidence)}/>"
    if probe.result is Result.ERRORED:
        return f"<error message={_attribute(probe.evidence)}/>"
    return f"<skipped message={_attribute(probe.evidence)}/>" if probe.result is Result.NOT_CHECKED else ""


def _failure(findings: Iterable[Finding]) -> str:
    lines = [f"{each.location}: {each.severity}: {each.message}; {each.hint}" for each in findings]
    return f"<failure message={_attribute(lines[0])}>{_text(chr(10).join(lines))}</failure>"


def _output(findings: Iterable[Finding]) -> str:
    lines = [f"{each.location}: {each.severity}: {each.message}" for each in findings]
    return f"<system-out>{_text(chr(10).join(lines))}</system-out>" if lines else ""


def _case(group: str, name: str, seconds: float, body: str) -> str:
    return f'<testcase classname={_attribute(group)} name={_attribute(name)} time="{seconds:.3f}">{body}</testcase>\n'


def _suite(name: str, cases: list[str]) -> str:
    failures = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    errors = sum("<error" in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    return f"<testsuite name={_attribute(name)} {counts}>\n{''.join(cases)}</testsuite>\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    return _NO_XML.sub("?", inert(text))
