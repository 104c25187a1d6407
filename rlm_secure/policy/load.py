"""Loads a TOML file into a frozen Policy. Every problem is one PolicyError with one sentence.

`extends` names another policy, which gives the keys that a file does not set; the keys that it sets may only tighten
that policy, by the order in keys.py. This is checked only here.
"""

from __future__ import annotations

import functools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from rlm_secure import files
from rlm_secure.errors import PolicyError
from rlm_secure.policy import compare, toml
from rlm_secure.policy.complaint import complain, nearest, shown
from rlm_secure.policy.keys import keys, value
from rlm_secure.policy.locate import KeyPath, Place, dotted, find, locate
from rlm_secure.policy.model import Policy
from rlm_secure.resources import policy_file, policy_names

#: What `load_policy` takes.
Reference = Policy | str | Path | Mapping[str, Any]

_MAX_CHAIN = 8
#: Most problems that are reported for one policy.
_MAX_PROBLEMS = 100
_BESIDE = 100
_MAX_BITS = 4096
_MAX_DEPTH = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effective value was set. `line` and `column` are 1-based, None outside a file."""

    source: str
    """The file, or "<dict>"."""
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy with what `policy show` and the audit need to know about it.

    `source` is the file, or "<dict>"; `chain` the sources that it extends, nearest first. `origins` has the keys
    that were set; all others have the default. `places` are positions in the file itself.
    """

    policy: Policy
    source: str
    chain: tuple[str, ...]
    origins: Mapping[str, Origin]
    places: Mapping[KeyPath, Place]


def load_policy(ref: Reference) -> Policy:
    """The policy that `ref` means: the name of a shipped one, the path of a TOML file, a mapping, or a Policy.

    Raises PolicyError.
    """
    if isinstance(ref, Policy) and ref.extends is None:
        return ref
    if isinstance(ref, str) and ref in policy_names():
        return _shipped(ref)
    return trace(ref).policy


def trace(ref: Reference, *, below: Path | None = None) -> Loaded:
    """As load_policy, with the origin of every value. A Path is read without following links `below` that folder.
    Raises PolicyError."""
    loaded, problems = _resolve(_open(ref, Path(), below), ())
    if problems:
        raise problems[0]
    return loaded


def problems(ref: Reference, *, below: Path | None = None) -> tuple[PolicyError, ...]:
    """All problems of a policy, in the order of the file; empty if it loads. `below`: as in trace()."""
    try:
        return _resolve(_open(ref, Path(), below), ())[1]
    except PolicyError as error:
        return (error,)


@functools.cache
def _shipped(name: str) -> Policy:
    return trace(policy_file(name)).policy


@dataclass(frozen=True, slots=True)
class _Source:
    """One document: its label for messages, its data, and the folder that relative paths start from."""

    label: str
    data: dict[str, Any]
    folder: Path
    default_name: str
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    path: Path | None = None

    def problem(self, path: KeyPath, sentence: str) -> PolicyError:
        place = find(self.places, path)
        line, column = (place.line, place.column) if place else (None, None)
        where = f"{self.label}:{line}:{column}" if place else self.label
        return PolicyError(f"{where}: {sentence}", source=self.label, key=dotted(path), line=line, column=column)


# -- opening ---------------------------------------------------------------------------------------------


def _open(ref: Reference, folder: Path, below: Path | None = None) -> _Source:
    if isinstance(ref, Policy):
        ref = ref.model_dump(mode="json", exclude_unset=True)
    if isinstance(ref, Mapping):
        return _Source("<dict>", {str(key): _plain(item, (str(key),)) for key, item in ref.items()}, folder, "custom")
    if isinstance(ref, Path):
        return _file(ref, ref, below)
    if not isinstance(ref, str):
        raise PolicyError(f"a policy is a name, a path, a mapping or a Policy, not {type(ref).__name__}")
    if ref in policy_names():
        return _file(policy_file(ref), policy_file(ref))
    if ref.endswith(".toml") or "/" in ref:
        return _file(folder / ref, Path(ref))
    raise PolicyError(_no_such_name(ref))


def _no_such_name(name: str) -> str:
    names = policy_names()
    meant = nearest(name, names)
    instead = f"did you mean {shown(meant)}" if meant else f"the shipped ones are {', '.join(names)}"
    return f"no policy is called {shown(name)}; {instead}, and a file is named by its path, such as ./mine.toml"


def _file(path: Path, label: Path, below: Path | None = None) -> _Source:
    name = str(label)
    text = _text(path, name, below)
    try:
        data = toml.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(name, text, str(error)) from None
    except toml.TooDeep as error:
        line, column = text.count("\n", 0, error.at) + 1, error.at - text.rfind("\n", 0, error.at)
        sentence = f"this is not a policy: it is nested too deeply, with {error}; a policy has tables of keys"
        raise PolicyError(f"{name}:{line}:{column}: {sentence}", source=name, line=line, column=column) from None
    except ValueError as error:
        raise PolicyError(f"{name}: this is not a policy: {str(error)[:200]}", source=name) from None
    stem = path.stem if _NAME.fullmatch(path.stem) else "custom"
    return _Source(name, _plain(data, ()), path.resolve().parent, stem, locate(text), path.resolve())


def _text(path: Path, name: str, below: Path | None) -> str:
    def problem(sentence: str) -> PolicyError:
        return PolicyError(f"{name}: {sentence}", source=name)

    try:
        data = files.read(path if below is None else path.relative_to(below), toml.MOST_BYTES, below=below)
    except files.NotAFile:
        folder = path.is_dir()
        raise problem(
            "this is a folder; name the .toml file in it"
            if folder
            else "this is not a regular file; a policy is a TOML file"
        ) from None
    except files.TooLarge:
        raise problem(
            f"it is larger than {toml.MOST_BYTES:,} bytes, which no policy is; check that it is the right file"
        ) from None
    except FileNotFoundError:
        beside = [each.name for each in islice(path.parent.glob("*.toml"), _BESIDE)] if path.parent.is_dir() else []
        meant = nearest(path.name, beside)
        raise problem(f"there is no such file; {f'did you mean {meant}?' if meant else 'check the path'}") from None
    except OSError as error:
        raise problem(f"it cannot be read: {error.strerror}; check its permissions and its path") from None
    except ValueError:
        raise PolicyError(f"{shown(name)} is no path; it contains a NUL") from None
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise problem("it starts with a byte-order mark; save it as UTF-8 without one")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError(
            f"{name}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8", source=name, line=line
        ) from None


def _syntax_error(name: str, text: str, message: str) -> PolicyError:
    match = _PLACE.search(message)
    what = message[: match.start()] if match else message
    if match and match[1]:
        line, column = int(match[1]), int(match[2])
    else:
        line, column = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
    sentence = f"this is not TOML: {what[:1].lower()}{what[1:200]}; correct the line"
    return PolicyError(f"{name}:{line}:{column}: {sentence}", source=name, line=line, column=column)


def _plain(item: Any, path: KeyPath) -> Any:
    """`item` in JSON's types, from which the model is validated. Raises PolicyError, with the key, for other types."""
    if len(path) > _MAX_DEPTH:
        raise PolicyError(f"{dotted(path[:3])} is nested too deeply; a policy has tables of keys and nothing below")
    match item:
        case Mapping():
            return {str(key): _plain(each, (*path, str(key))) for key, each in item.items()}
        case Enum():
            return _plain(item.value, path)
        case str() | bool() | None:
            return item
        case int() if item.bit_length() > _MAX_BITS:
            return math.inf if item > 0 else -math.inf  # too long to convert to text; out of range anyway
        case int():
            return item
        case float():
            return item
        case datetime():
            return item.isoformat()
        case date():
            return item.isoformat()
        case list() | tuple():
            return [_plain(each, (*path, number)) for number, each in enumerate(item)]
        case set() | frozenset():
            return sorted(_plain(each, path) for each in item)
        case _:
            key = dotted(path)
            raise PolicyError(f"{key} is {_article(item)}, which no policy key is; use a plain value", key=key)


def _article(item: Any) -> str:
    return f"of the type {type(item).__name__}"


# -- resolving -------------------------------------------------------------------------------------------


def _resolve(source: _Source, seen: tuple[_Source, ...]) -> tuple[Loaded, tuple[PolicyError, ...]]:
    """The effective policy of `source`, or all its problems. `seen` are the sources that extend it, nearest last."""
    try:
        own = Policy.model_validate_json(json.dumps(source.data))
    except ValidationError as error:
        complaints = error.errors(include_url=False)
        found = [source.problem(*complain(each)) for each in complaints[:_MAX_PROBLEMS]]
        found.sort(key=lambda each: (each.line or 0, each.column or 0))
        if len(complaints) > _MAX_PROBLEMS:
            more = len(complaints) - _MAX_PROBLEMS
            found.append(source.problem((), f"{more:,} more things are wrong; correct these first"))
        return _nothing(source), tuple(found)
    written = [key for key in keys() if _is_written(source.data, key) and key != "extends"]
    origins = {key: _origin(source, key) for key in written}
    if "name" not in origins:
        own = own.model_copy(update={"name": source.default_name})
    if own.extends is None:
        return Loaded(own, source.label, (), MappingProxyType(origins), source.places), ()
    base, wrong = _resolve(_base(source, own.extends, seen), (*seen, source))
    if wrong:
        return _nothing(source), wrong
    looser = tuple(_loosened(source, own, base, written))
    if looser:
        return _nothing(source), looser
    policy = _merged(own, base.policy, written)
    inherited = {key: origin for key, origin in base.origins.items() if key not in _OWN}
    return (
        Loaded(policy, source.label, (base.source, *base.chain), MappingProxyType(inherited | origins), source.places),
        (),
    )


#: Never inherited: a policy's name and description, and the findings that its operator accepts.
_OWN = ("name", "description", "audit.ignore")


def _nothing(source: _Source) -> Loaded:
    return Loaded(Policy(), source.label, (), MappingProxyType({}), source.places)


def _is_written(data: Mapping[str, Any], key: str) -> bool:
    found: Any = data
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]
    return True


def _origin(source: _Source, key: str) -> Origin:
    place = find(source.places, tuple(key.split(".")))
    return Origin(source.label, place.line if place else None, place.column if place else None)


def _base(source: _Source, name: str, seen: tuple[_Source, ...]) -> _Source:
    """The document that `source` extends. Raises PolicyError for a missing one, a circle, or too long a chain."""
    if name not in policy_names() and not name.endswith(".toml"):
        raise source.problem(("extends",), f"extends: {_no_such_name(name)}")
    try:
        base = _open(name, source.folder)
    except PolicyError as error:
        raise source.problem(("extends",), f"extends is {shown(name)}, which does not load: {error}") from None
    trail = [each.path for each in (*seen, source) if each.path is not None]
    if base.path in trail:
        raise source.problem(("extends",), f"extends is {shown(name)}, which extends this file in turn; end the circle")
    if len(seen) + 1 >= _MAX_CHAIN:
        raise source.problem(("extends",), f"extends goes through more than {_MAX_CHAIN} files; shorten the chain")
    return base


def _loosened(source: _Source, own: Policy, base: Loaded, written: list[str]) -> Iterator[PolicyError]:
    for key in written:
        if key in _OWN:
            continue
        before, after = value(base.policy, key), value(own, key)
        if loss := compare.loss(key, before, after):
            sentence = f"{key} {loss}, which is looser than {base.policy.name}, and extends may only tighten; "
            yield source.problem(tuple(key.split(".")), sentence + compare.remedy(key, before))


def _merged(own: Policy, base: Policy, written: list[str]) -> Policy:
    """`base` with the keys that `own` sets. `extends` is cleared: the result is complete."""
    data = base.model_dump()
    for key in (*written, *_OWN):
        table, _, name = key.rpartition(".")
        (data[table] if table else data)[name] = value(own, key)
    data["extends"] = None
    return Policy.model_validate(data)
