"""Reads the context that a user names, on the command line or as a Path: files, directories, stdin.

One file or stdin becomes a str. A directory, or several paths, become a dict from path to text: text with headers
between the documents would let a document forge a header.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rlm_secure import files
from rlm_secure.errors import ContextError
from rlm_secure.loggers import logger
from rlm_secure.plural import counted

Note = Callable[[str], None]
_HEAD = 8192
_log = logger("rlm_secure")


def read(paths: Sequence[str], *, limit: int, note: Note) -> str | dict[str, str]:
    """Read the text of `paths` ("-" is stdin), at most `limit` bytes in total.

    Files that are not UTF-8 text, hidden files and symbolic links inside a directory are left out and
    reported through `note`; a file named directly must be text. Only regular files are opened. Raises ContextError.
    """
    budget = _Budget(limit)
    if len(paths) == 1 and paths[0] == "-":
        return _stdin(budget)
    if len(paths) == 1 and not files.is_folder(paths[0]):
        return _file(Path(paths[0]), budget)
    documents: dict[str, str] = {}
    for name in paths:
        path = Path(name)
        if name == "-":
            documents["stdin"] = _stdin(budget)
        elif files.is_folder(path):
            documents.update(_directory(path, budget, note, prefix="" if len(paths) == 1 else f"{name}/"))
        else:
            documents[name] = _file(path, budget)
    if not documents:
        raise ContextError(f"there is no text file in {', '.join(paths)}; name a file, or another directory")
    return documents


def resolved(context: Any, limit: int) -> Any:
    """`context` with the text of each Path in its place: of itself, or of the values of a dict or a list.

    The host reads it, at most `limit` bytes in total: a file as a str, a directory as a dict from path to text, with
    what read() leaves out in the log. Anything else stays as it is; a str is a text, and never a path. Raises
    ContextError.
    """
    budget = _Budget(limit)
    if isinstance(context, Path):
        return _path(context, budget)
    if isinstance(context, dict) and any(isinstance(each, Path) for each in context.values()):
        return {key: _path(each, budget) if isinstance(each, Path) else each for key, each in context.items()}
    if isinstance(context, list) and any(isinstance(each, Path) for each in context):
        return [_path(each, budget) if isinstance(each, Path) else each for each in context]
    return context


def _path(path: Path, budget: _Budget) -> str | dict[str, str]:
    if not files.is_folder(path):
        return _file(path, budget)
    found = _directory(path, budget, _log.info, prefix="")
    if not found:
        raise ContextError(f"there is no text file in {path}; name a file, or another directory")
    return found


class _Budget:
    """Counts the bytes that are left."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def read(self, descriptor: int, name: str) -> bytes:
        """Read all bytes of an open file. Raises ContextError beyond the limit."""
        try:
            data = b"".join(files.chunks(descriptor, self._left + 1))
        except MemoryError:
            raise ContextError(f"{name} is larger than the memory that there is; give less") from None
        self._left -= len(data)
        if self._left < 0:
            raise ContextError(
                f"the context is larger than limits.context_bytes = {self._limit:,} "
                f"(reached in {name}); give less, or raise the limit in a policy file"
            )
        return data

    def file(self, descriptor: int, name: str) -> bytes:
        """As read(); closes the file."""
        try:
            return self.read(descriptor, name)
        finally:
            os.close(descriptor)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContextError(
            f"{name} is not UTF-8 text (byte {error.start:,}); convert it first, for example with iconv"
        ) from None


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _stdin(budget: _Budget) -> str:
    try:
        return _text(budget.read(sys.stdin.buffer.fileno(), "stdin"), "stdin")
    except OSError as error:
        raise ContextError(f"stdin cannot be read: {error.strerror}; give a file or a pipe") from None


def _file(path: Path, budget: _Budget) -> str:
    try:
        return _text(budget.file(files.open_file(path), str(path)), str(path))
    except OSError as error:
        raise ContextError(f"{path} cannot be read: {error.strerror}; name a readable file") from None


def _directory(root: Path, budget: _Budget, note: Note, *, prefix: str) -> dict[str, str]:
    documents: dict[str, str] = {}
    skipped: Counter[str] = Counter()

    def hidden(name: str) -> bool:
        skipped["hidden"] += name.startswith(".")
        return name.startswith(".")

    try:
        for entry in files.walk(root, lambda name: not hidden(name)):
            if hidden(entry.path.rpartition("/")[2]):
                continue
            reason, text = _document(entry, f"{root}/{entry.path}", budget)
            if reason:
                skipped[reason] += 1
            else:
                documents[prefix + entry.path] = text
    except OSError as error:
        raise ContextError(f"{root} cannot be read: {error.strerror}; name a readable directory") from None
    left_out = ", ".join(f"{skipped[reason]:,} {reason}" for reason in _REASONS if skipped[reason])
    if left_out:
        note(f"{root}: {counted(len(documents), 'text file')}; left out: {left_out}")
    return documents


_REASONS = (
    "binary", "hidden", "a symbolic link", "no regular file", "unreadable", "with a name that is not UTF-8", "too deep",
    "too many",
)  # fmt: skip


def _document(entry: files.Entry, name: str, budget: _Budget) -> tuple[str, str]:
    """The reason to leave a file out, or "", and its text."""
    if entry.refused:
        return entry.refused if entry.refused in _REASONS else "no regular file", ""
    if not name.isascii() and _decoded(os.fsencode(entry.path)) is None:
        return "with a name that is not UTF-8", ""
    try:
        data = budget.file(entry.open(), name)
    except files.NotAFile:
        return "no regular file", ""
    except OSError:
        return "unreadable", ""
    # UTF-8 allows NUL, but a file with one in its first bytes is taken as binary.
    text = None if b"\0" in data[:_HEAD] else _decoded(data)
    return ("", text) if text is not None else ("binary", "")
