"""From the names that a user gives to the subjects of rules. A file's kind follows from its name and first lines."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm_secure import files as opening
from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.audit.read import cells, code, container, dockerfile, document, files, packages, policy, trajectory
from rlm_secure.audit.rule import Kind
from rlm_secure.policy import Policy
from rlm_secure.resources import policy_file, policy_names

_FORCED = re.compile(r"(?P<kind>[a-z]+):(?P<path>.+)")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "_data", "dist", "build"})
_COMPOSE_NAME = re.compile(r"(?s)(?:docker-|podman-|container-)?compose(?:[-_.].*)?\.ya?ml")
#: Bytes searched for a file's kind. Formats that may begin with comments of any length (_WHOLE) are searched to the
#: size limit of reading.
_HEAD = 64 * 1024
_WHOLE = (".toml", ".yaml", ".yml")
# [ \t] and not \s: many leading empty lines would otherwise take quadratic time.
_POLICY = re.compile(r"^[ \t]*\[(?:language|limits|isolation|lm|data|audit)\]|^extends[ \t]*=", re.MULTILINE)
_COMPOSE = re.compile(r"""^(?:services|'services')[ \t]*:|^[ \t]*(?:\{[ \t]*)?"services"[ \t]*:""", re.MULTILINE)
#: How `docker inspect` begins to describe a container, in a list or alone.
_INSPECTED = re.compile(r'[\[\s]*+\{\s*+"Id"\s*+:\s*+"[0-9a-f]{64}"')


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to audit. `path` is None for the installed packages.

    A file found in a folder that the user named is opened without following links `below` that folder. `refused` says
    why something in it is not read at all.
    """

    kind: Kind
    path: Path | None
    shown: str
    below: Path | None = None
    refused: str = ""


def expand(name: str, deadline: float = math.inf) -> Iterator[Target]:
    """The targets of a name: a file, every file of a known kind in a folder, a shipped policy, or `packages`.

    `KIND:PATH` gives the kind: policy, packages, python, dockerfile, container, seccomp, cells, trajectory. Raises
    Unreadable for a path that does not exist, and for a single file of unknown kind; for an unreadable folder only when
    the first target is taken. After `deadline`, a time of time.monotonic(), the rest of a folder is one refused target.
    """
    forced = _FORCED.fullmatch(name)
    if name == "packages":
        return iter((Target(Kind.PACKAGES, None, "installed packages"),))
    if name in policy_names() and not Path(name).exists():
        path = policy_file(name)
        return iter((Target(Kind.POLICY, path, files.shown(path)),))
    if forced and forced["kind"] in {kind.value for kind in Kind if kind is not Kind.ENVIRONMENT}:
        kind, path = Kind(forced["kind"]), Path(forced["path"])
        if opening.is_folder(path) and kind in (Kind.CELLS, Kind.PYTHON):
            return _in_folder(path, lambda _: True, lambda each: kind if each.suffix == ".py" else None, deadline)
        return iter((Target(kind, path, files.shown(path)),))
    path = Path(name)
    if opening.is_folder(path):
        return _in_folder(path, _is_source, lambda each: kind_of(each, below=path), deadline)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise Unreadable("there is no such file, folder or shipped policy; check the path") from None
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}; check the path and its permissions") from None
    if (found := kind_of(path)) is None:
        raise Unreadable("its kind cannot be told; say it, as in container:PATH or seccomp:PATH")
    return iter((Target(found, path, files.shown(path)),))


def kind_of(path: Path, *, below: Path | None = None) -> Kind | None:
    """The kind of a file, from its name and, if that is not enough, from its beginning. Raises Unreadable."""
    name, suffix = path.name.lower(), path.suffix.lower()
    if suffix == ".py":
        return Kind.PYTHON
    if re.fullmatch(r"(?s)(?:docker|container)file(?:[-._].*)?|.*\.(?:docker|container)file", name):
        return Kind.DOCKERFILE
    if re.fullmatch(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)", name):
        return Kind.PACKAGES
    if _COMPOSE_NAME.fullmatch(name):
        return Kind.CONTAINER
    if suffix in (*_WHOLE, ".json", ".jsonl"):
        size = files.MAX_BYTES if suffix in _WHOLE else _HEAD
        return _by_content(suffix, files.head(path, size, below=below), name)
    return None


def read(target: Target, against: Policy, deadline: float = math.inf) -> Any:
    """The subject of a target, for the rules of its kind. `against` is the policy for cells and trajectories.

    Raises Unreadable, also for cells that are not compiled by `deadline`, a time of time.monotonic().
    """
    path = target.path
    if path is None:
        return packages.installed()
    match target.kind:
        case Kind.POLICY:
            return policy.read(path, below=target.below)
        case Kind.TRAJECTORY:
            text = files.text(path, limit=trajectory.MAX_BYTES, below=target.below)
            return trajectory.read(text, target.shown, against)
        case Kind.CELLS:
            text = files.text(path, below=target.below)
            return cells.screen(target.shown, [cells.Cell(text, Location(target.shown))], against, deadline)
    text = files.text(path, below=target.below)
    match target.kind:
        case Kind.PACKAGES:
            return packages.requirements(text, target.shown)
        case Kind.PYTHON:
            return code.read(text, target.shown)
        case Kind.DOCKERFILE:
            return dockerfile.read(text, target.shown)
        case Kind.SECCOMP:
            return document.read_json(text, target.shown)
        case Kind.CONTAINER:
            yaml = path.suffix.lower() in (".yaml", ".yml")
            return container.read(container.parse(text, target.shown, yaml=yaml))
        case _:
            raise Unreadable(f"{target.kind} is no kind of file")


def _in_folder(
    folder: Path, enter: Callable[[str], bool], kind_in: Callable[[Path], Kind | None], deadline: float
) -> Iterator[Target]:
    """The targets below a folder, without links and special files; entries that cannot be read are refused targets."""
    for entry in _walk(folder, enter):
        path = folder / entry.path
        if time.monotonic() > deadline:
            yield Target(Kind.PYTHON, path, files.shown(path), folder, _LATE)
            return
        if entry.refused in _NOT_SEEN:
            yield Target(Kind.PYTHON, path, files.shown(path), folder, _NOT_SEEN[entry.refused])
        elif not entry.refused:
            try:
                kind = kind_in(path)
            except Unreadable as error:
                yield Target(Kind.PYTHON, path, files.shown(path), folder, str(error))
                continue
            if kind is not None:
                yield Target(kind, path, files.shown(path), folder)


def _walk(folder: Path, enter: Callable[[str], bool]) -> Iterator[opening.Entry]:
    try:
        yield from opening.walk(folder, enter)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}; check its permissions") from None


_LATE = "the deadline had passed before it, and what follows in its folder; name what matters by itself"
_NOT_SEEN = {
    "unreadable": "it cannot be read; check its permissions",
    "too deep": "it lies deeper in folders than an audit goes; name the folder itself",
    "too many": "there are more files than an audit looks at; name the folders that matter",
}


def _is_source(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED


def _by_content(suffix: str, head: str, name: str) -> Kind | None:
    if suffix == ".toml":
        return Kind.POLICY if _POLICY.search(head) or "polic" in name else None
    if _INSPECTED.match(head):  # before SECCOMP: the description may contain a seccomp profile
        return Kind.CONTAINER
    if suffix == ".jsonl":
        return Kind.TRAJECTORY if '"type"' in head and ('"iteration"' in head or '"metadata"' in head) else None
    if '"HostConfig"' in head or _COMPOSE.search(head):
        return Kind.CONTAINER
    if suffix == ".json" and "SCMP_ACT_" in head:
        return Kind.SECCOMP
    return None
