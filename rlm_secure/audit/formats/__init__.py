"""A report as text: one file per format, each with one function from Report to str."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rlm_secure.audit.formats import github, html, json, junit, sarif
from rlm_secure.audit.report import Report

#: The formats that are plain text. `text` (for people) has styles, and is in text.py.
MACHINE: Mapping[str, Callable[[Report], str]] = {
    "json": json.render,
    "sarif": sarif.render,
    "junit": junit.render,
    "github": github.render,
    "html": html.render,
}
NAMES = ("text", *MACHINE)
