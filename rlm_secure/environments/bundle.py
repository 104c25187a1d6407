"""The guest bundle: our guest and RestrictedPython in one zip, the same in all environments.

The sources are deterministic: sorted names, fixed times, no compression (zipimport reads it faster). The zip also has
this interpreter's bytecode of them, which saves every process of a sandbox 0.1 s; a sandbox with another version of
Python uses the sources. It is compiled once, and cached where Python keeps this package's bytecode: whoever can write
there can already change what the host runs. If it cannot be cached, the bundle has the sources only.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import py_compile
import stat
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.removal import Scratch

_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENTRY = "from guest.main import main\n\nmain()\n"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The zip's bytes, and the sha256 in hexadecimal of a zip of the sources only, which identifies the code."""

    data: bytes
    sha256: str


@cache
def bundle() -> Bundle:
    """Build the bundle, once per process. Raises EnvironmentUnavailable when RestrictedPython is missing."""
    restricted = importlib.util.find_spec("RestrictedPython")
    if restricted is None or restricted.origin is None:
        raise EnvironmentUnavailable("RestrictedPython is not installed: pip install 'RestrictedPython>=9.0'")
    files = {"__main__.py": _ENTRY.encode()}
    files.update(_sources(Path(__file__).parents[1] / "guest", "guest"))
    files.update(_sources(Path(restricted.origin).parent, "RestrictedPython"))
    sources = _archive(files)
    sha256 = hashlib.sha256(sources).hexdigest()
    kept = Path(importlib.util.cache_from_source(str(Path(__file__).with_name("guest.py")))).with_suffix(".zip")
    with contextlib.suppress(OSError):
        data = kept.read_bytes()
        if data.endswith(sha256.encode()):  # the archive's comment, which is written last
            return Bundle(data, sha256)
    if not sys.dont_write_bytecode and os.access(kept.parent, os.W_OK):
        with contextlib.suppress(OSError):  # a full disk, no descriptor left: use the sources
            data = _archive(files | _bytecode(files), comment=sha256)
            _keep(data, kept)
            return Bundle(data, sha256)
    return Bundle(sources, sha256)


def _sources(root: Path, package: str) -> dict[str, bytes]:
    return {
        f"{package}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in root.rglob("*.py")  # the installed package itself
        if "tests" not in path.relative_to(root).parts
    }


def _archive(files: dict[str, bytes], *, comment: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name])
        archive.comment = comment.encode()
    return buffer.getvalue()


def _bytecode(files: dict[str, bytes]) -> dict[str, bytes]:
    """The bytecode of each file, under its name in the bundle: it must not reveal where the host has the package."""
    compiled = {}
    with Scratch() as directory:
        source, target = directory / "source", directory / "target"
        for name, text in files.items():
            source.write_bytes(text)
            # Unchecked: zipimport would otherwise compare times, and the bundle has none.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(target), dfile=name, doraise=True, invalidation_mode=mode, optimize=0)
            compiled[f"{name}c"] = target.read_bytes()
    return compiled


def _keep(data: bytes, path: Path) -> None:
    """Write a temporary file, then rename it: another process sees all of the data or none."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            os.fchmod(number, stat.S_IMODE(os.stat(__file__).st_mode) & 0o666)  # noqa: PTH116
        os.replace(name, path)  # noqa: PTH105
    except BaseException:  # Ctrl-C as well: no incomplete file may remain
        os.unlink(name)  # noqa: PTH108
        raise
