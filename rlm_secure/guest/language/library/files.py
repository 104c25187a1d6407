"""The object `files` of a session: files in memory, by name. It is no module that a cell imports.

The functions that it is made of are those of a session's store (session/store.py).
"""

from __future__ import annotations

import io
from typing import Any

__all__ = ["files"]

_names: Any
_size: Any
_read: Any
_create: Any
_write: Any
_truncate: Any
_remove: Any

_MODES = "the mode of a file is r, w, a or x, with b for bytes and + to read and write as well"


class _Binary:
    "An open file of bytes. Each write is in the store at once."

    def __init__(self, name: str, mode: str) -> None:
        self.name, self.mode = name, mode
        self.closed = False
        self._at = _size(name) if "a" in mode else 0

    def readable(self) -> bool:
        return "r" in self.mode or "+" in self.mode

    def writable(self) -> bool:
        return "r" not in self.mode or "+" in self.mode

    def seekable(self) -> bool:
        return True

    def _check(self, able: bool = True, what: str = "") -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if not able:
            raise io.UnsupportedOperation(what)

    def read(self, size: int | None = -1) -> bytes:
        self._check(self.readable(), "not readable")
        data: bytes = _read(self.name, self._at, -1 if size is None else size)
        self._at += len(data)
        return data

    def readline(self, size: int | None = -1) -> bytes:
        self._check(self.readable(), "not readable")
        pieces, most = [], -1 if size is None or size < 0 else size
        while most:
            piece = _read(self.name, self._at, 4096 if most < 0 else min(4096, most))
            end = piece.find(b"\n") + 1
            piece = piece[:end] if end else piece
            self._at += len(piece)
            most -= len(piece) if most > 0 else 0
            pieces.append(piece)
            if end or not piece:
                break
        return b"".join(pieces)

    def readlines(self, hint: int | None = -1) -> list[bytes]:
        return list(self)

    def write(self, data: Any) -> int:
        self._check(self.writable(), "not writable")
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        data = bytes(data)
        if "a" in self.mode and data:
            self._at = _size(self.name)
        _write(self.name, self._at, data)
        self._at += len(data)
        return len(data)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check()
        at = offset + (0, self._at, _size(self.name))[whence]
        if at < 0:
            raise ValueError(f"negative seek position {at}")
        self._at = at
        return at

    def tell(self) -> int:
        self._check()
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self._check(self.writable(), "truncate")
        length = self._at if size is None else size
        _truncate(self.name, length)
        return length

    def flush(self) -> None:
        self._check()

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Any:
        self._check()
        return self

    def __exit__(self, *_details: Any) -> None:
        self.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __repr__(self) -> str:
        return f"<file {self.name!r}, mode {self.mode!r}>"


class _Text:
    "An open file of text. It is in memory while it is open, and in the store after each write."

    def __init__(self, name: str, mode: str, encoding: str, errors: str, newline: str | None) -> None:
        self.name, self.mode, self.encoding, self.errors = name, mode, encoding, errors
        self.closed = False
        self._newline = newline
        self._reads = "r" in mode or "+" in mode
        self._writes = "r" not in mode or "+" in mode
        text = _read(name).decode(encoding, errors) if self._reads else ""
        self._text = io.StringIO(text, newline=newline)
        if newline is None and text:
            self._text = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
        if "a" in mode:
            self._text.seek(0, 2)

    def readable(self) -> bool:
        return self._reads

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        return True

    def _check(self, able: bool = True, what: str = "") -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if not able:
            raise io.UnsupportedOperation(what)

    def read(self, size: int | None = -1) -> str:
        self._check(self._reads, "not readable")
        return self._text.read(size)

    def readline(self, size: int = -1) -> str:
        self._check(self._reads, "not readable")
        return self._text.readline(size)

    def readlines(self, hint: int = -1) -> list[str]:
        self._check(self._reads, "not readable")
        return self._text.readlines(hint)

    def write(self, text: str) -> int:
        self._check(self._writes, "not writable")
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        text = str(text)
        if self._reads:
            if "a" in self.mode:
                self._text.seek(0, 2)
            self._text.write(text)
            data = self._text.getvalue().encode(self.encoding, self.errors)
            _truncate(self.name, 0)
            _write(self.name, 0, data)
        else:
            ended = text if self._newline in (None, "", "\n") else text.replace("\n", self._newline)
            _write(self.name, _size(self.name), ended.encode(self.encoding, self.errors))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check(self._reads, "only a file that is read can seek; open it with r or +")
        return self._text.seek(offset, whence)

    def tell(self) -> int:
        self._check()
        return self._text.tell() if self._reads else _size(self.name)

    def flush(self) -> None:
        self._check()

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Any:
        self._check()
        return self

    def __exit__(self, *_details: Any) -> None:
        self.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> str:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __repr__(self) -> str:
        return f"<file {self.name!r}, mode {self.mode!r}, encoding {self.encoding!r}>"


def _name(name: Any) -> str:
    return name if isinstance(name, str) else str(name)


class Files:
    "Files in memory, by name: files['a.csv'] is the bytes of one, and files.open('a.csv') opens it."

    def names(self) -> Any:
        "The names of all files, in order."
        return _names()

    def open(
        self,
        name: Any,
        mode: str = "r",
        encoding: str | None = None,
        errors: str = "strict",
        newline: str | None = None,
    ) -> Any:
        "Open a file as open() would: mode r, w, a or x, with b for bytes, + to read and write."
        kind = "".join(sorted(mode.replace("t", "").replace("b", "")))
        if kind not in ("r", "w", "a", "x", "+r", "+w", "+a", "+x") or len(set(mode)) != len(mode) or "tb" in mode:
            raise ValueError(f"invalid mode: {mode!r}; {_MODES}")
        name = _name(name)
        if "r" in mode:
            _size(name)
        elif "w" in mode or "x" in mode or name not in _names():
            _create(name, "x" in mode)
        if "b" in mode:
            return _Binary(name, mode)
        return _Text(name, mode, encoding or "utf-8", errors, newline)

    def read_text(self, name: Any, encoding: str = "utf-8") -> Any:
        "The whole text of a file."
        return _read(_name(name)).decode(encoding)

    def write_text(self, name: Any, text: str, encoding: str = "utf-8") -> int:
        "Write a file of text."
        self[name] = text.encode(encoding)
        return len(text)

    def size(self, name: Any) -> Any:
        "How many bytes a file has."
        return _size(_name(name))

    def remove(self, name: Any) -> None:
        "Remove a file."
        _remove(_name(name))

    def __getitem__(self, name: Any) -> Any:
        return _read(_name(name))

    def __setitem__(self, name: Any, data: Any) -> None:
        data = data.encode() if isinstance(data, str) else bytes(data)
        _create(_name(name))
        _write(_name(name), 0, data)

    def __delitem__(self, name: Any) -> None:
        _remove(_name(name))

    def __contains__(self, name: Any) -> bool:
        return _name(name) in _names()

    def __iter__(self) -> Any:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())

    def __repr__(self) -> str:
        return f"<files: {', '.join(_names()) or 'none'}>"


files = Files()
