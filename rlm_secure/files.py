"""The only module that opens paths that others name or can change: no unexpected link, no blocking, no unlimited read.

To read: a path that the user names may be a symbolic link, as for any other command. What lies in a folder that the
user names may not. Both must lead to a regular file: opening a FIFO, a socket or a device could block or have effects.
A file is checked again once it is open, and only its descriptor is used from then on.

To write: no part of the path may be a symbolic link; otherwise an audited repository, or the owner of the folder,
could choose where a report is written. A report replaces the file of its name, so that no hard link is written through
either.

Paths are walked by the descriptors of their folders. Windows has none: there a folder is its path, a link is refused by
a look before a file is opened, and another look finds a file that was replaced in between.

Every error is an OSError; its `strerror` is a clause that says what is wrong, as one inert line.

Guards: that a path leads to the file that was meant, and to a regular file
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from rlm_secure.inert import inert_line

Name = str | os.PathLike[str]

#: A folder on the way: its descriptor, or its path where there are none.
Folder = int | str


def flags(*names: str) -> int:
    """These flags of open(2), as far as this system has them."""
    return sum(getattr(os, f"O_{name}", 0) for name in names)


_BY_DESCRIPTORS: Final = os.open in os.supports_dir_fd
_NOFOLLOW: Final = flags("NOFOLLOW")
_READ: Final = flags("RDONLY", "NONBLOCK", "NOCTTY", "CLOEXEC", "BINARY")
_LIST: Final = flags("RDONLY", "DIRECTORY", "CLOEXEC")
_PASS: Final = flags("PATH", "DIRECTORY", "CLOEXEC")
_CREATE: Final = flags("WRONLY", "CREAT", "EXCL", "NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY")
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
    with _folder(_start(os.fspath(below)), os.fspath(path), path) as (folder, name):
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
    if not hasattr(os, "geteuid"):
        raise NotAFile(errno.EPERM, "this system does not say here who else may read it", os.fspath(path))
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
    _folder: Folder
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
    ahead: list[tuple[str, Folder, Iterator[str]]] = []

    def enter_into(prefix: str, name: Name, folder: Folder | None) -> None:
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
                leave(folder)
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
            leave(folder)


def create(path: Name, mode: int = 0o600, *, folders: bool = False) -> int:
    """A descriptor to append to a new file at `path`, in exactly the folder that the path names.

    With `folders`, missing ones are created, accessible to their owner only. Raises FileExistsError, and NotAFile for a
    link in the path.
    """
    with parent(path, folders=folders) as (folder, name):
        place, where = at(name, folder)
        return os.open(place, _CREATE | os.O_APPEND, mode, **where)


def replace(path: Name, data: bytes, *, folders: bool = False) -> None:
    """Write a report, whole or not at all, replacing a regular file of that name.

    Other hard links to the old file keep its content. With `folders`, missing ones are created, accessible to their
    owner only. Raises NotAFile for a link in the path, and for anything but a regular file at its end.
    """
    with parent(path, folders=folders) as (folder, name):
        mode = 0o666
        with contextlib.suppress(FileNotFoundError):
            mode &= _regular(_looked_at(name, folder), path).st_mode
        written, where = at(f".{os.urandom(8).hex()}", folder)
        descriptor = os.open(written, _CREATE, mode, **where)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
            finally:
                os.close(descriptor)
            between = {f"{end}_{key}": value for key, value in where.items() for end in ("src", "dst")}
            os.replace(written, at(name, folder)[0], **between)  # noqa: PTH105
        except BaseException:  # Ctrl-C as well: no temporary file is left behind
            os.unlink(written, **where)
            raise


@contextlib.contextmanager
def parent(path: Name, *, folders: bool = False) -> Iterator[tuple[Folder, str]]:
    """The folder that contains `path`, and the last name, for `at`. No part of the path is a link.

    Errors name the whole path, including those raised in the `with` block.
    """
    text = os.fspath(path)
    drive, way = os.path.splitdrive(text)  # of Windows; "" elsewhere
    try:
        start = _start(drive + ("/" if way.startswith(("/", os.sep)) else os.curdir))
        with _folder(start, way, path, folders=folders) as found:
            yield found
    except OSError as error:
        error.filename, error.filename2 = text, None
        raise


def at(name: str, folder: Folder | None) -> tuple[str, dict[str, Any]]:
    """How a name in a folder is given to os.open() and its like: a path, and the arguments by name."""
    if not isinstance(folder, str):
        return name, {"dir_fd": folder}
    if ":" in name or os.sep in name:  # a drive, or a stream of a file of Windows
        raise NotAFile(errno.EINVAL, f"{inert_line(name)} is no plain name", name)
    return f"{folder}/{name}", {}


def leave(folder: Folder) -> None:
    """Close a folder."""
    if isinstance(folder, int):
        os.close(folder)


# -- paths ------------------------------------------------------------------------------------------------


def _start(path: str) -> Folder:
    """The folder at `path`, which the user names: links are followed."""
    if _BY_DESCRIPTORS:
        return os.open(path, _PASS)
    os.scandir(path).close()  # raises what is wrong with it
    return path


@contextlib.contextmanager
def _folder(start: Folder, text: str, path: Name, *, folders: bool = False) -> Iterator[tuple[Folder, str]]:
    """The folder of the last name of `text`, and that name. Starts at `start`, and closes it."""
    *parts, name = text.replace(os.sep, "/").split("/")
    folder = start
    try:
        for part in parts:
            if part in ("", os.curdir):
                continue
            place, where = at(part, folder)
            if folders:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(place, 0o700, **where)  # noqa: PTH102
            if _reason(part, folder) == _KINDS[stat.S_IFLNK]:
                raise NotAFile(errno.ELOOP, f"{inert_line(part)} in its path is a symbolic link", str(path))
            inner = os.open(place, _PASS | _NOFOLLOW, **where) if _BY_DESCRIPTORS else _start(place)
            leave(folder)
            folder = inner
        if name in ("", os.curdir, os.pardir):
            raise NotAFile(errno.EISDIR, "it is the name of a folder", str(path))
        yield folder, name
    finally:
        leave(folder)


def _looked_at(name: str, folder: Folder | None) -> os.stat_result:
    """What a name is; a link is followed only where there is no `folder`."""
    place, where = at(name, folder)
    return os.stat(place, follow_symlinks=folder is None, **where)  # noqa: PTH116


def _open(name: str, folder: Folder | None, path: Name) -> int:
    """A descriptor of a regular file; a link is followed only where there is no `folder`."""
    # Checked before, because opening a device may have effects; and after, because it may have been replaced.
    before = _regular(_looked_at(name, folder), path)
    place, where = at(name, folder)
    descriptor = os.open(place, _READ | (0 if folder is None else _NOFOLLOW), **where)
    try:
        after = _regular(os.fstat(descriptor), path)
        if not _NOFOLLOW and not os.path.samestat(before, after):
            raise NotAFile(errno.ELOOP, "it was replaced while it was opened", str(path))
    except NotAFile:
        os.close(descriptor)
        raise
    return descriptor


def _regular(about: os.stat_result, path: Name) -> os.stat_result:
    if not stat.S_ISREG(about.st_mode):
        kind = _KINDS.get(stat.S_IFMT(about.st_mode), "something else")
        raise NotAFile(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    return about


def _reason(name: str, folder: Folder) -> str:
    """Why an entry is not a regular file; "" where it is."""
    try:
        mode = _looked_at(name, folder).st_mode
    except OSError:
        return "unreadable"
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


def _listed(name: Name, folder: Folder | None, limit: int) -> tuple[Folder, list[str]]:
    """A folder, and its names: at most one more than `limit`, which shows that there are too many."""
    place, where = at(os.fspath(name), folder)
    listed: Folder = place
    if _BY_DESCRIPTORS:
        listed = os.open(place, _LIST | (0 if folder is None else _NOFOLLOW), **where)
    try:
        with os.scandir(listed) as entries:
            return listed, sorted(entry.name for entry in islice(entries, limit + 1))
    except BaseException:  # Ctrl-C as well: no descriptor stays open
        leave(listed)
        raise
