"""Makes the environments of the peers from versions.toml, each in a folder of its own outside of this tree.

An environment is built under a temporary name and renamed when it is complete, so that none is ever half made. What
is in it is never installed on the machine: Debian's packages are unpacked beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rlm_secure.removal import Scratch

ROOT: Final = Path(__file__).parents[2]
VERSIONS: Final = Path(__file__).with_name("versions.toml")
SECONDS: Final = 900.0
"""How long one step of an installation may take, in seconds."""
#: DSPy's program for Deno reads its standard input with this function of a page that no registry has; the same here.
_READ_LINES: Final = """\
export async function* readLines(reader) {
  const decoder = new TextDecoder(), chunk = new Uint8Array(1 << 16);
  let parts = [];
  for (let size; (size = await reader.read(chunk)) !== null; ) {
    const lines = decoder.decode(chunk.subarray(0, size), { stream: true }).split("\\n");
    parts.push(lines[0]);
    for (const line of lines.slice(1)) {
      yield parts.join("");
      parts = [line];
    }
  }
  if (parts.join("")) yield parts.join("");
}
"""
_READ_LINES_FROM: Final = "https://deno.land/std@0.186.0/io/mod.ts"


class CannotBuild(Exception):
    """An environment cannot be made here. The message says why, in one sentence."""


@dataclass(frozen=True)
class Recipe:
    """One table of versions.toml. `here` runs in the environment of this program."""

    name: str
    label: str
    here: bool = False
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    debian: tuple[str, ...] = ()
    deno: tuple[str, ...] = ()
    needs: str = ""

    def digest(self) -> str:
        """Changes with what the environment is made of."""
        made = [sys.version, self.python, self.npm, self.debian, self.deno, _READ_LINES]
        return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Place:
    """Where a peer runs: its interpreter, the variables that it needs, and the folders to show it in an arena."""

    python: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()


def recipes(path: Path = VERSIONS) -> dict[str, Recipe]:
    """All peers, in the order of the table."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Recipe(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
        for name, table in tables.items()
    }


def here(recipe: Recipe) -> Place | None:
    """The place of a peer that runs in this program's own environment, or has all that it needs there; else None."""
    from importlib.metadata import PackageNotFoundError, version

    if recipe.needs or recipe.npm:
        return None
    try:
        for requirement in recipe.python:
            version(requirement.partition("==")[0])
    except PackageNotFoundError:
        return None
    return Place(Path(sys.executable))


def folder() -> Path:
    """Where environments are kept: PEERS, or a folder of the user's cache."""
    given = os.environ.get("PEERS")
    return Path(given).absolute() if given else Path.home() / ".cache" / "rlm-secure-peers"


def build(recipe: Recipe, into: Path) -> Place:
    """The environment of a peer, made now unless it is there. Raises CannotBuild."""
    if recipe.here:
        return Place(Path(sys.executable))
    whole = into / f"{recipe.name}-{recipe.digest()}"
    if not whole.exists():
        into.mkdir(parents=True, exist_ok=True)
        with Scratch(dir=str(into), prefix=f".{recipe.name}-") as unfinished:
            _make(recipe, Path(unfinished) / "made")
            (Path(unfinished) / "made").rename(whole)
    if recipe.needs and shutil.which(recipe.needs, path=_path(whole)) is None:
        raise CannotBuild(f"{recipe.needs} is not on this machine")
    return _place(recipe, whole)


def _make(recipe: Recipe, made: Path) -> None:
    _run([_base(), "-m", "venv", "--without-pip", str(made)], "no virtual environment can be made")
    if recipe.python:
        _run([str(ROOT / ".ci" / "install"), str(made), *recipe.python], f"pip cannot install {recipe.python[0]}")
    for package in recipe.debian:
        _run(["apt-get", "download", package], f"apt cannot download {package}", cwd=made)
    for archive in sorted(made.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(archive), str(made / "debian")], f"{archive.name} cannot be unpacked")
        archive.unlink()
    if recipe.npm:
        _run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(made), *recipe.npm],
            f"npm cannot install {recipe.npm[0]}",
        )
    if recipe.deno:
        cache = {"DENO_DIR": str(made / "deno")}
        for module in recipe.deno:
            words = [str(made / "bin" / "deno"), "cache", "--node-modules-dir=none", module]
            _run(words, f"Deno cannot cache {module}", **cache)
        _own_read_lines(made)


def _base() -> str:
    """The interpreter outside of any virtual environment: every peer runs on the one that ours runs on."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def _own_read_lines(made: Path) -> None:
    """Replace the one import of DSPy's program that no registry of packages has."""
    (program,) = made.glob("lib/*/site-packages/dspy/primitives/runner.js")
    text = program.read_text(encoding="utf-8")
    if _READ_LINES_FROM not in text:
        raise CannotBuild("DSPy's program for Deno is another than the one that this was written for")
    program.with_name("read_lines.js").write_text(_READ_LINES, encoding="utf-8")
    program.write_text(text.replace(_READ_LINES_FROM, "./read_lines.js"), encoding="utf-8")


def _place(recipe: Recipe, whole: Path) -> Place:
    environment = {"PATH": _path(whole)}
    libraries = [str(path) for path in sorted(whole.glob("debian/usr/lib/*-linux-gnu*"))]
    if libraries:
        own = os.environ.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([*libraries, *([own] if own else [])])
    if recipe.deno:
        environment["DENO_DIR"] = str(whole / "deno")
    if recipe.npm:
        environment["SRT_PACKAGE"] = str(whole / "node_modules" / recipe.npm[0].rpartition("@")[0])
    program = shutil.which(recipe.needs, path=environment["PATH"]) if recipe.needs else None
    outside = [] if program is None or Path(program).is_relative_to(whole) else [Path(program).resolve().parents[1]]
    return Place(whole / "bin" / "python", environment, (whole, *outside))


def _path(whole: Path) -> str:
    found = [whole / "bin", whole / "debian" / "usr" / "bin"]
    return os.pathsep.join([*(str(path) for path in found if path.is_dir()), os.environ.get("PATH", os.defpath)])


def _run(command: list[str], failed: str, cwd: Path | None = None, **environment: str) -> None:
    if shutil.which(command[0]) is None:
        raise CannotBuild(f"{failed}: {command[0]} is not on this machine")
    try:
        subprocess.run(
            command, cwd=cwd, env={**os.environ, **environment}, check=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CannotBuild(f"{failed}: it took more than {SECONDS:.0f} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stdout.decode("utf-8", "replace").strip().splitlines() or [f"exit status {error.returncode}"]
        said = next((line for line in reversed(lines) if "error" in line.lower()), lines[-1])
        raise CannotBuild(f"{failed}: {said.strip()[:200]}") from None
