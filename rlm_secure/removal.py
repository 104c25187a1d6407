"""Removal of a directory tree that a hostile process may have written to.

Everything is reached by descriptors only, one name at a time: no symbolic link is followed, and no mount is entered.
The kernel enforces that where it has openat2(2); elsewhere the mount id of every directory is compared with its
parent's. The device number would not suffice: a bind mount has that of the file system it shows. What is mounted in
the tree is unmounted, never read, and reported: it is evidence that a process could mount.

The paths given are trusted up to their last name. If a racing process moves a directory out of the tree after it was
opened there, its content is removed all the same: it was in the tree.

Guards: clean-up that crosses no mount and follows no link
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rlm_secure.files import flags

#: Mounts are Linux's. Elsewhere no session runs beside this process, and the standard library removes a tree.
_LINUX = sys.platform == "linux"
if _LINUX:
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.syscall.restype = ctypes.c_long

_OPENAT2 = 437  # on every architecture that Python runs on
_HOW = struct.Struct("QQQ")
_RESOLVE = 0x01 | 0x02 | 0x04 | 0x08  # NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS, BENEATH
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH = 2
_PIN = flags("PATH", "NOFOLLOW", "CLOEXEC")
_LIST = flags("RDONLY", "DIRECTORY", "CLOEXEC")

#: Descriptors held: one for each level of an ordinary tree. A deeper directory is first moved to the top.
_HELD = 64
#: A racing process can deepen, fill and mount on a tree forever. At these limits, the removal fails with an error.
_DEEPEST = 1 << 20
_RELISTINGS = 10_000
_ATTEMPTS = 4096  # for one name, each of which unmounts one mount or finds another kind of file

_MOUNTED = (errno.EBUSY, errno.EXDEV)
_FULL = (errno.ENOTEMPTY, errno.EEXIST)
_DENIED = (errno.EACCES, errno.EPERM)
_NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)


class RemovalError(OSError):
    """Something could not be removed: `filename` is the first; everything that can be removed is.

    `detached` are the mount points that were unmounted nevertheless.
    """

    detached: tuple[str, ...] = ()


def remove(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Remove the file or the tree at `path`; returns the mount points in it that were unmounted.

    What was mounted there is not changed. A path that does not exist is no error. Raises RemovalError.
    """
    given = os.fspath(path).rstrip("/")
    parent, name = os.path.split(given)
    if name in ("", os.curdir, os.pardir):
        raise RemovalError(errno.EINVAL, "Not the name of an entry in a directory", os.fspath(path))
    if not _LINUX:
        return _removed_plainly(given)
    try:
        descriptor = os.open(parent or os.curdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RemovalError(error.errno, error.strerror, given) from error
    try:
        return _Removal(descriptor).run(name, _Place(None, given, 0))
    finally:
        os.close(descriptor)


def _removed_plainly(path: str) -> tuple[str, ...]:
    try:
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            shutil.rmtree(path)
        else:
            os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RemovalError(error.errno, error.strerror, path) from error
    return ()


class Scratch:
    """A new temporary directory, removed with its content when the `with` block ends.

    `detached` are then the mount points that were unmounted in it.
    """

    def __init__(self, prefix: str = "rlm-secure-", dir: str | os.PathLike[str] | None = None) -> None:  # noqa: A002
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=dir))
        self.detached: tuple[str, ...] = ()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it now. Idempotent. Raises RemovalError."""
        try:
            self.detached += remove(self.path)
        except RemovalError as error:
            self.detached += error.detached
            raise


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry was found, for messages. Linked, because full paths of a deep tree would exhaust memory."""

    parent: _Place | None
    name: str
    depth: int

    def below(self, name: str) -> _Place:
        return _Place(self, name, self.depth + 1)

    def __str__(self) -> str:
        names = [self.name]
        place = self.parent
        while place is not None:
            names.append(place.name)
            place = place.parent
        return "/".join(reversed(names))


@dataclass(slots=True)
class _Directory:
    """A directory that is being emptied. It is `stuck` once an entry in it cannot be removed."""

    descriptor: int
    name: str
    place: _Place
    names: list[str]
    stuck: bool = False


class _Removal:
    """One removal. `parent` is the descriptor of the directory that contains the entry."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._open: list[_Directory] = []
        self._lifted: dict[str, _Place] = {}
        self._relistings = _RELISTINGS
        self._detached: dict[str, None] = {}
        self._failure: tuple[OSError, _Place] | None = None
        self._failures = 0

    def run(self, name: str, place: _Place) -> tuple[str, ...]:
        try:
            self._take(self._parent, name, place)
            while self._open:
                self._step(self._open[-1])
        finally:
            for directory in self._open:  # Ctrl-C
                os.close(directory.descriptor)
        if self._failure is not None:
            raise self._error(*self._failure)
        return tuple(self._detached)

    def _error(self, cause: OSError, place: _Place) -> RemovalError:
        others = f" (and {self._failures - 1} more cannot be removed)" if self._failures > 1 else ""
        error = RemovalError(cause.errno, f"{cause.strerror}{others}", str(place))
        error.detached = tuple(self._detached)
        error.__cause__ = cause
        return error

    def _step(self, directory: _Directory) -> None:
        """Remove the next entry of the directory that was opened last, or leave it when empty."""
        if directory.names:
            name = directory.names.pop()
            place = self._lifted.pop(name) if name in self._lifted else directory.place.below(name)
            self._take(directory.descriptor, name, place)
            return
        self._open.pop()
        os.close(directory.descriptor)
        parent = self._open[-1] if self._open else None
        if not directory.stuck:
            at = parent.descriptor if parent else self._parent
            self._take(at, directory.name, directory.place, emptied=True)
        elif parent:
            parent.stuck = True

    def _take(self, parent: int, name: str, place: _Place, *, emptied: bool = False) -> None:
        """Remove an entry, or open it to be emptied."""
        try:
            descriptor = self._removed_or_opened(parent, name, place, emptied=emptied)
            if descriptor is not None:
                self._enter(descriptor, parent, name, place, emptied=emptied)
        except FileNotFoundError:
            pass  # already removed by another process
        except OSError as error:
            self._failures += 1
            self._failure = self._failure or (error, place)
            if self._open:
                self._open[-1].stuck = True

    def _removed_or_opened(self, parent: int, name: str, place: _Place, *, emptied: bool) -> int | None:
        for _ in range(_ATTEMPTS):
            try:
                return _remove_or_open(parent, name, emptied=emptied)
            except OSError as error:
                if error.errno in _MOUNTED:
                    if not _detach(parent, name):
                        raise  # busy for another reason
                    self._detached[str(place)] = None
                elif error.errno not in (*_FULL, *_NO_DIRECTORY):  # those: changed meanwhile, so try again
                    raise
        raise OSError(errno.EBUSY, "Something is mounted here again and again, or takes the place of what was here")

    def _enter(self, descriptor: int, parent: int, name: str, place: _Place, *, emptied: bool) -> None:
        try:
            if emptied:
                self._relistings -= 1
                if self._relistings < 0:
                    raise OSError(errno.ENOTEMPTY, "Directory fills again and again")
            if len(self._open) < _HELD:
                self._open.append(_Directory(descriptor, name, place, os.listdir(descriptor)))
                return
            self._lift(parent, name, place)
        except BaseException:  # Ctrl-C as well: nobody else closes the descriptor
            os.close(descriptor)
            raise
        os.close(descriptor)

    def _lift(self, parent: int, name: str, place: _Place) -> None:
        """Move a directory to the top of the tree, to be removed there.

        If the name was replaced, its replacement is moved: also an entry of the tree. A mount point cannot be moved.
        """
        if place.depth > _DEEPEST:
            raise OSError(errno.ELOOP, "Directory is too deep in the tree")
        top = self._open[0]
        free = secrets.token_hex(16)
        os.rename(name, free, src_dir_fd=parent, dst_dir_fd=top.descriptor)
        self._lifted[free] = place
        top.names.append(free)


def _remove_or_open(parent: int, name: str, *, emptied: bool) -> int | None:
    """Remove an entry; for a directory that is not empty, or cannot be removed, return its descriptor instead."""
    try:
        try:
            os.unlink(name, dir_fd=parent)
        except IsADirectoryError:
            os.rmdir(name, dir_fd=parent)
        return None
    except OSError as error:
        if error.errno not in _FULL and (emptied or error.errno not in _DENIED):
            raise
        try:
            return _open_directory(parent, name)
        except OSError as other:
            if other.errno in _NO_DIRECTORY:
                raise error from None
            raise


def _open_directory(parent: int, name: str) -> int:
    """Open a directory for listing and emptying; if it is ours, set its mode to allow that."""
    pin = _open_below(parent, name, _PIN | os.O_DIRECTORY)
    try:
        about = os.fstat(pin)
        if about.st_uid == os.geteuid() and about.st_mode & 0o700 != 0o700:
            os.chmod(_through_proc(pin), 0o700)  # noqa: PTH101
        return _open_below(pin, os.curdir, _LIST)
    finally:
        os.close(pin)


def _open_below(parent: int, name: str, flags: int) -> int:
    """Open one name in a directory. Raises OSError (EXDEV) where another mount begins there."""
    try:
        return _openat2(parent, name, flags)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):  # an old kernel, gVisor; a seccomp filter
            raise
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        if _mount_id(descriptor) != _mount_id(parent):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    except BaseException:  # Ctrl-C as well: nobody else closes the descriptor
        os.close(descriptor)
        raise
    return descriptor


def _openat2(parent: int, name: str, flags: int) -> int:
    how = _HOW.pack(flags, 0, _RESOLVE)
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(_HOW.size)
    return _checked(_libc.syscall(number, ctypes.c_long(parent), os.fsencode(name), how, size), "")


def _detach(parent: int, name: str) -> bool:
    """Unmount the topmost mount on an entry; False where nothing is mounted.

    The pin refers to the mount itself: whatever is done to its name meanwhile, nothing else is unmounted. It is opened
    with O_PATH, because an attacker's file system may never answer. The mount is made private first: unmounting a
    shared recursive copy of / would otherwise unmount /proc and /dev of the real one.
    """
    pin = os.open(name, _PIN, dir_fd=parent)
    try:
        if _mount_id(pin) == _mount_id(parent):
            return False
        target = os.fsencode(_through_proc(pin))
        flags = ctypes.c_ulong(_MS_REC | _MS_PRIVATE)
        _checked(_libc.mount(None, target, None, flags, None), "A mount that cannot be taken off: ")
        _checked(_libc.umount2(target, ctypes.c_int(_MNT_DETACH)), "A mount that cannot be taken off: ")
        return True
    finally:
        os.close(pin)


def _mount_id(descriptor: int) -> int:
    """The mount that a descriptor was opened on."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as lines:  # noqa: PTH123
            return next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    except (FileNotFoundError, StopIteration):
        raise OSError(errno.ENOTSUP, "Nothing tells mounts apart: no mnt_id in /proc/self/fdinfo") from None


def _through_proc(pin: int) -> str:
    """A path in /proc to exactly the file that a descriptor has open."""
    path = f"/proc/self/fd/{pin}"
    if not os.path.lexists(path):  # otherwise the caller would take ENOENT for a removed file
        raise OSError(errno.ENOTSUP, "This needs /proc")
    return path


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}{os.strerror(number)}")
    return result
