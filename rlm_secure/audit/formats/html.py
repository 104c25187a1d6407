"""The report as one self-contained page: it has no script, and loads no font, image or other URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import Any

from rlm_secure.audit import rules
from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.formats.text import summary
from rlm_secure.audit.report import COULD_NOT_RUN, NOTHING_AUDITED, Report
from rlm_secure.audit.subject import EnvironmentSubject, Probe
from rlm_secure.guarantees import Guarantee
from rlm_secure.inert import inert
from rlm_secure.plural import counted
from rlm_secure.testing.verdict import Reach, Result

_STYLE = """
:root{color-scheme:light dark;--ink:#16202b;--soft:#4a5663;--paper:#fff;--card:#f4f6f8;--line:#c9d1d9;
--good:#0b6b37;--bad:#b3140f;--warn:#835200;--info:#1a5a96}
@media (prefers-color-scheme:dark){:root{--ink:#e8edf2;--soft:#aab6c2;--paper:#11161c;--card:#1b232c;--line:#3a4653;
--good:#5fd38d;--bad:#ff8f87;--warn:#f0b35a;--info:#7fbcf5}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:62rem;font:16px/1.5 system-ui,sans-serif}
body{color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2rem 0 .6rem}h3{font-size:1rem;margin:0;display:inline}
p{margin:.4rem 0}code,.mono{font-family:ui-monospace,monospace;font-size:.875rem;overflow-wrap:anywhere}
.soft{color:var(--soft)}.verdict{font-size:1.1rem;font-weight:700}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}.info{color:var(--info)}
.card{background:var(--card);border:1px solid var(--line);border-left:.4rem solid var(--line);border-radius:.4rem;
padding:.7rem .9rem;margin:.7rem 0}
.card.critical,.card.high{border-left-color:var(--bad)}.card.medium{border-left-color:var(--warn)}
.card.low,.card.info{border-left-color:var(--info)}
.tag{font-weight:700;text-transform:uppercase;font-size:.8rem;letter-spacing:.03em;margin-right:.5rem}
.wide{overflow-x:auto}
.wide:focus-visible,summary:focus-visible{outline:3px solid var(--info);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--soft);padding:.2rem 0}
th,td{text-align:left;padding:.35rem .55rem;border-bottom:1px solid var(--line);vertical-align:top}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
details{margin:.5rem 0}summary{cursor:pointer;padding:.3rem 0;font-weight:600}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);padding:.6rem;border-radius:.3rem;margin:.4rem 0}
ul{padding-left:1.2rem}
@media (max-width:40rem){th,td{padding:.3rem .35rem}table{font-size:.82rem}}
@media print{details{display:block}}
"""
#: Columns of the table of guarantees, and the class of a number in it that is not 0.
_OUTCOMES = (Result.STOPPED, Result.CONTAINED, Reach.REACHED, Reach.SURFACE, Result.NOT_CHECKED, Result.ERRORED)
_STYLES: dict[Result | Reach, str] = {Reach.REACHED: " bad", Reach.SURFACE: " warn"}
_CLASSES = {
    Severity.CRITICAL: "bad",
    Severity.HIGH: "bad",
    Severity.MEDIUM: "warn",
    Severity.LOW: "info",
    Severity.INFO: "info",
}
_RESULTS = {
    Result.WON: "bad",
    Result.ERRORED: "warn",
    Result.NOT_CHECKED: "warn",
    Result.STOPPED: "good",
    Result.CONTAINED: "good",
}


def render(report: Report) -> str:
    """The page."""
    verdict, style = _verdict(report)
    started = report.started
    when = f'<time datetime="{started.isoformat(timespec="seconds")}">{started:%Y-%m-%d %H:%M} UTC</time>'
    parts = [
        f'<p class="verdict {style}">{verdict}</p>',
        f"<p>{_safe(summary(report))}</p>",
        f'<p class="soft">rlm-secure {_safe(report.version)}, policy <code>{_safe(report.policy)}</code>, {when}</p>',
        *(_environment(each) for each in report.environments),
        _findings(report.findings),
        _not_checked(report),
        _ignored(report),
        _targets(report),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Audit: {verdict}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>rlm-secure audit</h1>\n{''.join(parts)}</main></body></html>\n"
    )


def _verdict(report: Report) -> tuple[str, str]:
    if report.code == NOTHING_AUDITED:
        return "Nothing was audited", "warn"
    if report.code == COULD_NOT_RUN:
        return "Not everything could be looked at", "bad"
    if report.code:
        return f"Findings at {report.fail_on} or above", "bad"
    return f"Clean at {report.fail_on}", "good"


def _findings(findings: Iterable[Finding]) -> str:
    listed = list(findings)
    if not listed:
        return "<h2>Findings</h2><p>None.</p>"
    return f"<h2>Findings ({len(listed)})</h2>" + "".join(_finding(each) for each in listed)


def _finding(finding: Finding) -> str:
    page = rules.get(finding.rule).page()
    weakens = ", ".join(f"<code>{each.value}</code>" for each in finding.weakens)
    return (
        f'<section class="card {finding.severity}"><div><span class="tag {_CLASSES[finding.severity]}">'
        f"{finding.severity}</span><h3>{_safe(finding.rule)}</h3></div>"
        f'<p>{_safe(finding.message)}</p><p class="mono">{_safe(str(finding.location))}</p>'
        f"<p><strong>Do:</strong> {_safe(finding.hint)}</p>"
        + (f'<p class="soft">Weakens {weakens}; confidence {finding.confidence}</p>' if weakens else "")
        + f"<details><summary>Why {_safe(finding.rule)}</summary><p>{_safe(page.summary)}</p><p>{_safe(page.why)}</p>"
        + (f"<pre><code>{_safe(page.good)}</code></pre>" if page.good else "")
        + "</details></section>"
    )


def _environment(environment: EnvironmentSubject) -> str:
    rows = []
    for guarantee in Guarantee:
        probes = [probe for probe in environment.probes if probe.guarantee is guarantee]
        number = Counter(probe.reach or probe.result for probe in probes)
        # Nothing is known about a foreign environment except the results of the attacks.
        level = environment.report.guarantee(guarantee).value if environment.report else "full"
        reached, surface = number[Reach.REACHED], number[Reach.SURFACE]
        says, style = ("broken", "bad") if reached else ("surface", "warn") if surface else ("holds", "good")
        held = number[Result.STOPPED] + number[Result.CONTAINED]
        if not (reached or surface) and (level != "full" or not held):
            says, style = (level if level != "full" else "not tried", "warn")
        rows.append(
            f'<tr><th scope="row">{guarantee.value}</th><td class="{style}"><strong>{says}</strong></td>'
            + "".join(
                f'<td class="number{_STYLES.get(outcome, "") if number[outcome] else ""}">{number[outcome]}</td>'
                for outcome in _OUTCOMES
            )
            + "</tr>"
        )
    name = _safe(environment.name)
    head = "".join(
        f'<th scope="col"{kind}>{title}</th>'
        for title, kind in (
            ("guarantee", ""),
            ("verdict", ""),
            *((outcome.value.replace("-", " "), ' class="number"') for outcome in _OUTCOMES),
        )
    )
    walls = ", ".join(f"{wall} ({count})" for wall, count in environment.walls().most_common())
    return (
        f"<h2>Environment {name}</h2>"
        f'<div class="wide" role="region" aria-label="Guarantees of {name}" tabindex="0"><table>'
        f"<caption>{counted(len(environment.probes), 'attack')} in {environment.seconds:.1f} seconds</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        + (f'<p class="soft">Stopped by: {_safe(walls)}</p>' if walls else "")
        + f'<p class="soft">Attacked {_safe(_where(environment))}</p>'
        + _walls(environment)
        + _probes(environment)
    )


def _where(environment: EnvironmentSubject) -> str:
    return f"in an arena; {environment.arena}" if environment.arena else "on this machine itself, without an arena"


def _walls(environment: EnvironmentSubject) -> str:
    if environment.report is None:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{each.wall.value}</th><td class="{"good" if each.enforced else "warn"}">'
        f"{_safe(each.level.value)}</td><td>{_safe(each.evidence)}</td></tr>"
        for each in environment.report.walls
    )
    return _folded(environment, "Walls, and what was tried", ("wall", "holds", "evidence"), rows)


def _probes(environment: EnvironmentSubject) -> str:
    order = list(_RESULTS)
    probes = sorted(environment.probes, key=lambda each: (order.index(each.result), each.guarantee, each.name))
    rows = "".join(_probe(each) for each in probes)
    columns = ("attack", "result", "by", "what was seen")
    return _folded(environment, f"All {len(probes)} attacks", columns, rows)


def _probe(probe: Probe) -> str:
    layer = "" if probe.screened else ' <span class="soft">(no language layer)</span>'
    result = f"WON ({probe.reach})" if probe.result is Result.WON else probe.result.value
    return (
        f'<tr><th scope="row"><code>{_safe(probe.name)}</code>{layer}<br><span class="soft">{probe.guarantee.value}'
        f'</span></th><td class="{_RESULTS[probe.result]}"><strong>{result}</strong></td>'
        f"<td>{probe.wall.value if probe.wall else ''}</td><td>{_safe(probe.evidence)}</td></tr>"
    )


def _folded(environment: EnvironmentSubject, title: str, columns: tuple[str, ...], rows: str) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in columns)
    label = _safe(f"{title} of {environment.name}")
    return (
        f'<details><summary>{_safe(title)}</summary><div class="wide" role="region" aria-label="{label}" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _not_checked(report: Report) -> str:
    if not report.not_checked:
        return ""
    entries = "".join(
        f"<li><strong>{_safe(each.what)}</strong>: {_safe(each.reason)}</li>" for each in report.not_checked
    )
    return f"<h2>Not checked</h2><p>Never counted as clean.</p><ul>{entries}</ul>"


def _ignored(report: Report) -> str:
    if not report.ignored:
        return ""
    entries = "".join(
        f"<li><strong>{_safe(each.finding.rule)}</strong> <code>{_safe(str(each.finding.location))}</code>: "
        f"{_safe(each.reason)}</li>"
        for each in report.ignored
    )
    return f"<h2>Ignored ({len(report.ignored)})</h2><ul>{entries}</ul>"


def _targets(report: Report) -> str:
    entries = "".join(f"<li><code>{_safe(each)}</code></li>" for each in report.targets)
    return f"<details><summary>Audited ({len(report.targets)})</summary><ul>{entries}</ul></details>"


def _safe(text: Any) -> str:
    return escape(inert(str(text)))
