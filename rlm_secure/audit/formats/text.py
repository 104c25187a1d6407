"""The report for people: what was found, where, what to do, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.report import Report
from rlm_secure.audit.subject import EnvironmentSubject
from rlm_secure.guarantees import Guarantee
from rlm_secure.inert import inert
from rlm_secure.plural import counted
from rlm_secure.testing.verdict import Reach, Result

_STYLES = {
    Severity.INFO: "dim",
    Severity.LOW: "cyan",
    Severity.MEDIUM: "yellow",
    Severity.HIGH: "red",
    Severity.CRITICAL: "bold red",
}
_MANY = 6  # how many unjudged attacks are named for each reason


def render(report: Report) -> Text:
    """The whole report, with terminal styles."""
    text = Text()
    for finding in report.findings:
        text.append(_finding(finding))
    for environment in report.environments:
        text.append(_environment(environment))
    for each in report.not_checked:
        text.append("not checked ", "yellow")
        text.append(one_line(f"{each.what}: {each.reason}") + "\n")
    text.append(summary(report) + "\n", "bold")
    return text


def summary(report: Report) -> str:
    """One line: what passed, what was found, what was not checked."""
    counts = [f"{report.counts[each]} {each}" for each in reversed(Severity) if report.counts[each]]
    number = len(report.findings)
    found = counted(number, "finding") + (f" ({', '.join(counts)})" if counts else "")
    ignored = f" · {len(report.ignored)} ignored" if report.ignored else ""
    stopped = sum(each.count(Result.STOPPED) + each.count(Result.CONTAINED) for each in report.environments)
    attacks = f" · {counted(stopped, 'attack')} held" if report.environments else ""
    return (
        f"{counted(report.passed, 'check')} passed{attacks} · {found}{ignored} · {report.not_checked_count} not checked"
        f" · {report.seconds:.1f} s"
    )


def one_line(text: str) -> str:
    """Text on one line: a program that reads the output could take a new line for a command."""
    return inert(text).replace("\r", "\\r").replace("\n", "\\n")


def _finding(finding: Finding) -> Text:
    text = Text()
    text.append(f"{finding.severity}", _STYLES[finding.severity])
    text.append(f" {finding.rule}", "bold")
    if finding.confidence != "high":
        text.append(f" (confidence {finding.confidence})", "dim")
    text.append("\n" + one_line(f"  --> {finding.location}") + "\n", "dim")
    text.append(one_line(f"  {finding.message}") + "\n")
    text.append("  do: ", "green")
    text.append(one_line(finding.hint) + "\n")
    if finding.weakens:
        text.append(f"  weakens {', '.join(each.value for each in finding.weakens)}\n", "dim")
    text.append("\n")
    return text


def _environment(environment: EnvironmentSubject) -> Text:
    text = Text(one_line(f"environment {environment.name}"), "bold")
    text.append(f": {counted(len(environment.probes), 'attack')} in {environment.seconds:.1f} s\n", "not bold")
    for line, style in _matrix(environment):
        text.append(line + "\n", style)
    walls = ", ".join(f"{wall} {number}" for wall, number in environment.walls().most_common())
    if walls:
        text.append(f"  stopped by: {walls}\n", "dim")
    where = f"in an arena; {environment.arena}" if environment.arena else "on this machine itself, without an arena"
    text.append(one_line(f"  attacked {where}") + "\n", "dim" if environment.arena else "yellow")
    for (result, reason), number in environment.unjudged().most_common():
        names = [each.name for each in environment.probes if (each.result, each.evidence) == (result, reason)]
        shown = ", ".join(names[:_MANY]) + (f" and {number - _MANY} more" if number > _MANY else "")
        text.append(
            one_line(f"  {result.value} {number}: {reason}: {shown}") + "\n",
            "yellow" if result is Result.ERRORED else "dim",
        )
    text.append("\n")
    return text


def _matrix(environment: EnvironmentSubject) -> Iterator[tuple[str, str]]:
    columns = f"{'stopped':>9}{'contained':>11}{'REACHED':>9}{'surface':>9}{'not checked':>13}{'errored':>9}"
    yield f"  {'guarantee':<20}{columns}   walls", "dim"
    for guarantee in Guarantee:
        probes = [probe for probe in environment.probes if probe.guarantee is guarantee]
        if not probes:
            continue
        number = Counter(probe.reach or probe.result for probe in probes)
        level = environment.report.guarantee(guarantee).value if environment.report else "tried, not asked"
        line = (
            f"  {guarantee.value:<20}{number[Result.STOPPED]:>9}{number[Result.CONTAINED]:>11}"
            f"{number[Reach.REACHED]:>9}{number[Reach.SURFACE]:>9}{number[Result.NOT_CHECKED]:>13}"
            f"{number[Result.ERRORED]:>9}   {level}"
        )
        yield line, "bold red" if number[Reach.REACHED] else "yellow" if number[Reach.SURFACE] else ""
