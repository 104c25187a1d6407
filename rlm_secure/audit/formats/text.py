"""The report for people: what was found, where, what to do, and what could not be looked at."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.probes import EnvironmentSubject
from rlm_secure.audit.report import Report
from rlm_secure.guarantees import Guarantee
from rlm_secure.logger.inert import inert
from rlm_secure.testing.probe import Result

_STYLES = {
    Severity.INFO: "dim",
    Severity.LOW: "cyan",
    Severity.MEDIUM: "yellow",
    Severity.HIGH: "red",
    Severity.CRITICAL: "bold red",
}
_MANY = 12  # wins of one environment that are listed one by one


def render(report: Report) -> Text:
    """The whole report, with styles that a terminal may show."""
    text = Text()
    wins = 0
    for finding in report.findings:
        wins += finding.rule == "attack-won"
        if finding.rule != "attack-won" or wins <= _MANY:
            text.append(_finding(finding))
    if wins > _MANY:
        text.append(f"... and {wins - _MANY} more attacks that won; --format json lists them all\n\n", "bold red")
    for environment in report.environments:
        text.append(_environment(environment))
    for each in report.not_checked:
        text.append("not checked ", "yellow")
        text.append(inert(f"{each.what}: {each.reason}\n"))
    text.append(summary(report) + "\n", "bold")
    return text


def summary(report: Report) -> str:
    """One line: what passed, what was found, what was not checked."""
    counts = [f"{report.counts[each]} {each}" for each in reversed(Severity) if report.counts[each]]
    number = len(report.findings)
    found = f"{number} finding{'s' * (number != 1)}" + (f" ({', '.join(counts)})" if counts else "")
    ignored = f" · {len(report.ignored)} ignored" if report.ignored else ""
    stopped = sum(each.count(Result.STOPPED) + each.count(Result.CONTAINED) for each in report.environments)
    attacks = f" · {stopped} attacks held" if report.environments else ""
    return (
        f"{report.passed} checks passed{attacks} · {found}{ignored} · {report.not_checked_count} not checked"
        f" · {report.seconds:.1f} s"
    )


def _finding(finding: Finding) -> Text:
    text = Text()
    text.append(f"{finding.severity}", _STYLES[finding.severity])
    text.append(f" {finding.rule}", "bold")
    if finding.confidence != "high":
        text.append(f" (confidence {finding.confidence})", "dim")
    text.append(inert(f"\n  --> {finding.location}\n"), "dim")
    text.append(inert(f"  {finding.message}\n"))
    text.append("  do: ", "green")
    text.append(inert(f"{finding.hint}\n"))
    if finding.weakens:
        text.append(f"  weakens {', '.join(each.value for each in finding.weakens)}\n", "dim")
    text.append("\n")
    return text


def _environment(environment: EnvironmentSubject) -> Text:
    text = Text(inert(f"environment {environment.name}"), "bold")
    text.append(f": {len(environment.probes)} attacks in {environment.seconds:.1f} s\n", "not bold")
    for line, style in _matrix(environment):
        text.append(line + "\n", style)
    walls = ", ".join(f"{wall} {number}" for wall, number in environment.walls().most_common())
    if walls:
        text.append(f"  stopped by: {walls}\n", "dim")
    text.append("\n")
    return text


def _matrix(environment: EnvironmentSubject) -> Iterator[tuple[str, str]]:
    yield f"  {'guarantee':<20}{'stopped':>9}{'contained':>11}{'WON':>6}{'not checked':>13}   walls", "dim"
    for guarantee in Guarantee:
        probes = [probe for probe in environment.probes if probe.guarantee is guarantee]
        if not probes:
            continue
        number = {result: sum(probe.result is result for probe in probes) for result in Result}
        level = environment.report.guarantee(guarantee).value if environment.report else "unknown"
        line = (
            f"  {guarantee.value:<20}{number[Result.STOPPED]:>9}{number[Result.CONTAINED]:>11}"
            f"{number[Result.WON]:>6}{number[Result.NOT_CHECKED]:>13}   {level}"
        )
        yield line, "bold red" if number[Result.WON] else ""
