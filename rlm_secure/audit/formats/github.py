"""The report as workflow commands of GitHub Actions: an annotation at each finding."""

from __future__ import annotations

from rlm_secure.audit.finding import Severity
from rlm_secure.audit.report import Report
from rlm_secure.inert import inert

_COMMANDS = {
    Severity.INFO: "notice",
    Severity.LOW: "notice",
    Severity.MEDIUM: "warning",
    Severity.HIGH: "error",
    Severity.CRITICAL: "error",
}


def render(report: Report) -> str:
    """One line for each finding and for each thing that was not checked."""
    lines = []
    for each in report.findings:
        place = each.location
        where = f"file={_property(place.file)},line={place.line},col={place.column}"
        title = _property(f"{each.rule} ({each.severity})")
        lines.append(f"::{_COMMANDS[each.severity]} {where},title={title}::{_data(f'{each.message}; {each.hint}')}")
    lines += [f"::warning title=not checked::{_data(f'{each.what}: {each.reason}')}" for each in report.not_checked]
    return "".join(f"{line}\n" for line in lines)


def _data(text: str) -> str:
    # Without these escapes a text could end the line and start another workflow command.
    return inert(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
