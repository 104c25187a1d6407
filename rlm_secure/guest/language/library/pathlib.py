"""pathlib: paths are text, and at each of them there is nothing."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_from_bytes

__all__ = ["Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath"]
LEFT_OUT = {
    "WindowsPath": "this is no Windows; for names use pathlib.PureWindowsPath",
    "UnsupportedOperation": "pure paths raise none",
}

# Bound by the loader.
windows_drive: Callable[[str], tuple[str, str]]


class PurePath:
    _sep = "/"

    def __new__(cls, *pathsegments: Any) -> Any:
        return object.__new__(PurePosixPath if cls is PurePath else cls)

    def __init__(self, *pathsegments: Any) -> None:
        drive = root = ""
        rest: list[str] = []
        for segment in pathsegments:
            if isinstance(segment, PurePath):
                segment = str(segment) if type(segment) is type(self) else segment.as_posix()
            elif not isinstance(segment, str):
                raise TypeError(
                    "argument should be a str or an os.PathLike object where __fspath__ returns a str, "
                    f"not {type(segment).__name__!r}"
                )
            its_drive, its_root, names = self._split(segment)
            if its_root or (its_drive and self._folded(its_drive) != self._folded(drive)):
                drive, root, rest = its_drive or drive, its_root, names
            else:
                rest = rest + names
        self._drive, self._root, self._rest = drive, root, tuple(rest)

    def _split(self, text: str) -> tuple[str, str, list[str]]:
        root = "//" if text.startswith("//") and not text.startswith("///") else "/" if text.startswith("/") else ""
        return "", root, [each for each in text.split("/") if each and each != "."]

    def _folded(self, text: str) -> str:
        return text

    def _made(self, drive: str, root: str, rest: Any) -> Any:
        made = object.__new__(type(self))
        made._drive, made._root, made._rest = drive, root, tuple(rest)
        return made

    @property
    def drive(self) -> str:
        return self._drive

    @property
    def root(self) -> str:
        return self._root

    @property
    def anchor(self) -> str:
        return self._drive + self._root

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.anchor, *self._rest) if self.anchor else self._rest

    @property
    def name(self) -> str:
        return self._rest[-1] if self._rest else ""

    @property
    def suffix(self) -> str:
        name = self.name
        at = name.rfind(".")
        return name[at:] if 0 < at < len(name) - 1 else ""

    @property
    def suffixes(self) -> list[str]:
        name = self.name
        return [] if name.endswith(".") else ["." + each for each in name.lstrip(".").split(".")[1:]]

    @property
    def stem(self) -> str:
        return self.name.removesuffix(self.suffix) if self.suffix else self.name

    @property
    def parent(self) -> Any:
        return self._made(self._drive, self._root, self._rest[:-1]) if self._rest else self

    @property
    def parents(self) -> tuple[Any, ...]:
        return tuple(self._made(self._drive, self._root, self._rest[:at]) for at in range(len(self._rest) - 1, -1, -1))

    def as_posix(self) -> str:
        return str(self).replace(self._sep, "/")

    def as_uri(self) -> str:
        if not self.is_absolute():
            raise ValueError("relative path can't be expressed as a file URI")
        text = self.as_posix()
        if self._drive:
            drive, text = self._drive, text[len(self._drive) :]
            if drive.startswith("\\"):
                return "file:" + quote_from_bytes((drive.replace("\\", "/") + text).encode())
            return "file:///" + drive + quote_from_bytes(text.encode())
        return "file://" + quote_from_bytes(text.encode())

    def is_absolute(self) -> bool:
        return bool(self._root)

    def is_reserved(self) -> bool:
        return False

    def joinpath(self, *pathsegments: Any) -> Any:
        return type(self)(self, *pathsegments)

    def with_segments(self, *pathsegments: Any) -> Any:
        return type(self)(*pathsegments)

    def _renamed(self, name: str) -> Any:
        if not self.name:
            raise ValueError(f"{self!r} has an empty name")
        if not name or self._sep in name or "/" in name or name == ".":
            raise ValueError(f"Invalid name {name!r}")
        return self._made(self._drive, self._root, (*self._rest[:-1], name))

    def with_name(self, name: str) -> Any:
        return self._renamed(name)

    def with_stem(self, stem: str) -> Any:
        return self._renamed(stem + self.suffix)

    def with_suffix(self, suffix: str) -> Any:
        if suffix and (not suffix.startswith(".") or suffix == "." or "/" in suffix or self._sep in suffix):
            raise ValueError(f"Invalid suffix {suffix!r}")
        return self._renamed(self.stem + suffix)

    def _key(self) -> tuple[str, ...]:
        return tuple(self._folded(each) for each in self.parts)

    def is_relative_to(self, other: Any, *more: Any) -> bool:
        key = type(self)(other, *more)._key()
        return self._key()[: len(key)] == key

    def relative_to(self, other: Any, *more: Any, walk_up: bool = False) -> Any:
        base = type(self)(other, *more)
        if self.anchor != base.anchor and self._folded(self.anchor) != self._folded(base.anchor):
            raise ValueError(f"{str(self)!r} and {str(base)!r} have different anchors")
        ours, theirs = self._key(), base._key()
        shared = 0
        while shared < min(len(ours), len(theirs)) and ours[shared] == theirs[shared]:
            shared += 1
        up = len(theirs) - shared
        if up and not walk_up:
            raise ValueError(f"{str(self)!r} is not in the subpath of {str(base)!r}")
        if ".." in theirs[shared:]:
            raise ValueError(f"'..' segment in {str(base)!r} cannot be walked")
        return self._made("", "", (*[".."] * up, *self.parts[shared:]))

    def match(self, path_pattern: Any, *, case_sensitive: bool | None = None) -> bool:
        pattern = type(self)(path_pattern)
        if not pattern.parts:
            raise ValueError("empty pattern")
        fold = self._folded if case_sensitive is None else str if case_sensitive else str.lower
        ours, theirs = [fold(each) for each in self.parts], [fold(each) for each in pattern.parts]
        if len(theirs) > len(ours) or (pattern.anchor and len(theirs) != len(ours)):
            return False
        return all(map(fnmatch.fnmatchcase, reversed(ours), reversed(theirs)))

    def __truediv__(self, other: Any) -> Any:
        return type(self)(self, other) if isinstance(other, str | PurePath) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return type(self)(other, self) if isinstance(other, str | PurePath) else NotImplemented

    def __str__(self) -> str:
        if self._rest and not self.anchor and windows_drive(self._rest[0])[0]:
            return self._sep.join((".", *self._rest))
        return self.anchor + self._sep.join(self._rest) or "."

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.as_posix()!r})"

    def __bytes__(self) -> bytes:
        return str(self).encode()

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if _alike(self, other) else NotImplemented  # type: ignore[attr-defined]

    def __lt__(self, other: Any) -> bool:
        return self._key() < other._key() if _alike(self, other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self._key() <= other._key() if _alike(self, other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self._key() > other._key() if _alike(self, other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self._key() >= other._key() if _alike(self, other) else NotImplemented


class PurePosixPath(PurePath):
    def __str__(self) -> str:
        return self.anchor + "/".join(self._rest) or "."


class PureWindowsPath(PurePath):
    _sep = "\\"

    def _split(self, text: str) -> tuple[str, str, list[str]]:
        drive, rest = windows_drive(text.replace("/", "\\"))
        root = "\\" if rest.startswith("\\") or (drive.startswith("\\\\") and not drive.endswith("\\")) else ""
        return drive, root, [each for each in rest.split("\\") if each and each != "."]

    def _folded(self, text: str) -> str:
        return text.lower()

    def is_absolute(self) -> bool:
        return bool(self._drive and self._root)


def _alike(one: PurePath, other: object) -> bool:
    return isinstance(other, PurePath) and isinstance(other, PureWindowsPath) == isinstance(one, PureWindowsPath)


class Path(PurePosixPath):
    "A path where there is nothing: it can be asked and joined, and what would touch a file says that there are none."

    __slots__ = ()

    @classmethod
    def cwd(cls) -> Any:
        return cls("/")

    @classmethod
    def home(cls) -> Any:
        return cls("/")

    def absolute(self) -> Any:
        return type(self)("/", self)

    def resolve(self, strict: bool = False) -> Any:
        if strict:
            self.stat()  # type: ignore[attr-defined]
        parts: list[str] = []
        for each in self.absolute().parts[1:]:
            if each != "..":
                parts.append(each)
            elif parts:
                parts.pop()
        return type(self)("/", *parts)

    def expanduser(self) -> Any:
        return self

    def exists(self, **_options: Any) -> bool:
        return False

    is_file = is_dir = is_symlink = is_mount = is_socket = is_fifo = is_block_device = is_char_device = exists

    def glob(self, pattern: str, **_options: Any) -> Any:
        return iter(())

    rglob = glob


PosixPath = Path
_NO_FILE = "No such file or directory (there are no files on a disk; use `context`, or `files` if there is one)"
_NO_DISK = "Read-only file system (there are no files on a disk; keep data in variables, or in `files` if there is one)"


def _refusing(name: str, number: int, text: str) -> Any:
    def method(self: Any, *_values: Any, **_options: Any) -> Any:
        raise OSError(number, text, str(self))

    return method


for _name in (
    "iterdir", "lstat", "open", "owner", "group", "read_bytes", "read_text", "readlink", "rmdir", "samefile", "stat",
    "unlink", "walk",
):
    setattr(Path, _name, _refusing(_name, 2, _NO_FILE))
for _name in ("chmod", "hardlink_to", "mkdir", "rename", "replace", "symlink_to", "touch", "write_bytes", "write_text"):
    setattr(Path, _name, _refusing(_name, 30, _NO_DISK))
