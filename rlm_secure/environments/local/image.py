"""The file that a local zygote runs: the guest, and what it imports of the standard library, as bytecode.

A zygote that runs the bundle looks for some 230 modules, in a zip and in folders, which takes it a fifth of its start.
This file has the code of all of them. It is made once, from the bundle and from what a zygote has imported when it is
ready, and kept beside the bundle: whoever can write there can already change what the host runs. Where it cannot be
kept, zygotes run the bundle.

Its format is that of guest/image.py. The digest is of the interpreter, of the bundle's sha256 and of the states of all
sources (inode, size, times of the last changes): while none changes, no source is read.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source

from rlm_secure.environments import bundle as bundles
from rlm_secure.environments.local import startup

#: Hexadecimal digits of the table's length.
_LENGTH = 8
_BUILD_SECONDS = 60.0


class _Program:
    """What zygotes of this process run: the kept file that was checked, until its bytes are read."""

    def __init__(self, sha256: str, data: bytes = b"", file: tuple[int, int] | None = None) -> None:
        self.sha256 = sha256
        self.data = data
        self.file = file


def opened() -> int:
    """What a zygote runs, the image or the bundle, as a descriptor, which the caller closes.

    Raises EnvironmentUnavailable, and OSError where no descriptor or memory is left.
    """
    program = _program()
    if program.data:
        return _in_memory(program.data)
    with contextlib.suppress(FileNotFoundError):
        file = os.open(bundles.kept_at("image"), os.O_RDONLY)
        if _identity(file) == program.file:
            return file
        os.close(file)
    _program.cache_clear()  # another process has just replaced it
    return opened()


def read() -> None:
    """Read it, while nothing waits: so an upgrade does not change what this process runs. Raises as `sha256`."""
    if not _program().data:
        with contextlib.suppress(OSError), os.fdopen(opened(), "rb") as file:  # what cannot be read is opened again
            _program().data = file.read()


def sha256() -> str:
    """The bundle's sha256 in hexadecimal, which identifies the code. Raises EnvironmentUnavailable."""
    return _program().sha256


@cache
def _program() -> _Program:
    path = bundles.kept_at("image")
    with contextlib.suppress(OSError, ValueError, LookupError):
        return _kept(path)
    made = bundles.bundle()
    if not sys.flags.optimize and bundles.may_keep(path):  # the standard library's bytecode is that without -O
        with contextlib.suppress(OSError, ValueError, LookupError, ImportError, subprocess.SubprocessError):
            bundles.keep(_build(made), path)
            return _kept(path)
    return _Program(made.sha256, made.data)


def _in_memory(data: bytes) -> int:
    file = os.memfd_create("rlm_secure-guest")
    try:
        with os.fdopen(file, "wb", closefd=False) as archive:
            archive.write(data)
    except BaseException:  # Ctrl-C as well
        os.close(file)
        raise
    return file


def _kept(path: str) -> _Program:
    """What is kept at `path`. Raises OSError, and ValueError or LookupError unless it is of the sources of now."""
    with open(path, "rb", buffering=0) as kept:  # noqa: PTH123 - pathlib would be imported before the start
        file = kept.fileno()
        at = max(0, os.fstat(file).st_size - _LENGTH)
        length = min(at, int(os.pread(file, _LENGTH, at), 16))
        first, *lines = os.pread(file, length, at - length).decode().split("\n")
        digest, sha256 = first.split("\0")
        files = [line.split("\0")[3] for line in lines]
        if digest != _digest([each for each in files if each.startswith("/")], sha256):  # ours have no root
            raise ValueError("a source has changed")
        return _Program(sha256, file=_identity(file))


def _identity(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


def _digest(others: list[str], sha256: str) -> str:
    """Raises OSError for a file that is gone."""
    of = bundles.states(bundles.folders(), others), sha256, sys.version, os.__file__
    return bundles.digest(repr(of).encode())


def _build(made: bundles.Bundle) -> bytes:
    """The image of a bundle. Raises OSError, ValueError, ImportError or SubprocessError if it cannot be made."""
    members = _members(made.data)
    if "guest/image.pyc" not in members:
        raise ValueError("the bundle has no bytecode")
    data = bytearray(members["guest/image.pyc"])
    lines: list[str] = []

    def add(name: str, content: bytes, file: str, folders: Iterable[str]) -> None:
        lines.append("\0".join([name, str(len(data)), str(len(data) + len(content)), file, *folders]))
        data.extend(content)

    imported = _imported(made)
    digest = _digest([file for _, file, *_ in imported], made.sha256)  # before any of these is read
    for name, file, *folders in imported:
        SourceFileLoader(name, file).get_code(name)  # compiles it if what is kept is not of this source
        add(name, bundles.read(cache_from_source(file, optimization="")), file, folders)
    for file, content in members.items():
        path, _, ending = file.rpartition(".")
        add(path.removesuffix("/__init__").replace("/", ".") if ending == "pyc" else "", content, file, ())
    table = "\n".join([f"{digest}\0{made.sha256}", *lines]).encode()
    return bytes(data) + table + f"{len(table):0{_LENGTH}x}".encode()


def _members(archive: bytes) -> dict[str, bytes]:
    """The bytecode in the bundle, and the sources that the guest reads."""
    import io  # these modules are for the first start after an installation
    import zipfile

    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {
            name: opened.read(name)
            for name in opened.namelist()
            if name.endswith(".pyc") or name.startswith("guest/language/library/")
        }


def _imported(made: bundles.Bundle) -> list[list[str]]:
    """What a zygote has imported that is not in the bundle: each module, its file, and its folders if it has any."""
    with os.fdopen(_in_memory(made.data), "rb") as archive:
        done = subprocess.run(
            [startup.interpreter(), *startup.FLAGS, f"/proc/self/fd/{archive.fileno()}", "modules"],
            pass_fds=(archive.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=startup.environment(),
            timeout=_BUILD_SECONDS,
            check=True,
            cwd="/",
        )
    return [line.split("\0") for line in done.stdout.decode().splitlines()]
