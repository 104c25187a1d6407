"""Renders a trajectory as one HTML page: no script, nothing loaded from anywhere, all text escaped.

A log's content was written by models and cells, so it is treated as an attack on the reader's browser: text is made
inert, then escaped, and a content security policy blocks what that might miss.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rlm_secure.inert import inert, inert_line
from rlm_secure.logger.read import entries, open_log
from rlm_secure.plural import counted
from rlm_secure.turns import SAME, BrokenTurn, advance, common
from rlm_secure.types import UNBOUNDED, json_safe

#: Longest text in the page, in characters.
_SHOWN: Final = 100_000
#: Most lines that are reported because they are not a JSON object.
_NAMED: Final = 1_000
#: Levels of nested children that are shown, and levels of JSON that are read.
_DEPTH: Final = 16
_LEVELS: Final = 160
#: Levels of a cell's variables: each is indented, so that a deep one would be mostly blanks.
_INDENTED: Final = 16

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:68rem;padding:0 1rem;color:#1b1b1b;background:#fff}
pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;padding:.6rem;
background:#f6f6f4;border-radius:4px}
details{margin:.4rem 0 .4rem .8rem}summary{cursor:pointer}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{color:#666}dd{margin:0;overflow-wrap:anywhere}
.turn{border-left:3px solid #ccc;padding-left:.8rem;margin:1.2rem 0}.note{color:#666}
pre.code{background:#eef4fb}pre.error{background:#fbeeee}pre.answer{background:#eaf6ea}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre{background:#222}dt,.note{color:#999}
.turn{border-color:#444}pre.code{background:#1b2633}pre.error{background:#331b1b}pre.answer{background:#1b331f}}
"""


def render(path: str | Path) -> str:
    """The page for a trajectory file. Raises OSError when it cannot be read or is no regular file, ValueError when it
    is too large.

    A line that is not a JSON object, or too long, is reported in the page; the rest is still shown.
    """
    return "".join(pieces(path))


def pieces(path: str | Path) -> Iterator[str]:
    """As render(), one entry at a time: a page is several times as large as its log, and never whole in memory.

    Errors are raised before the first piece, except an OSError in the middle of the file.
    """
    with open_log(path) as file:
        # Limited in depth here, so that the functions below need no limit.
        bounded = (json_safe(entry, depth=_LEVELS, nodes=UNBOUNDED, text=UNBOUNDED) for _, entry in entries(file))
        yield from _page(bounded, title=Path(path).name)


def page(log: Iterable[Any], *, title: str) -> str:
    """The page for the entries of a log: dicts as RLMLogger writes them, or a str for a line that is none."""
    return "".join(_page(log, title))


def _page(log: Iterable[Any], title: str) -> Iterator[str]:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
        f"<title>{_escaped(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{_escaped(title)}</h1>"
    )
    for part in _page_parts(log):
        yield "\n"
        yield part
    yield "\n</body></html>\n"


def _page_parts(log: Iterable[Any]) -> Iterator[str]:
    runs = named = 0
    seen: list[Any] = []
    for entry in log:
        if isinstance(entry, str):
            named += 1
            if named <= _NAMED:
                yield f'<p class="note">{_escaped(entry)}</p>'
        elif entry.get("type") == "metadata":
            yield _settings(entry)
        else:
            if entry.get("iteration") in (1, None) or not runs:
                runs, seen = runs + 1, []
                yield f"<h2>Run {runs}</h2>"
            yield _turn(entry, seen, _DEPTH)
    if named > _NAMED:
        yield f'<p class="note">and {counted(named - _NAMED, "more such line")}</p>'


def _settings(entry: Mapping[str, Any]) -> str:
    rows = (
        f"<dt>{_escaped(name)}</dt><dd>{_escaped(_shown(value))}</dd>"
        for name, value in entry.items()
        if name != "type"
    )
    return f"<dl>{''.join(rows)}</dl>"


def _turn(entry: Mapping[str, Any], seen: list[Any], depth: int) -> str:
    """`seen` is the prompt of the turn before, and becomes that of this one."""
    prompt = entry.get("prompt")
    label = f" · {_escaped(_shown(entry['label']))}" if entry.get("label") is not None else ""
    number = _escaped(_shown(entry.get("iteration")))
    parts = [f"<p><b>Turn {number}{label}</b>{_seconds(entry.get('iteration_time'))}</p>"]
    repeated = 0 if SAME in entry else common(_list(prompt), seen)
    try:
        old, new = advance(seen, entry)
    except BrokenTurn as broken:
        parts.append(f'<p class="note">{_escaped(str(broken))}</p>')
        old, new = 0, _list(prompt)
    if isinstance(prompt, list):
        if SAME not in entry:  # upstream's form: what is repeated is not shown again
            old, new = repeated, new[repeated:]
        if old:
            parts.append(f'<p class="note">{counted(old, "message")} as in the turn before</p>')
        parts += [_message(message) for message in new]
    else:
        parts.append(_folded("prompt", prompt))
    parts.append(_open("reply", _pre(entry.get("response"))))
    parts += [_cell(block, number, depth) for number, block in enumerate(_list(entry.get("code_blocks")), 1)]
    parts += [_action(action) for action in _list(entry.get("actions"))]
    if entry.get("final_answer") is not None:
        parts.append(_open("answer", _pre(entry["final_answer"], "answer")))
    return f'<div class="turn">{"".join(parts)}</div>'


def _action(action: Any) -> str:
    """A tool call, or a check, of an agent's turn."""
    action = action if isinstance(action, dict) else {}
    output, error = action.get("output"), action.get("error")
    parts = [_pre(action.get("input"), "code")]
    if isinstance(output, str) and isinstance(error, str) and output.removeprefix("Error: ").startswith(error):
        parts.append(_pre(output, "error"))  # the model was told the error: once is enough
    else:
        parts += [_pre(text, style) for text, style in ((output, ""), (error, "error")) if text]
    return _open(f"action {_shown(action.get('name'))}", "".join(parts), action.get("seconds"))


def _message(message: Any) -> str:
    if not isinstance(message, dict):
        return _folded("message", message)
    content = message.get("content")
    size = ", " + counted(len(content), "character") if isinstance(content, str) else ""
    return _folded(f"{_shown(message.get('role'))}{size}", content)


def _cell(block: Any, number: int, depth: int) -> str:
    block = block if isinstance(block, dict) else {}
    result = block.get("result") if isinstance(block.get("result"), dict) else {}
    parts = [_pre(block.get("code"), "code")]
    parts += [_pre(result[name], style) for name, style in (("stdout", ""), ("stderr", "error")) if result.get(name)]
    if isinstance(result.get("error"), dict):
        parts.append(_pre(": ".join(_shown(result["error"].get(name)) for name in ("type", "message")), "error"))
    if result.get("locals"):
        parts.append(_folded("variables", _indented(result["locals"])))
    if isinstance(written := result.get("files"), dict) and written:
        names = (f"{inert_line(str(name))}: {_shown(size)} bytes" for name, size in list(written.items())[:_NAMED])
        parts.append(_folded(counted(len(written), "file"), "\n".join(names)))
    parts += [_call(call, depth) for call in _list(result.get("rlm_calls"))]
    return _open(f"cell {number}", "".join(parts), result.get("execution_time"))


def _call(call: Any, depth: int) -> str:
    call = call if isinstance(call, dict) else {}
    parts = [_pre(call.get("prompt")), _pre(call.get("response"))]
    metadata = call.get("metadata")
    iterations = _list(metadata.get("iterations")) if isinstance(metadata, dict) else []
    seen: list[Any] = []
    shown = [each for each in iterations if isinstance(each, dict)] if depth > 0 else []
    parts += [_turn(each, seen, depth - 1) for each in shown]
    tokens = [f"{_shown(call[name])} {name.replace('_', ' ')}" for name in _TOKENS if name in call]
    title = ", ".join([f"{'child' if iterations else 'call'} of {_shown(call.get('root_model'))}", *tokens])
    return (
        f"<details><summary>{_escaped(title)}{_seconds(call.get('execution_time'))}</summary>{''.join(parts)}</details>"
    )


_TOKENS: Final = ("prompt_tokens", "completion_tokens")


def _folded(title: str, value: Any) -> str:
    return f"<details><summary>{_escaped(title)}</summary>{_pre(value)}</details>"


def _open(title: str, content: str, seconds: Any = None) -> str:
    return f"<details open><summary>{_escaped(title)}{_seconds(seconds)}</summary>{content}</details>"


def _pre(value: Any, style: str = "") -> str:
    return f'<pre class="{style}">{_escaped(_shown(value))}</pre>'


def _seconds(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9:
        return ""
    return f' <span class="note">{value:.1f} s</span>'


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _indented(value: Any) -> str:
    return json.dumps(json_safe(value, depth=_INDENTED, nodes=UNBOUNDED, text=UNBOUNDED), indent=2, ensure_ascii=False)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _escaped(text: str) -> str:
    """Escape text. All text in the page passes through here."""
    more = f"... + [{len(text) - _SHOWN} chars...]" if len(text) > _SHOWN else ""
    return html.escape(inert(text[:_SHOWN] + more), quote=True)
