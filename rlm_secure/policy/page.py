"""Policies as text: the commented template, the effective values with their origins, and the JSON Schema.

All of it is derived from the model, so it cannot contradict the code. `python -m rlm_secure.policy.page policies`
writes the generated files in policies/; a test fails when they are stale.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rlm_secure.inert import inert_line
from rlm_secure.policy.keys import Key, Order, keys, sections, value
from rlm_secure.policy.load import Loaded
from rlm_secure.policy.model import Policy
from rlm_secure.registry import ENVIRONMENTS

_WIDTH = 100
_SCHEMA_ID = "https://raw.githubusercontent.com/rlm-secure/rlm-secure/main/policies/policy.schema.json"

_PREFACE = """\
## A policy for rlm_secure: every key, what it means, and its default, which is that of `strict`.
##
## Copy this file and take the # away from the lines that you want to change; delete the rest.
##   rlm-secure policy check FILE          is it right?
##   rlm-secure policy diff strict FILE    what does it weaken?
##
## Units are in the names: _seconds, _bytes, _usd. Unknown keys, wrong types and impossible values
## are errors. No key brings back `open` or `__import__`: no policy can.
"""
#: What a page shows for a key whose default says too little.
_EXAMPLES: Mapping[str, str] = {
    "name": '"mine"',
    "description": '"What this policy is for."',
    "extends": '"strict"',
    "isolation.others": """[
    { name = "firecracker", walls = ["separate-process", "wall-clock", "output-cap"] },
]""",
    "isolation.best_effort": """[
    { wall = "user-namespace", reason = "our container runtime refuses user namespaces" },
]""",
    "audit.ignore": """[
    { rule = "best-effort-wall", reason = "accepted until the cluster is moved", expires = 2030-01-31 },
]""",
}


def template() -> str:
    """policies/TEMPLATE.toml: every key as a comment, explained, with its default."""
    page = _PREFACE
    for table, entries in _tables().items():
        page += f"\n{_comment(sections()[table])}\n[{table}]\n" if table else ""
        for key in entries:
            page += f"\n{_comment(_explained(key))}\n{_commented_out(key)}\n"
    return page


def render(policy: Policy, origins: Mapping[str, str] | None = None) -> str:
    """`policy` as TOML with every key, which loads as the same policy; `origins` are comments on keys."""
    page = ""
    for table, entries in _tables().items():
        page += f"\n[{table}]\n" if table else ""
        for key in entries:
            effective = value(policy, key.dotted)
            if effective is None:
                continue
            note = f"  # {origins[key.dotted]}" if origins and key.dotted in origins else ""
            page += f"{_name(key)} = {toml(effective)}{note}\n"
    return page


def show(loaded: Loaded) -> str:
    """The effective values of a loaded policy, each with the place where it was set, or "default"."""
    origins = {}
    for key in keys():
        origin = loaded.origins.get(key)
        if origin is None:
            origins[key] = "default"
        else:
            # Keep the comment on one line: a line end in a file's name would start a new line of TOML.
            source = inert_line(origin.source)
            origins[key] = f"{source}:{origin.line}" if origin.line else source
    return render(loaded.policy, origins)


def schema(environments: Sequence[str] = tuple(ENVIRONMENTS)) -> dict[str, Any]:
    """JSON Schema of a policy file that may name `environments`, for editors."""
    made = Policy.model_json_schema()
    made["$defs"]["Isolation"]["properties"]["environments"]["items"]["enum"] = list(environments)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _SCHEMA_ID,
        **made,
        "title": "rlm_secure policy",
    }


def toml(item: Any) -> str:
    """A value as TOML: arrays on several lines where one would be too long."""
    match item:
        case bool():
            return "true" if item else "false"
        case Enum():
            return _string(str(item.value))
        case str():
            return _string(item)
        case date():
            return item.isoformat()
        case int():
            return f"{item:_}"
        case float():
            return repr(item)
        case BaseModel():
            fields = ((name, getattr(item, name)) for name in type(item).model_fields)
            return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in fields) + " }"
        case tuple():
            return _array([toml(each) for each in item])
        case _:
            raise TypeError(f"{type(item).__name__} is not a value of a policy")


def _string(text: str) -> str:
    # JSON's escapes are valid in TOML, which also requires DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _array(entries: list[str]) -> str:
    line = f"[{', '.join(entries)}]"
    if len(line) <= 80:
        return line
    if any(entry.startswith("{") for entry in entries):
        return "[\n" + "".join(f"    {entry},\n" for entry in entries) + "]"
    body = textwrap.wrap(
        ", ".join(entries) + ",", _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return "[\n" + "\n".join(body) + "\n]"


def _tables() -> dict[str, list[Key]]:
    tables: dict[str, list[Key]] = {}
    for key in keys().values():
        tables.setdefault(key.dotted.rpartition(".")[0], []).append(key)
    return tables


def _name(key: Key) -> str:
    return key.dotted.rpartition(".")[2]


def _explained(key: Key) -> str:
    expected = f"{key.expected[:1].upper()}{key.expected[1:]}"
    order = "" if key.order is Order.FREE else f"; {key.order}"
    return f"{key.meaning}\n{expected}{order}."


def _commented_out(key: Key) -> str:
    shown = _EXAMPLES.get(key.dotted) or toml(key.default)
    return "\n".join(f"# {line}" for line in f"{_name(key)} = {shown}".splitlines())


def _comment(text: str) -> str:
    return "\n".join(f"## {line}" for line in _wrapped(text))


def _wrapped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH, break_on_hyphens=False, break_long_words=False)


def main(folder: str) -> None:
    """Write the generated files into `folder`."""
    Path(folder, "TEMPLATE.toml").write_text(template(), encoding="utf-8")
    Path(folder, "policy.schema.json").write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
