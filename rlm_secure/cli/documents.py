"""Reads the context that a user names on the command line: files, directories, stdin.

One file or stdin becomes a str. A directory, or several paths, become a dict from path to text: no header
that a document could forge stands between two documents.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rlm_secure.errors import RLMSecureError

Note = Callable[[str], None]
_READ = 1024 * 1024
_HEAD = 8192


class ContextError(RLMSecureError):
    """A context cannot be read. The message names the path and what to do."""


def read(paths: Sequence[str], *, limit: int, note: Note) -> str | dict[str, str]:
    """The text of `paths`, "-" being stdin; at most `limit` bytes in all.

    Files that are not UTF-8 text, hidden files and symbolic links inside a directory are left out and
    reported through `note`; a file named by itself must be text. Raises ContextError.
    """
    budget = _Budget(limit)
    if len(paths) == 1 and paths[0] == "-":
        return _text(budget.read(sys.stdin.buffer.fileno(), "stdin"), "stdin")
    if len(paths) == 1 and not Path(paths[0]).is_dir():
        return _file(Path(paths[0]), budget)
    documents: dict[str, str] = {}
    for name in paths:
        path = Path(name)
        if name == "-":
            documents["stdin"] = _text(budget.read(sys.stdin.buffer.fileno(), "stdin"), "stdin")
        elif path.is_dir():
            documents.update(_directory(path, budget, note, prefix="" if len(paths) == 1 else f"{name}/"))
        else:
            documents[name] = _file(path, budget)
    if not documents:
        raise ContextError(f"there is no text file in {', '.join(paths)}; name a file, or another directory")
    return documents


class _Budget:
    """Counts the bytes that are left."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def read(self, source: Path | int, name: str) -> bytes:
        """All bytes of a path or an open file descriptor. Raises ContextError beyond the limit."""
        chunks: list[bytes] = []
        with open(source, "rb", closefd=isinstance(source, Path)) as file:
            while chunk := file.read(min(_READ, self._left + 1)):
                chunks.append(chunk)
                self._left -= len(chunk)
                if self._left < 0:
                    raise ContextError(
                        f"the context is larger than limits.context_bytes = {self._limit:,} "
                        f"(reached in {name}); give less, or raise the limit in a policy file"
                    )
        return b"".join(chunks)


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


def _file(path: Path, budget: _Budget) -> str:
    try:
        return _text(budget.read(path, str(path)), str(path))
    except OSError as error:
        raise ContextError(f"{path} cannot be read: {error.strerror}; name a readable file") from None


def _directory(root: Path, budget: _Budget, note: Note, *, prefix: str) -> dict[str, str]:
    documents: dict[str, str] = {}
    skipped = {"binary": 0, "hidden": 0, "a symbolic link": 0, "no regular file": 0, "unreadable": 0}
    for path, reason in _walk(root):
        if reason:
            skipped[reason] += 1
            continue
        try:
            data = budget.read(path, str(path))
        except OSError:
            skipped["unreadable"] += 1
            continue
        # UTF-8 allows NUL, but a file that has one near its start is not what a reader calls text.
        text = None if b"\0" in data[:_HEAD] else _decoded(data)
        if text is None:
            skipped["binary"] += 1
        else:
            documents[prefix + path.relative_to(root).as_posix()] = text
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in skipped.items() if number)
    if left_out:
        note(f"{root}: {len(documents):,} text files; left out: {left_out}")
    return documents


def _walk(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file below `root` in a stable order, with the reason to leave it out, or ""."""
    try:
        entries = sorted(root.iterdir())
    except OSError:
        yield root, "unreadable"
        return
    for path in entries:
        if path.name.startswith("."):
            yield path, "hidden"
        elif path.is_symlink():
            yield path, "a symbolic link"
        elif path.is_dir():
            yield from _walk(path)
        elif path.is_file():
            yield path, ""
        else:
            yield path, "no regular file"
