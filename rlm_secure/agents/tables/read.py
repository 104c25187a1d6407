"""Reads the file of a table in a process of its own: names, cells and notes, as plain data.

The host opens the file, and gives it to child.py as its standard input; no parser runs in the host. The process has no
path, no environment and no other descriptor; its memory, its processor time and the time on the clock are limited, a
filter of system calls stands before its parser (wall.py), and it is killed with its group when it is done, late or
interrupted. What it answers is hostile: it is decoded as what a sandbox sends is, within the limits of a table.

Guards: that the file of a table reaches a parser in a process of its own alone, and that its answer is bounded
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlm_secure import files
from rlm_secure.agents.tables import cells, wall
from rlm_secure.environments.local import packages, startup
from rlm_secure.errors import MissingExtra, TableError
from rlm_secure.inert import excerpt
from rlm_secure.policy.model import Limits
from rlm_secure.tagged import MalformedValue, untag
from rlm_secure.untrusted_json import MalformedJson, loads

#: Bytes of a table where the caller has no policy of its own.
LIMIT_BYTES: Final = Limits().context_bytes
#: Seconds on the clock and of the processor, and bytes of address space, that reading one file may take.
SECONDS: Final = 120.0
MEMORY_BYTES: Final = 4 * 1024 * 1024 * 1024

#: The kind of file by the end of its name, and the packages that read it.
_KINDS: Final = {
    ".csv": "text", ".txt": "text", ".tsv": "tabs", ".tab": "tabs",
    ".xlsx": "workbook", ".xlsm": "workbook", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_PACKAGES: Final = {
    "text": ("pandas", "numpy"),
    "tabs": ("pandas", "numpy"),
    "workbook": ("openpyxl", "et_xmlfile"),
    "parquet": ("pyarrow",),
}
_OTHERS: Final = {
    ".xls": "an old Excel workbook", ".xlsb": "a binary Excel workbook", ".ods": "an OpenDocument sheet",
    ".json": "JSON", ".numbers": "a Numbers document",
}  # fmt: skip
#: Bytes of a frame: a cell of the most characters, each written with six bytes.
_FRAME: Final = 6 * cells.CELL_SIZE + 1024 * 1024
#: Values of a frame: a tag and its parts for each of 100,000 cells.
_NODES: Final = 1_000_000
_PIECE: Final = 1024 * 1024
#: The calls of the kernel with which the process is sealed.
_SEAL: Final = Path(__file__).parents[2] / "guest" / "kernel" / "seal.py"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What is in a file: names as they stand there, the cells of each column, what to say about it, and its sheet."""

    names: list[Any]
    columns: list[list[Any]]
    notes: list[str]
    sheet: str | None


def parsed(
    path: str | os.PathLike[str],
    sheet: str | None = None,
    *,
    limit_bytes: int = LIMIT_BYTES,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Parsed:
    """What is in the file at `path`, a .csv, .tsv, .txt, .xlsx, .xlsm or .parquet. Raises TableError and MissingExtra.

    `sheet` names one of a workbook, else it is the first that is not hidden. `limit_bytes` bounds the file, and about
    what is in it; reading takes at most `seconds` and `memory_bytes` (bytes of address space).
    """
    name = excerpt(os.fspath(path))
    kind = _kind(Path(path), name)
    if sheet is not None and kind != "workbook":
        raise TableError(f"{name} has no sheets, as it is no workbook; leave sheet out")
    if sheet is not None and (not isinstance(sheet, str) or "\0" in sheet or len(sheet) > cells.NAME_CHARACTERS):
        raise TableError(f"a sheet of {name} is named by a text of at most {cells.NAME_CHARACTERS:,} characters")
    folders = _folders(kind)
    try:
        descriptor = files.open_file(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name holds a NUL"
        raise TableError(f"{name} cannot be read: {why}; name a readable file") from None
    try:
        before = os.fstat(descriptor)
        if (size := before.st_size) > limit_bytes:
            raise TableError(
                f"{name} has {size:,} bytes, more than limits.context_bytes = {limit_bytes:,}; give less, or "
                "raise the limit"
            )
        bounds = (cells.ROWS, cells.COLUMNS, cells.CELLS, cells.CELL_SIZE, memory_bytes, math.ceil(seconds))
        wanted = "" if sheet is None else f"={sheet}"
        walls = [wall.program().hex(), str(_SEAL)]
        process = _started([kind, wanted, *map(str, bounds), *walls, *folders], descriptor)
        try:
            found = _Answer(process, name, limit_bytes, seconds, memory_bytes).read()
        finally:
            _end(process)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise TableError(f"{name} changed while it was read; read it again when nothing writes to it")
    return found


def _kind(path: Path, name: str) -> str:
    end = path.suffix.lower()
    kind = _KINDS.get(end)
    if kind is None:
        what = f"is {_OTHERS[end]}" if end in _OTHERS else "has no name of a table"
        raise TableError(f"{name} {what}; save it as .csv, .tsv, .txt, .xlsx, .xlsm or .parquet")
    return kind


def _folders(kind: str) -> list[str]:
    """Where the packages are that read this kind of file."""
    names = _PACKAGES[kind]
    if any(importlib.util.find_spec(each) is None for each in names):
        raise MissingExtra(f"reading a table of this kind ({', '.join(names)})", "tables")
    return packages.folders(names)


def _started(arguments: list[str], descriptor: int) -> subprocess.Popen[bytes]:
    executable = startup.interpreter()
    startup.standard_streams()
    program = str(Path(__file__).with_name("child.py"))
    environment = {
        name: value for name in ("LD_LIBRARY_PATH",) if (value := os.environ.get(name))
    }  # of a shared libpython
    try:
        return subprocess.Popen(
            [executable, "-I", "-S", "-B", "-X", "utf8", program, *arguments],
            stdin=descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,  # a Ctrl-C in the terminal is the host's to handle
        )
    except OSError as error:
        raise TableError(
            f"no process to read a table could be started: {error.strerror}{startup.advice(error, executable)}"
        ) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its group, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:  # else its number may be another's
            os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    process.stdout.close()
    process.wait()


class _Answer:
    """What the process says, frame by frame, until it is done or the time is up."""

    def __init__(
        self, process: subprocess.Popen[bytes], name: str, limit_bytes: int, seconds: float, memory_bytes: int
    ) -> None:
        assert process.stdout is not None
        self._process = process
        self._pipe = process.stdout.fileno()
        self._name = name
        self._limit = limit_bytes
        self._left = 2 * limit_bytes + 64 * 1024 * 1024
        self._seconds = seconds
        self._memory = memory_bytes
        self._until = time.monotonic() + seconds
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)

    def read(self) -> Parsed:
        """The whole answer. Raises TableError."""
        head = self._frame()
        names, rows, notes, sheet = (head.get(key) for key in ("names", "rows", "notes", "sheet"))
        if not (
            isinstance(names, list)
            and isinstance(notes, list)
            and all(isinstance(note, str) for note in notes)
            and type(rows) is int
            and 0 <= rows <= cells.ROWS
            and len(names) <= cells.COLUMNS
            and rows * len(names) <= cells.CELLS
            and (sheet is None or isinstance(sheet, str))
        ):
            raise self._broken()
        columns: list[list[Any]] = [[] for _ in names]
        at = 0
        for frame in self._frames():
            column, found = frame.get("column"), frame.get("cells")
            if type(column) is not int or not at <= column < len(names) or not isinstance(found, list) or not found:
                raise self._broken()
            at = column
            columns[at] += self._untagged(found)
            if len(columns[at]) > rows:
                raise self._broken()
        if any(len(column) != rows for column in columns):
            raise self._broken()
        return Parsed(self._untagged(names), columns, [excerpt(note) for note in notes[:100]], sheet)

    def _untagged(self, found: list[Any]) -> list[Any]:
        try:
            values = untag(found)
        except MalformedValue:
            raise self._broken() from None
        if not cells.KINDS.issuperset(map(type, values)):
            raise self._broken()
        return list(values)

    def _frames(self) -> Iterator[dict[str, Any]]:
        while not (frame := self._frame()).get("done"):
            yield frame

    def _frame(self) -> dict[str, Any]:
        length = int.from_bytes(self._bytes(4), "big")
        if length > _FRAME:
            raise self._broken()
        try:
            frame = loads(self._bytes(length), nodes=_NODES)
        except MalformedJson:
            raise self._broken() from None
        if not isinstance(frame, dict):
            raise self._broken()
        if isinstance(said := frame.get("error"), str):
            raise TableError(f"{self._name} {excerpt(said, 1000)}")
        return frame

    def _bytes(self, count: int) -> bytes:
        self._left -= count
        if self._left < 0:
            raise TableError(
                f"{self._name} holds more than limits.context_bytes = {self._limit:,} bytes; give less, or raise it"
            )
        data = bytearray()
        while len(data) < count:
            left = self._until - time.monotonic()
            if left <= 0 or not self._poll.poll(left * 1000):
                raise TableError(f"{self._name} was not read within {self._seconds:g} seconds; give a smaller file")
            piece = os.read(self._pipe, min(count - len(data), _PIECE))
            if not piece:
                raise self._ended()
            data += piece
        return bytes(data)

    def _ended(self) -> TableError:
        """Why there is no more."""
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return self._broken()
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return TableError(
                f"{self._name} takes more than {self._seconds:g} seconds of the processor, or more memory than there "
                "is; give a smaller file"
            )
        return TableError(
            f"{self._name} is damaged, or needs more than {self._memory:,} bytes of memory to read; give a smaller file"
        )

    def _broken(self) -> TableError:
        return TableError(
            f"{self._name} made the program that reads tables say what is no table; it is not to be trusted"
        )
