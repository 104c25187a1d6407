"""The only module that opens paths that others name or can change: no unexpected link, no blocking, no unlimited read.

To read: a path that the user names may be a symbolic link, as for any other command. What lies in a folder that the
user names may not. Both must lead to a regular file: opening a FIFO, a socket or a device could block or have effects.
A file is checked again once it is open, and only its descriptor is used from then on.

To write: no part of the path may be a symbolic link; otherwise an audited repository, or the owner of the folder,
could choose where a report is written. A report replaces the file of its name, so that no hard link is written through
either.

Every error is an OSError; its `strerror` is a clause that says what is wrong, as one inert line.

Guards: that a path leads to the file that was meant, and to a regular file
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rlm_secure.inert import inert_line

Name = str | os.PathLike[str]

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PASS: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK: Final = 1024 * 1024
#: Most nested folders of a walk, each of which keeps a descriptor open, and most names in all.
_DEEPEST: Final = 64
_ENTRIES: Final = 1_000_000

_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotAFile(OSError):
    """The path leads to something other than a regular file, or through a link. `strerror` says what."""


class TooLarge(OSError):
    """A file has more bytes than its reader allows."""


def is_folder(path: Name) -> bool:
    """Whether `path` leads to a folder. False where that is unknown: opening it then gives the reason."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir() raises for a name that is too long


def open_file(path: Name, *, below: Name | None = None) -> int:
    """A descriptor to read the regular file at `path`. Never blocks.

    With `below`, `path` is relative to that folder, and no part of it may be a link.
    """
    if below is None:
        return _open(os.fspath(path), None, path)
    with _folder(os.open(below, _PASS), os.fspath(path), path) as (folder, name):
        return _open(name, folder, path)


def read(path: Name, limit: int, *, below: Name | None = None) -> bytes:
    """The bytes of the regular file at `path`, as for open_file(). Raises TooLarge beyond `limit` bytes."""
    descriptor = open_file(path, below=below)
    try:
        data = b"".join(chunks(descriptor, limit + 1))
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise TooLarge(errno.EFBIG, f"it is larger than {limit:,} bytes", os.fspath(path))
    return data


def chunks(descriptor: int, limit: int) -> Iterator[bytes]:
    """The bytes of a descriptor, up to `limit`, in chunks."""
    while limit > 0 and (data := os.read(descriptor, min(_CHUNK, limit))):
        limit -= len(data)
        yield data


def read_private(path: Name, limit: int) -> bytes:
    """Up to `limit` bytes of a file that only its owner may access, such as a key. Raises NotAFile for any other."""
    descriptor = open_file(path)
    try:
        about = os.fstat(descriptor)
        if about.st_uid not in (0, os.geteuid()) or stat.S_IMODE(about.st_mode) & 0o077:
            raise NotAFile(errno.EPERM, "it is open to others; make it yours alone with chmod 600", os.fspath(path))
        return b"".join(chunks(descriptor, limit))
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a walk: `path` is relative to its root; `refused` says why it cannot be read as a file, or is ""."""

    path: str
    refused: str
    _folder: int
    _name: str

    def open(self) -> int:
        """A descriptor to read it, which the caller closes. Valid until the walk continues."""
        return _open(self._name, self._folder, self.path)


def walk(root: Name, enter: Callable[[str], bool] = bool) -> Iterator[Entry]:
    """Every file below the folder `root`, in the order of names, and every other entry, with why it is refused.

    No link is followed except `root` itself. A folder for which `enter` returns False is skipped. A folder with more
    names than the walk has left is its last entry, after some of its content.
    """
    left = _ENTRIES
    ahead: list[tuple[str, int, Iterator[str]]] = []

    def enter_into(prefix: str, name: Name, folder: int | None) -> None:
        nonlocal left
        descriptor, names = _listed(name, folder, left)
        left -= len(names)
        ahead.append((prefix, descriptor, iter(names)))

    enter_into("", root, None)
    try:
        while ahead:
            prefix, folder, names = ahead[-1]
            name = next(names, None)
            if name is None and left < 0:
                yield Entry(prefix.rstrip("/"), "too many", folder, os.curdir)
                return
            if name is None:
                os.close(folder)
                ahead.pop()
                continue
            path = prefix + name
            reason = _reason(name, folder)
            if reason == "a folder":
                if not enter(name):
                    continue
                reason = "too deep"
                if len(ahead) <= _DEEPEST:
                    try:
                        enter_into(f"{path}/", name, folder)
                    except OSError:
                        reason = "unreadable"
                    else:
                        continue
            yield Entry(path, reason, folder, name)
    finally:
        for _, folder, _ in ahead:
            os.close(folder)


def create(path: Name, mode: int = 0o600, *, folders: bool = False) -> int:
    """A descriptor to append to a new file at `path`, in exactly the folder that the path names.

    With `folders`, missing ones are created, accessible to their owner only. Raises FileExistsError, and NotAFile for a
    link in the path.
    """
    with parent(path, folders=folders) as (folder, name):
        return os.open(name, _CREATE | os.O_APPEND, mode, dir_fd=folder)


def replace(path: Name, data: bytes, *, folders: bool = False) -> None:
    """Write a report, whole or not at all, replacing a regular file of that name.

    Other hard links to the old file keep its content. With `folders`, missing ones are created, accessible to their
    owner only. Raises NotAFile for a link in the path, and for anything but a regular file at its end.
    """
    with parent(path, folders=folders) as (folder, name):
        mode = 0o666
        with contextlib.suppress(FileNotFoundError):
            mode &= _regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path).st_mode
        written = f".{secrets.token_hex(8)}"
        descriptor = os.open(written, _CREATE, mode, dir_fd=folder)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
            finally:
                os.close(descriptor)
            os.rename(written, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:  # Ctrl-C as well: no temporary file is left behind
            os.unlink(written, dir_fd=folder)
            raise


@contextlib.contextmanager
def parent(path: Name, *, folders: bool = False) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder that contains `path`, and the last name. No part of the path is a link.

    Errors name the whole path, including those raised in the `with` block.
    """
    text = os.fspath(path)
    start = os.open("/" if text.startswith("/") else os.curdir, _PASS)
    try:
        with _folder(start, text, path, folders=folders) as found:
            yield found
    except OSError as error:
        error.filename, error.filename2 = text, None
        raise


# -- paths ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _folder(start: int, text: str, path: Name, *, folders: bool = False) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder of the last name of `text`, and that name. Starts at `start`, and closes it."""
    *parts, name = text.split("/")
    folder = start
    try:
        for part in parts:
            if part in ("", os.curdir):
                continue
            if folders:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            if _reason(part, folder) == _KINDS[stat.S_IFLNK]:
                raise NotAFile(errno.ELOOP, f"{inert_line(part)} in its path is a symbolic link", str(path))
            inner = os.open(part, _PASS | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        if name in ("", os.curdir, os.pardir):
            raise NotAFile(errno.EISDIR, "it is the name of a folder", str(path))
        yield folder, name
    finally:
        os.close(folder)


def _open(name: str, folder: int | None, path: Name) -> int:
    """A descriptor of a regular file; a link is followed only where there is no `folder`."""
    # Checked before, because opening a device may have effects; and after, because it may have been replaced.
    _regular(os.stat(name, dir_fd=folder, follow_symlinks=folder is None), path)
    descriptor = os.open(name, _READ | (0 if folder is None else os.O_NOFOLLOW), dir_fd=folder)
    try:
        _regular(os.fstat(descriptor), path)
    except NotAFile:
        os.close(descriptor)
        raise
    return descriptor


def _regular(about: os.stat_result, path: Name) -> os.stat_result:
    if not stat.S_ISREG(about.st_mode):
        kind = _KINDS.get(stat.S_IFMT(about.st_mode), "something else")
        raise NotAFile(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    return about


def _reason(name: str, folder: int) -> str:
    """Why an entry is not a regular file; "" where it is."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return "unreadable"
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


def _listed(name: Name, folder: int | None, limit: int) -> tuple[int, list[str]]:
    """A descriptor of a folder, and its names: at most one more than `limit`, which shows that there are too many."""
    descriptor = os.open(name, _LIST | (0 if folder is None else os.O_NOFOLLOW), dir_fd=folder)
    try:
        with os.scandir(descriptor) as entries:
            return descriptor, sorted(entry.name for entry in islice(entries, limit + 1))
    except BaseException:  # Ctrl-C as well: no descriptor stays open
        os.close(descriptor)
        raise
