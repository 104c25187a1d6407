"""io.TextIOWrapper over an io.BytesIO or another stream of bytes in memory."""

from __future__ import annotations

import io
from typing import Any


class TextIOWrapper:
    def __init__(
        self, buffer: Any, encoding: Any = None, errors: Any = None, newline: Any = None,
        line_buffering: bool = False, write_through: bool = False,
    ) -> None:  # fmt: skip
        if newline not in (None, "", "\n", "\r", "\r\n"):
            raise ValueError(f"illegal newline value: {newline!r}")
        self.buffer: Any = buffer
        self.encoding = "utf-8" if encoding in (None, "locale") else encoding
        self.errors = "strict" if errors is None else errors
        self.line_buffering, self.write_through = line_buffering, write_through
        self.newlines = None
        self._newline = newline
        self._text: Any = None

    @property
    def closed(self) -> bool:
        return self.buffer is not None and self.buffer.closed

    @property
    def name(self) -> Any:
        return self.buffer.name

    def _check(self) -> None:
        if self.buffer is None:
            raise ValueError("underlying buffer has been detached")
        if self.closed:
            raise ValueError("I/O operation on closed file.")

    def _reading(self) -> Any:
        self._check()
        if self._text is None:
            text = self.buffer.read().decode(self.encoding, self.errors)
            self._text = io.StringIO(text, newline=self._newline)
        return self._text

    def read(self, size: Any = -1, /) -> Any:
        return self._reading().read(size)

    def readline(self, size: Any = -1, /) -> Any:
        return self._reading().readline(size)

    def readlines(self, hint: Any = -1, /) -> Any:
        return self._reading().readlines(hint)

    def __iter__(self) -> Any:
        self._check()
        return self

    def __next__(self) -> Any:
        line = self._reading().readline()
        if not line:
            raise StopIteration
        return line

    def write(self, text: str, /) -> int:
        self._check()
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        written = text.replace("\n", self._newline) if self._newline in ("\r", "\r\n") else text
        self.buffer.write(written.encode(self.encoding, self.errors))
        return len(text)

    def writelines(self, lines: Any, /) -> None:
        for line in lines:
            self.write(line)

    def seek(self, cookie: int, whence: int = 0, /) -> Any:
        self._check()
        if whence == 1 and cookie:
            raise io.UnsupportedOperation("can't do nonzero cur-relative seeks")
        if whence == 2 and cookie:
            raise io.UnsupportedOperation("can't do nonzero end-relative seeks")
        if whence == 1:
            return self.tell()
        self._text = None
        return self.buffer.seek(cookie, whence)

    def tell(self) -> Any:
        self._check()
        if self._text is None:
            return self.buffer.tell()
        rest = self._text.getvalue()[self._text.tell() :]
        return self.buffer.tell() - len(rest.encode(self.encoding, self.errors))

    def truncate(self, size: Any = None, /) -> Any:
        self._check()
        return self.buffer.truncate(self.tell() if size is None else size)

    def flush(self) -> None:
        self._check()

    def detach(self) -> Any:
        self._check()
        buffer, self.buffer = self.buffer, None
        return buffer

    def reconfigure(self, *, encoding: Any = None, errors: Any = None, newline: Any = None, **_options: Any) -> None:
        self.encoding = self.encoding if encoding is None else encoding
        self.errors = self.errors if errors is None else errors
        self._newline = self._newline if newline is None else newline

    def close(self) -> None:
        if self.buffer is not None:
            self.buffer.close()

    def readable(self) -> Any:
        self._check()
        return self.buffer.readable()

    def writable(self) -> Any:
        self._check()
        return self.buffer.writable()

    def seekable(self) -> Any:
        self._check()
        return self.buffer.seekable()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    def __enter__(self) -> Any:
        self._check()
        return self

    def __exit__(self, *_details: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<_io.TextIOWrapper encoding={self.encoding!r}>"
