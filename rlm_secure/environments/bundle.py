"""The guest bundle: our guest and RestrictedPython in one zip, the same in all environments.

The sources are deterministic: sorted names, fixed times, no compression (zipimport reads it faster). The zip also has
this interpreter's bytecode of them, which saves every process of a sandbox 0.1 s; a sandbox with another version of
Python uses the sources. It is compiled once, and cached where Python keeps this package's bytecode: whoever can write
there can already change what the host runs. If it cannot be cached, the bundle has the sources only.

The cache ends with two digests: of the sources, and of that and of their files' states (inode, size, times of the last
changes). While no state changes, no source is read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.sha256 import sha256

_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENTRY = "from guest.main import main\n\nmain()\n"


class Bundle(NamedTuple):
    """The zip's bytes, and the sha256 in hexadecimal of a zip of the sources only, which identifies the code."""

    data: bytes
    sha256: str


@cache
def bundle() -> Bundle:
    """Build the bundle, once per process. Raises EnvironmentUnavailable when RestrictedPython is missing."""
    found, kept = folders(), kept_at("zip")
    state, before = states(found), b""
    with contextlib.suppress(OSError):
        before = read(kept)
    if before.endswith(_comment(state, named := before[-64:].decode("ascii", "replace"))):
        return Bundle(before, named)
    files = {"__main__.py": _ENTRY.encode()}
    for package, root in found.items():
        files.update(_sources(root, package))
    sources = _archive(files)
    named = digest(sources)
    comment = _comment(state, named)
    # The same sources with other states, as in a copy or an image, have the same bytecode.
    same = before.endswith(named.encode()) and before[-len(comment) - 2 : -len(comment)] == b"\x80\0"
    if may_keep(kept):
        with contextlib.suppress(OSError):  # a full disk, no descriptor left: use what there is
            archive = before[: -len(comment)] + comment if same else _archive(files | _bytecode(files), comment=comment)
            keep(archive, kept)
            return Bundle(archive, named)
    return Bundle(before if same else sources, named)


def folders() -> dict[str, str]:
    """The packages in it, and where they are. Raises EnvironmentUnavailable when RestrictedPython is missing."""
    restricted = importlib.util.find_spec("RestrictedPython")
    if restricted is None or restricted.origin is None:
        raise EnvironmentUnavailable("RestrictedPython is not installed: pip install 'RestrictedPython>=9.0'")
    ours = os.path.dirname(os.path.dirname(__file__))
    return {"guest": f"{ours}/guest", "RestrictedPython": os.path.dirname(restricted.origin)}


def kept_at(ending: str) -> str:
    """The path of what is kept for this interpreter beside the bytecode of this package."""
    cached = importlib.util.cache_from_source(f"{os.path.dirname(__file__)}/guest.py")
    return f"{os.path.splitext(cached)[0]}.{ending}"


def may_keep(path: str) -> bool:
    """Whether anything may be written beside `path`."""
    return not sys.dont_write_bytecode and os.access(os.path.dirname(path), os.W_OK)


def _comment(state: bytes, named: str) -> bytes:
    """The end of a cache, which is written last."""
    return f"{digest(state + named.encode())}{named}".encode()


def states(sources: dict[str, str], others: Sequence[str] = ()) -> bytes:
    """The states of all sources in folders, and of other files: what changes one, changes its inode or its times."""
    found = [
        (path, _state(entry.stat())) for package, root in sources.items() for path, entry in _files(root, package)
    ]
    return repr(sorted(found) + [(path, _state(os.stat(path))) for path in others]).encode()


def _state(of: os.stat_result) -> tuple[int, ...]:
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns


def digest(data: bytes) -> str:
    """The sha256 in hexadecimal."""
    named: str = sha256(data).hexdigest()
    return named


def _files(folder: str, name: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The sources below a folder, each with its name in the bundle."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield f"{name}/{entry.name}", entry
            elif entry.name not in ("tests", "__pycache__") and entry.is_dir():
                yield from _files(entry.path, f"{name}/{entry.name}")


def _sources(root: str, package: str) -> dict[str, bytes]:
    return {name: read(entry.path) for name, entry in _files(root, package)}


def read(path: str) -> bytes:
    """All of a file."""
    with open(path, "rb") as file:
        return file.read()


def _archive(files: dict[str, bytes], *, comment: bytes = b"") -> bytes:
    import io  # these modules are for the first start after an installation
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name])
        archive.comment = comment
    return buffer.getvalue()


def _bytecode(files: dict[str, bytes]) -> dict[str, bytes]:
    """The bytecode of each file, under its name in the bundle: it must not reveal where the host has the package."""
    import py_compile

    from rlm_secure.removal import Scratch

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


def keep(data: bytes, path: str) -> None:
    """Write a temporary file, then rename it: another process sees all of the data or none."""
    import tempfile

    folder, file_name = os.path.split(path)
    number, name = tempfile.mkstemp(dir=folder, prefix=file_name.removesuffix(".zip"))
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            if hasattr(os, "fchmod"):  # Windows has neither modes nor the umask that mkstemp ignores
                os.fchmod(number, stat.S_IMODE(os.stat(__file__).st_mode) & 0o666)
        os.replace(name, path)
    except BaseException:  # Ctrl-C as well: no incomplete file may remain
        os.unlink(name)
        raise
