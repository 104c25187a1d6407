"""From what a user names to what rules look at: a file's kind is told from its name and its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.audit.read import cells, code, container, dockerfile, document, files, packages, policy, trajectory
from rlm_secure.audit.rule import Kind
from rlm_secure.policy import Policy
from rlm_secure.resources import policy_file, policy_names

_FORCED = re.compile(r"(?P<kind>[a-z]+):(?P<path>.+)")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "_data", "dist", "build"})
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to audit. `path` is None for the installed packages."""

    kind: Kind
    path: Path | None
    shown: str


def expand(name: str) -> tuple[Target, ...]:
    """What a user's word means: a file, every file of a known kind in a folder, a shipped policy, or `packages`.

    `KIND:PATH` says the kind: policy, packages, python, dockerfile, container, seccomp, cells, trajectory. Raises
    Unreadable for a path that does not exist, and for a single file of no known kind.
    """
    forced = _FORCED.fullmatch(name)
    if name == "packages":
        return (Target(Kind.PACKAGES, None, "installed packages"),)
    if name in policy_names() and not Path(name).exists():
        path = policy_file(name)
        return (Target(Kind.POLICY, path, files.shown(path)),)
    if forced and forced["kind"] in {kind.value for kind in Kind if kind is not Kind.ENVIRONMENT}:
        kind, path = Kind(forced["kind"]), Path(forced["path"])
        paths = sorted(path.rglob("*.py")) if path.is_dir() and kind in (Kind.CELLS, Kind.PYTHON) else [path]
        return tuple(Target(kind, each, files.shown(each)) for each in paths)
    path = Path(name)
    if path.is_dir():
        return tuple(_in_folder(path))
    if not path.exists():
        raise Unreadable("there is no such file, folder or shipped policy; check the path")
    if (found := kind_of(path)) is None:
        raise Unreadable("its kind cannot be told; say it, as in container:PATH or seccomp:PATH")
    return (Target(found, path, files.shown(path)),)


def kind_of(path: Path) -> Kind | None:
    """The kind of a file, from its name and, where that is not enough, from its beginning."""
    name, suffix = path.name.lower(), path.suffix.lower()
    if suffix == ".py":
        return Kind.PYTHON
    if re.fullmatch(r"(?s)(?:docker|container)file(?:[-._].*)?|.*\.(?:docker|container)file", name):
        return Kind.DOCKERFILE
    if re.fullmatch(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)", name):
        return Kind.PACKAGES
    if suffix in (".toml", ".yaml", ".yml", ".json", ".jsonl"):
        return _by_content(suffix, _head(path), name)
    return None


def read(target: Target, against: Policy) -> Any:
    """The subject of a target, for the rules of its kind. `against` is the policy for cells and trajectories."""
    path = target.path
    if path is None:
        return packages.installed()
    match target.kind:
        case Kind.POLICY:
            return policy.read(path)
        case Kind.TRAJECTORY:
            return trajectory.read(files.text(path, limit=trajectory.MAX_BYTES), target.shown, against)
        case Kind.CELLS:
            text = files.text(path)
            return cells.screen(target.shown, [cells.Cell(text, Location(target.shown))], against)
    text = files.text(path)
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
            reader = document.read_json if path.suffix.lower() == ".json" else document.read_yaml
            return container.read(reader(text, target.shown))
        case _:
            raise Unreadable(f"{target.kind} is no kind of file")


def _in_folder(folder: Path) -> Iterator[Target]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts[:-1]
        if any(part.startswith(".") or part in _SKIPPED for part in inside) or path.is_symlink() or not path.is_file():
            continue
        kind = kind_of(path)
        if kind is not None:
            yield Target(kind, path, files.shown(path))


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD).decode("utf-8", "replace")
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}; check its permissions") from None


def _by_content(suffix: str, head: str, name: str) -> Kind | None:
    if suffix == ".toml":
        policy_like = re.search(r"^\s*\[(?:language|limits|isolation|lm|data|audit)\]|^extends\s*=", head, re.MULTILINE)
        return Kind.POLICY if policy_like or "polic" in name else None
    if suffix == ".jsonl":
        return Kind.TRAJECTORY if '"type"' in head and ('"iteration"' in head or '"metadata"' in head) else None
    if suffix == ".json" and "SCMP_ACT_" in head:
        return Kind.SECCOMP
    if '"HostConfig"' in head or re.search(r'^services\s*:|^\s*"services"\s*:', head, re.MULTILINE):
        return Kind.CONTAINER
    return None
