"""The guest bundle: our guest and RestrictedPython in one zip, the same in all environments.

The sources are deterministic: sorted names, fixed times, no compression (zipimport reads it faster). Beside them lies
what this interpreter compiles them to, which spares every process of a sandbox 0.1 s; a sandbox with another version
of Python takes the sources. It is compiled once, and kept where Python keeps the bytecode of this package: who can
write there can already change what the host runs. Where nothing can be kept, the bundle has sources alone.
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
    """The zip's bytes, and the sha256 in hexadecimal of a zip of the sources alone: it says what code runs."""

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
        if data.endswith(sha256.encode()):  # the archive's comment, which is the last that is written
            return Bundle(data, sha256)
    if not sys.dont_write_bytecode and os.access(kept.parent, os.W_OK):
        with contextlib.suppress(OSError):  # a full disk, no descriptor left: the sources do as well
            data = _archive(files | _bytecode(files), comment=sha256)
            _keep(data, kept)
            return Bundle(data, sha256)
    return Bundle(sources, sha256)


def _sources(root: Path, package: str) -> dict[str, bytes]:
    return {
        f"{package}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in root.rglob("*.py")
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
    """What each file compiles to, under its name in the bundle: where the package lies is the host's own affair."""
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
    """Write it beside, then rename: another process sees all of it or nothing."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            os.fchmod(number, stat.S_IMODE(os.stat(__file__).st_mode) & 0o666)  # noqa: PTH116
        os.replace(name, path)  # noqa: PTH105
    except BaseException:  # Ctrl-C as well: nothing half-written may stay
        os.unlink(name)  # noqa: PTH108
        raise
