"""Turns each of pydantic's errors into one sentence for the person who edits the policy file."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pydantic_core import ErrorDetails

from rlm_secure.guarantees import Wall
from rlm_secure.policy.keys import keys, sections
from rlm_secure.policy.locate import KeyPath, dotted, quoted
from rlm_secure.policy.model import MODULES
from rlm_secure.registry import environment_names

#: Why no policy can allow a module. Modules that are not listed here just have no facade.
_REFUSED_MODULES: Mapping[str, str] = {
    name: reason
    for reason, names in {
        "it reaches the host's files": "shutil glob tempfile fileinput posix sqlite3 zipfile tarfile",
        "it starts or signals processes": "subprocess multiprocessing signal pty",
        "it reaches the network": "socket ssl http requests httpx urllib.request ftplib smtplib",
        "it reaches the interpreter itself": "ctypes gc inspect importlib builtins code dis",
        "it runs code that it reads": "pickle marshal shelve dill copyreg",  # only names, for the message
        "it starts threads": "_thread",
    }.items()
    for name in names.split()
}

#: Expected values of the keys of tables in arrays; all other keys are described in keys.py.
_EXPECTED: Mapping[str, str] = {
    "best_effort.wall": "the name of a wall, such as user-namespace",
    "others.name": "the name of an environment of another distribution",
    "others.walls": "an array of walls, such as seccomp",
    "best_effort.reason": "a sentence of at least 8 characters that says why",
    "ignore.rule": "the id of a rule, such as weak-limit",
    "ignore.at": "a string: file:line:column, or nothing",
    "ignore.reason": "a sentence of at least 8 characters that says why",
    "ignore.expires": "a date without quotes, such as 2030-01-31",
}

_WALLS = tuple(wall.value for wall in Wall)


def complain(error: ErrorDetails) -> tuple[KeyPath, str]:
    """The path of the offending key, and one sentence about it that ends with what to do."""
    path: KeyPath = error["loc"]
    key = dotted(path)
    match error["type"]:
        case "extra_forbidden":
            return path, _unknown(path)
        case "missing":
            return path, f"{dotted(path[:-1])} lacks the key {path[-1]}; add it: {_expected(path)}"
        case "value_error" | "string_type" if path[:2] == ("isolation", "environments") and len(path) == 3:
            try:
                known = environment_names()
            except ValueError as conflict:  # two distributions offer the same name
                return path, f"{key} is {shown(error['input'])}, and nobody can say whose that is: {conflict}"
            return path, f"{key} is {shown(error['input'])}; {_nearest(error['input'], known)}"
        case "value_error":
            return path, _value_error(path, error)
        case "model_type" if len(path) == 1 and path[0] in sections():
            return path, f"{key} is {shown(error['input'])}; it is a table: write [{key}] and its keys below"
        case "less_than_equal" if key in keys():
            return path, f"{key} is {shown(error['input'])}; use at most {keys()[key].high:,}"
        case "enum":
            return path, f"{key} is {shown(error['input'])}; {_nearest(error['input'], _WALLS)}"
        case _:
            return path, f"{key} is {shown(error['input'])}; use {_expected(path)}"


def shown(value: Any) -> str:
    """A value as TOML writes it, at most 80 characters of it."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, date):
        return value.isoformat()
    if value is None:
        return "nothing"
    text = quoted(value[:90] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:77] + "..."


def nearest(wrong: str, known: Sequence[str]) -> str | None:
    """The one of `known` that was probably meant, or None."""
    found = difflib.get_close_matches(wrong[:200], known, 1, 0.6)
    return found[0] if found else None


def _nearest(wrong: Any, known: Sequence[str]) -> str:
    if isinstance(wrong, str) and (meant := nearest(wrong, known)):
        return f"did you mean {quoted(meant)}?"
    return f"use one of {', '.join(known)}"


def _unknown(path: KeyPath) -> str:
    *table, name = path
    prefix = "".join(f"{part}." for part in table if isinstance(part, str))
    siblings = [key.removeprefix(prefix).split(".")[0] for key in keys() if key.startswith(prefix)]
    siblings = list(dict.fromkeys(siblings)) or [
        key.partition(".")[2] for key in _EXPECTED if key.startswith(f"{_element(path)}.")
    ]
    text = f"{dotted(path)} is no key of a policy"
    if meant := nearest(str(name), siblings):
        return f"{text}; did you mean {dotted((*table, meant))}?"
    elsewhere = [key for key in keys() if key.split(".")[-1] == name]
    if elsewhere:
        return f"{text}; did you mean {elsewhere[0]}?"
    where = f"[{dotted(tuple(table))}]" if table else "the top level"
    return f"{text}; {where} has {', '.join(siblings)}"


def _value_error(path: KeyPath, error: ErrorDetails) -> str:
    key, value = dotted(path), error["input"]
    if path[:2] == ("language", "modules") and len(path) == 3:
        return f"{key} is {shown(value)}, {_module(str(value))}"
    reason = str(error.get("ctx", {}).get("error", "is not valid"))
    if "twice" in reason:
        return f"{key} {reason}; name it once"
    if path == ("isolation", "others"):
        return f"{key} {reason}; correct the name"
    return f"{key} is {shown(value)}, which {reason}; correct the {'pattern' if path[0] == 'data' else 'name'}"


def _module(name: str) -> str:
    if reason := _REFUSED_MODULES.get(name) or _REFUSED_MODULES.get(name.split(".")[0]):
        return f"which no policy can give to cells because {reason}; take it out, and offer a host tool instead"
    if meant := nearest(name, MODULES):
        return f"for which there is no facade; did you mean {quoted(meant)}?"
    return f"for which there is no facade; cells may have {', '.join(MODULES)}"


def _element(path: KeyPath) -> str:
    """The name of the array that the path leads into: "best_effort" for isolation.best_effort[0].wall."""
    names = [part for part, following in itertools.pairwise(path) if isinstance(following, int)]
    return str(names[-1]) if names else ""


def _expected(path: KeyPath) -> str:
    written = dotted(path)
    if element := _element(path):
        field = f"{element}.{path[-1]}"
        return _EXPECTED.get(field, "a string" if element not in {"best_effort", "ignore", "others"} else "a table")
    key = keys().get(written)
    return key.expected if key else "another value"
