"""The report as one page: no script, nothing that is loaded, readable on a phone, in light and dark.

It has the style and the escaping of the audit's page (rlm_secure/audit/formats/html.py): every text goes through
`_safe`.
"""

from __future__ import annotations

import shlex
from typing import Any

from rlm_secure.audit.formats import html
from rlm_secure.plural import counted

_safe = html._safe
_STYLE = f"{html._STYLE}p{{overflow-wrap:anywhere}}a{{color:var(--info)}}\n"
_CLASSES = {"passed": "good", "found": "bad", "not run": "bad", "left out": "warn"}
_QUICK = '<p class="warn">A quick report: samples, to see that everything runs. Not evidence to file.</p>'
#: Rows of a table that is shown open; a longer one is folded.
_OPEN = 20


def render(report: dict[str, Any]) -> str:
    """The page for a report, as the JSON has it."""
    bad = [each for each in report["sections"] if each["status"] in ("found", "not run")]
    verdict = "Every section that was asked for ran, and found nothing"
    if bad:
        verdict = f"{counted(len(bad), 'section')} to look at"
    parts = [
        f'<p class="verdict {"bad" if bad else "good"}">{_safe(verdict)}</p>',
        _made(report),
        _QUICK if report["quick"] else "",
        _contents(report["sections"]),
        *(_section(each) for each in report["sections"]),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Evidence: {_safe(verdict)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>rlm-secure: evidence</h1>\n{''.join(parts)}</main></body></html>\n"
    )


def _made(report: dict[str, Any]) -> str:
    commit, started = report["commit"], _safe(report["started"])
    state = "" if commit is None else "clean" if commit["clean"] else "with changes that are not committed"
    tree = "not a checkout of git" if commit is None else f"commit {commit['id']}, {state}"
    return (
        f'<p class="soft">rlm-secure {_safe(report["tool"]["version"])}, <code>{_safe(tree)}</code>, '
        f'<time datetime="{started}">{started}</time>, {report["seconds"]:.0f} seconds, '
        f"seed {_safe(report['seed'])}</p>"
    )


def _contents(sections: list[dict[str, Any]]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#{_safe(each["name"])}">{_safe(each["title"])}</a></th>{_status(each)}'
        f'<td class="number">{_seconds(each)}</td><td>{_safe(each["problem"])}</td></tr>'
        for each in sections
    )
    head = (
        '<th scope="col">section</th><th scope="col">status</th>'
        '<th scope="col" class="number">seconds</th><th scope="col">why</th>'
    )
    return _wide("Sections", f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")


def _status(section: dict[str, Any]) -> str:
    return f'<td class="{_CLASSES[section["status"]]}"><strong>{_safe(section["status"])}</strong></td>'


def _seconds(section: dict[str, Any]) -> str:
    return "" if section["run"] is None else f"{section['run']['seconds']:.1f}"


def _section(section: dict[str, Any]) -> str:
    parts = [f'<h2 id="{_safe(section["name"])}">{_safe(section["title"])}</h2><p>{_safe(section["about"])}</p>']
    if section["problem"]:
        style = _CLASSES[section["status"]]
        parts.append(f'<p class="{style}"><strong>{_safe(section["status"])}</strong>: {_safe(section["problem"])}</p>')
    if (run := section["run"]) is not None:
        same = f"; the same run as {_safe(run['of'])}" if run["of"] != section["name"] else ""
        parts.append(
            f'<p class="soft"><code>{_safe(shlex.join(run["command"]))}</code><br>exit code {_safe(run["exit_code"])}, '
            f"{run['seconds']:.1f} seconds of {run['bound_seconds']:.0f} at most{same}</p>"
        )
    if section["facts"]:
        rows = "".join(
            f'<tr><th scope="row">{_safe(name)}</th><td>{_safe(_shown(value))}</td></tr>'
            for name, value in section["facts"].items()
        )
        parts.append(_wide(f"Facts of {section['title']}", f"<table><tbody>{rows}</tbody></table>"))
    parts += [_table(section, each) for each in section["tables"] if each["rows"]]
    return "".join(parts)


def _table(section: dict[str, Any], table: dict[str, Any]) -> str:
    numbers = [all(isinstance(row[at], int | float) for row in table["rows"]) for at in range(len(table["columns"]))]
    styles = [' class="number"' if each else "" for each in numbers]
    columns = zip(table["columns"], styles, strict=True)
    head = "".join(f'<th scope="col"{style}>{_safe(column)}</th>' for column, style in columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row, styles))}</tr>" for row in table["rows"])
    label = f"{table['title']} ({section['title']})"
    inside = _wide(label, f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    title = f"{_safe(table['title'])} ({len(table['rows'])})"
    return f"<details{' open' if len(table['rows']) <= _OPEN else ''}><summary>{title}</summary>{inside}</details>"


def _cell(value: Any, style: str) -> str:
    won = ' class="bad"' if value == "WON" else ""
    return f"<td{style or won}>{_safe(_shown(value))}</td>"


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _wide(label: str, inside: str) -> str:
    return f'<div class="wide" role="region" aria-label="{_safe(label)}" tabindex="0">{inside}</div>'
