"""The facades for bytes and records: hashlib, base64, binascii, zlib, uuid, io, csv."""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import io
import uuid
import zlib
from collections.abc import Callable
from typing import Any, Self

from . import iterators
from .data import functions, is_final
from .facade import facade
from .shared import register_dialect, unregister_dialect

# ---- hashlib ---------------------------------------------------------------------------------------------------


_ALGORITHMS = frozenset(hashlib.algorithms_guaranteed)  # the original is a mutable set


def new(name: str, data: bytes = b"", *, usedforsecurity: bool = True) -> Any:
    """hashlib.new for the guaranteed algorithms. Others need a file, which cannot be opened in a session."""
    if type(name) is not str or name.lower() not in _ALGORITHMS:
        known = ", ".join(sorted(_ALGORITHMS))
        raise ValueError(f"unsupported hash type {str(name)[:40]}; available: {known}.")
    return hashlib.new(name, data, usedforsecurity=usedforsecurity)


HASHLIB = facade(
    "hashlib",
    hashlib,
    take="blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256",
    own={"new": new, "algorithms_available": _ALGORITHMS, "algorithms_guaranteed": _ALGORITHMS},
    left_out={
        "file_digest": "there are no files; hash the bytes",
        "pbkdf2_hmac scrypt": "made to burn time and memory; no cell keeps passwords",
    },
)

# ---- base64, binascii ------------------------------------------------------------------------------------------

BASE64 = facade(
    "base64",
    base64,
    own=functions(
        base64,
        "a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode "
        "b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode "
        "urlsafe_b64encode z85decode z85encode",
    ),
    left_out={"decode encode": "they copy between files; use b64decode and b64encode", "main test": "a script"},
)

BINASCII = facade(
    "binascii",
    binascii,
    take="Error Incomplete a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx hexlify "
    "unhexlify",
)

# ---- zlib ------------------------------------------------------------------------------------------------------

#: Largest result of one decompression: a few kilobytes can expand to a gigabyte.
DECOMPRESSED_BYTES = 64 * 1024 * 1024


def _too_long() -> zlib.error:
    return zlib.error(f"the data decompresses to more than {DECOMPRESSED_BYTES} bytes; take it in smaller pieces.")


def decompress(data: bytes, /, wbits: int = zlib.MAX_WBITS, bufsize: int = zlib.DEF_BUF_SIZE) -> bytes:
    """zlib.decompress to at most DECOMPRESSED_BYTES. Raises zlib.error for more, and for incomplete data."""
    del bufsize  # a hint for the size of C's first buffer, which is chosen here
    stream = zlib.decompressobj(wbits)
    made = stream.decompress(data, DECOMPRESSED_BYTES + 1)
    if len(made) > DECOMPRESSED_BYTES:
        raise _too_long()
    if not stream.eof:
        raise zlib.error("Error -5 while decompressing data: incomplete or truncated stream")
    return made


class Decompress:
    """zlib.decompressobj, which raises zlib.error after DECOMPRESSED_BYTES in total."""

    __slots__ = ("_left", "_stream")

    def __init__(self, wbits: int = zlib.MAX_WBITS, zdict: bytes = b"") -> None:
        self._stream = zlib.decompressobj(wbits, zdict) if zdict else zlib.decompressobj(wbits)
        self._left = DECOMPRESSED_BYTES

    def decompress(self, data: bytes, /, max_length: int = 0) -> bytes:
        """The next bytes, at most `max_length` of them unless that is 0."""
        if type(max_length) is not int:
            raise TypeError(f"decompress takes max_length as a plain int, not {type(max_length).__name__}.")
        if max_length < 0:
            raise ValueError("max_length must be non-negative")
        made = self._stream.decompress(data, min(max_length or self._left + 1, self._left + 1))
        self._left -= len(made)
        if self._left < 0:
            raise _too_long()
        return made

    def flush(self, _length: int = zlib.DEF_BUF_SIZE, /) -> bytes:
        """All remaining bytes."""
        return self.decompress(self._stream.unconsumed_tail)

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the compressed data."""
        return self._stream.unused_data

    @property
    def unconsumed_tail(self) -> bytes:
        """The compressed bytes that were not used because of `max_length`."""
        return self._stream.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was reached."""
        return self._stream.eof


def decompressobj(wbits: int = zlib.MAX_WBITS, zdict: bytes = b"") -> Decompress:
    """A bounded decompressor."""
    return Decompress(wbits, zdict)


ZLIB = facade(
    "zlib",
    zlib,
    take="DEFLATED DEF_BUF_SIZE DEF_MEM_LEVEL MAX_WBITS ZLIB_RUNTIME_VERSION ZLIB_VERSION Z_BEST_COMPRESSION "
    "Z_BEST_SPEED Z_BLOCK Z_DEFAULT_COMPRESSION Z_DEFAULT_STRATEGY Z_FILTERED Z_FINISH Z_FIXED Z_FULL_FLUSH "
    "Z_HUFFMAN_ONLY Z_NO_COMPRESSION Z_NO_FLUSH Z_PARTIAL_FLUSH Z_RLE Z_SYNC_FLUSH Z_TREES adler32 compress "
    "compressobj crc32 error",
    own={"decompress": decompress, "decompressobj": decompressobj},
)

# ---- uuid ------------------------------------------------------------------------------------------------------

# uuid4 gets random bytes from the kernel, which every session may use.
is_final(uuid.UUID)  # whose parts are data, by shared.py
UUID = facade(
    "uuid",
    uuid,
    take="NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 RESERVED_FUTURE RESERVED_MICROSOFT RESERVED_NCS "
    "RFC_4122 UUID uuid4",
    own=functions(uuid, "uuid3 uuid5"),
    left_out={
        "getnode uuid1": "they read the machine's network address; use uuid.uuid4",
        "Enum SafeUUID bytes_ int_ main": "internal",
        "os platform sys": "a module",
    },
)

# ---- io --------------------------------------------------------------------------------------------------------


class BytesIO:
    """io.BytesIO without getbuffer, which returns a view of memory.

    It has the real object as an attribute instead of deriving from it: super(io.BytesIO, x) would bypass an override.
    """

    __slots__ = ("_bytes",)

    def __init__(self, initial_bytes: bytes = b"") -> None:
        self._bytes = io.BytesIO(initial_bytes)

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._bytes.closed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self._bytes.close()


def _passed_on(name: str) -> Callable[..., Any]:
    def method(self: BytesIO, /, *args: Any) -> Any:
        if type(self) is not BytesIO:  # for any other object, this would read a private attribute
            raise TypeError(f"{name} takes an io.BytesIO.")
        return getattr(self._bytes, name)(*args)

    method.__name__, method.__qualname__ = name, f"BytesIO.{name}"
    return method


for _name in (
    "close", "flush", "getvalue", "isatty", "read", "read1", "readable", "readline", "readlines", "seek", "seekable",
    "tell", "truncate", "writable", "write", "writelines",
):  # fmt: skip
    setattr(BytesIO, _name, _passed_on(_name))
BytesIO.__module__ = "io"

IO = facade(
    "io",
    io,
    take="SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation",
    own={"BytesIO": BytesIO},
    left_out={
        "open open_code FileIO": "they open files; the data of a task is in the variable context",
        "BlockingIOError BufferedIOBase BufferedRWPair BufferedRandom BufferedReader BufferedWriter "
        "DEFAULT_BUFFER_SIZE IOBase IncrementalNewlineDecoder RawIOBase TextIOBase Reader Writer "
        "text_encoding": "a part of real files; use io.StringIO or io.BytesIO",
        "abc": "a module",
    },
)

# ---- csv -------------------------------------------------------------------------------------------------------

# On strings: csv.reader takes lines, csv.writer anything with write(), such as io.StringIO.
CSV = facade(
    "csv",
    csv,
    take="Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Sniffer excel "
    "excel_tab field_size_limit get_dialect list_dialects unix_dialect writer",
    newer="QUOTE_NOTNULL QUOTE_STRINGS",
    own={"reader": iterators.reader, "register_dialect": register_dialect, "unregister_dialect": unregister_dialect},
)
