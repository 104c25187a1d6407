"""The audit log: what was allowed, refused and violated, in a hash chain of lines.

Every line contains the SHA-256 of the line before it, so a change, a removal or an insertion breaks the chain, and
`verify` says where. The chain alone shows no more: a process that can write the file can make a new chain, or cut
lines off its end. Two things detect that; keep both where that process cannot write:

- an anchor, a hash with its line number: `AuditLog.anchor`, also passed to `on_anchor` at the end of each session;
- a key, which seals each line with an HMAC-SHA256. Without it no line can be made or changed; only an anchor detects
  lines cut off the end.

The fields of each event are fixed here. Text that untrusted code may have influenced is inert, at most 200
characters long, and redacted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
import re
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rlm_secure import files
from rlm_secure.errors import AuditLogError
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.inert import excerpt
from rlm_secure.logger.audit_key import checked
from rlm_secure.logger.redact import Redactor
from rlm_secure.loggers import logger
from rlm_secure.untrusted_json import MalformedJson, loads

#: What the first line has in place of the previous line's hash.
GENESIS: Final = "0" * 64

#: Characters of one text in the log.
_TEXT: Final = 200
#: Longest line that is written or read, in bytes.
_LINE: Final = 256 * 1024
#: Lines after which an anchor is reported, also within a session.
_ANCHOR_LINES: Final = 1_000
_ANCHOR: Final = re.compile(r"([0-9a-f]{64})(?::([0-9]{1,15}))?")

_log = logger("rlm_secure.audit")

_FIELDS: Final[dict[str, frozenset[str]]] = {
    "session-start": frozenset({"session", "policy", "environment", "report"}),
    "session-end": frozenset({"session", "cells", "reason"}),
    "refusal": frozenset({"session", "rule", "reason"}),
    "violation": frozenset({"session", "violation", "wall", "detail"}),
    "limit": frozenset({"session", "limit", "detail"}),
}


@dataclass(frozen=True, slots=True)
class Verified:
    """An unbroken chain: its number of lines, and the hash of the last.

    `anchored`: it has the line whose hash was kept elsewhere. `sealed`: each line was sealed with the key. If neither
    is true, the log may have been rewritten or cut.
    """

    lines: int
    """How many lines the chain has."""
    head: str
    """The hash of its last line."""
    anchored: bool = False
    sealed: bool = False


class AuditLog:
    """Appends to `path`, or only counts without one. Thread-safe, and safe between processes.

    The file is created for its owner only, and never opened through a symbolic link. With `durable`, each line is on
    the disk before the method returns. With `key` (32 bytes or more, see audit_key()), each line is sealed. `on_anchor`
    is called with an anchor after each session and each thousand lines; without it, the anchor goes to the logger
    "rlm_secure.audit". Every method raises AuditLogError when its line cannot be written: what cannot be audited
    should not continue.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        redactor: Redactor | None = None,
        durable: bool = False,
        key: bytes | None = None,
        on_anchor: Callable[[str], None] | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._redactor = redactor or Redactor()
        self._durable = durable
        self._key = None if key is None else checked(key, "`key`")
        self._on_anchor = on_anchor or self._logged
        self._last = 0
        self._lock = threading.Lock()
        self._sequence = 0
        self._head = GENESIS
        self._size = 0
        self._violations: Counter[str] = Counter()
        if self.path is not None:
            with self._opened():
                pass

    def __reduce__(self) -> tuple[Callable[..., AuditLog], tuple[Any, ...]]:
        """The same file and the same rules: several processes may append to it. The key is in the pickle."""
        on_anchor = None if self._on_anchor == self._logged else self._on_anchor
        return _again, (type(self), self.path, self._redactor, self._durable, self._key, on_anchor)

    @property
    def head(self) -> str:
        """The hash of the last line that this object has seen."""
        with self._lock:
            return self._head

    @property
    def anchor(self) -> str:
        """The hash of the last line that this object has seen, with its number: to be kept elsewhere."""
        with self._lock:
            return f"{self._head}:{self._sequence}"

    @property
    def violations(self) -> dict[str, int]:
        """The number of violations and limits since this object was created, by type."""
        with self._lock:
            return dict(self._violations)

    def session_start(self, session: str, *, policy: str, report: EnforcementReport) -> None:
        """Record the start of a session, with the walls around it."""
        walls = {status.wall.value: [status.level.value, self._text(status.evidence)] for status in report.walls}
        details = {name: self._text(str(value)) for name, value in list(report.details.items())[:32]}
        self._append(
            "session-start",
            session=session,
            policy=policy,
            environment=report.environment,
            report={"walls": walls, "details": details},
        )

    def session_end(self, session: str, *, cells: int, reason: str = "closed") -> None:
        """Record the end of a session after `cells` cells."""
        self._append("session-end", session=session, cells=cells, reason=reason)

    def refusal(self, session: str, *, rule: str, reason: str) -> None:
        """Record a refusal by the policy."""
        self._append("refusal", session=session, rule=rule, reason=reason)

    def violation(self, session: str, *, violation: str, wall: str | None = None, detail: str = "") -> None:
        """Record a violation of a wall. `violation` is its type: the name of an error or of a rule."""
        self._count(violation)
        self._append("violation", session=session, violation=violation, wall=wall, detail=detail)

    def limit(self, session: str, *, limit: str, detail: str = "") -> None:
        """Record that a limit was reached. `limit` is the policy's key."""
        self._count(limit)
        self._append("limit", session=session, limit=limit, detail=detail)

    def _count(self, kind: str) -> None:
        with self._lock:
            self._violations[excerpt(kind, 80)] += 1

    def _text(self, text: str) -> str:
        # Untrusted code must not be able to cause the redaction of a megabyte.
        return excerpt(self._redactor.beginning(text, 4 * _TEXT), _TEXT)

    def _append(self, event: str, **fields: Any) -> None:
        assert fields.keys() == _FIELDS[event]
        if self.path is None:
            return
        safe = {name: self._text(value) if isinstance(value, str) else value for name, value in fields.items()}
        with self._lock, self._opened() as descriptor:
            entry = {"seq": self._sequence + 1, "time": datetime.now(UTC).isoformat(), "event": event}
            entry |= {**safe, "previous": self._head}
            line = _dump(entry if self._key is None else entry | {"mac": _mac(self._key, entry)})
            if os.write(descriptor, line + b"\n") != len(line) + 1:
                os.ftruncate(descriptor, self._size)  # a partial line would break the chain permanently
                raise AuditLogError(f"{self.path} took only a part of a line; make room on its disk")
            if self._durable:
                os.fsync(descriptor)
            self._sequence += 1
            self._head = _sha256(line)
            self._last = len(line) + 1
            self._size += self._last
            head, number = self._head, self._sequence
        if event == "session-end" or number % _ANCHOR_LINES == 0:
            try:
                self._on_anchor(f"{head}:{number}")
            except Exception as error:
                raise AuditLogError(f"the anchor of {self.path} was not taken: {type(error).__name__}") from error

    def _logged(self, anchor: str) -> None:
        _log.info("the audit log %s has the anchor %s", self.path, anchor)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the file, lock it against other processes, and read the chain's end."""
        assert self.path is not None
        try:
            import fcntl
        except ImportError:  # Windows, where a mode does not say either who may read a file
            raise AuditLogError(
                f"the audit log {self.path} cannot be kept on {platform.system()}, which has neither flock(2) nor file "
                "modes; leave the path out and take `on_anchor`, or write it on Linux or macOS"
            ) from None
        flags = files.flags("RDWR", "APPEND", "CREAT", "NOFOLLOW", "CLOEXEC", "NONBLOCK")
        try:
            with files.parent(self.path) as (folder, name):
                place, where = files.at(name, folder)
                descriptor = os.open(place, flags, 0o600, **where)
        except OSError as error:
            raise AuditLogError(f"cannot open the audit log {self.path}: {error.strerror}") from error
        try:
            self._check(os.fstat(descriptor))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            self._check_last(descriptor, size)
            if size != self._size:
                self._sequence, self._head, self._last = self._end(descriptor, size)
                self._size = size
            yield descriptor
        except OSError as error:
            raise AuditLogError(f"cannot write the audit log {self.path}: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise AuditLogError(f"{self.path} is not a regular file; name another audit log")
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise AuditLogError(f"{self.path} is open to others; make it yours alone: chmod 600 {self.path}")

    def _check_last(self, descriptor: int, size: int) -> None:
        """Check that the last line this object has seen is still in its place: the file was not cut or replaced."""
        if size < self._size:
            raise AuditLogError(f"{self.path} became shorter while it was in use: somebody cut it")
        last = os.pread(descriptor, self._last, self._size - self._last)
        if self._last and _sha256(last[:-1]) != self._head:
            raise AuditLogError(f"{self.path} became another one while it was in use: somebody rewrote it")

    def _end(self, descriptor: int, size: int) -> tuple[int, str, int]:
        """The last line's number, hash and length. Raises AuditLogError when there is no whole last line."""
        tail = os.pread(descriptor, _LINE, max(0, size - _LINE))
        lines = tail.split(b"\n")
        last = lines[-2] if len(lines) > 1 and not lines[-1] else b""
        entry = _parsed(last)
        if entry is None:
            raise AuditLogError(f"the last line of {self.path} is not an audit event; verify the file and move it away")
        if ("mac" in entry) != (self._key is not None) or not _is_sealed(entry, self._key):
            raise AuditLogError(f"{self.path} was not sealed with this key; give the right one, or name another file")
        return entry["seq"], _sha256(last), len(last) + 1


def _again(
    kind: type[AuditLog],
    path: Path | None,
    redactor: Redactor,
    durable: bool,
    key: bytes | None,
    on_anchor: Callable[[str], None] | None,
) -> AuditLog:
    return kind(path, redactor=redactor, durable=durable, key=key, on_anchor=on_anchor)


def verify(path: str | Path, *, head: str | None = None, key: bytes | None = None) -> Verified:
    """Check the chain of an audit log, and by `head`, `key` or both that it is the original one.

    `head` was kept elsewhere: a hash alone if the log must end with that line, HASH:N (an anchor) if it must be line
    N. With `key`, every line must be sealed with it. Raises AuditLogError for the first line that was changed, moved,
    inserted or damaged, and for a log without the line of `head`; ValueError for a malformed `head`; OSError when the
    file cannot be read, or is not a regular file.
    """
    kept, at = _kept(head)
    previous, number, anchored = GENESIS, 0, kept == GENESIS and at == 0
    with os.fdopen(files.open_file(path), "rb") as file:
        while raw := file.readline(_LINE + 1):
            number += 1
            if not raw.endswith(b"\n"):
                raise AuditLogError(f"line {number} of {path} is not whole", line=number)
            line = raw[:-1]
            entry = _parsed(line)
            if entry is None or _dump(entry) != line:
                raise AuditLogError(f"line {number} of {path} is not an audit event", line=number)
            if entry["seq"] != number or entry["previous"] != previous:
                raise AuditLogError(
                    f"the chain of {path} breaks at line {number}: this line or the one before it was changed, "
                    "removed or put in",
                    line=number,
                )
            if not _is_sealed(entry, key):
                raise AuditLogError(f"line {number} of {path} is not sealed with this key", line=number)
            previous = _sha256(line)
            anchored = anchored or (kept == previous and at == number)
    if kept is not None and at is None:
        anchored = kept == previous
        if not anchored:
            raise AuditLogError(
                f"{path} ends at line {number} with another hash than {kept}: lines are missing at its end, or it was "
                "rewritten"
            )
    if kept is not None and not anchored:
        raise AuditLogError(f"line {at} of {path} has not the hash {kept}: the log was rewritten or cut", line=at)
    return Verified(number, previous, anchored, sealed=key is not None)


def _kept(head: str | None) -> tuple[str | None, int | None]:
    """The hash that was kept, and the number of its line; None if there is no hash, or no number."""
    if head is None:
        return None, None
    match = _ANCHOR.fullmatch(head)
    if match is None:
        raise ValueError("a head is the 64 hexadecimal digits of a hash, alone or with :NUMBER of its line behind them")
    return match[1], None if match[2] is None else int(match[2])


def _parsed(line: bytes) -> dict[str, Any] | None:
    """An event with exactly the fields of its type; None for anything else."""
    try:
        entry = loads(line)
    except MalformedJson:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("event"), str):
        return None
    fields = _FIELDS.get(entry["event"])
    if fields is None or entry.keys() - {"mac"} != fields | {"seq", "time", "event", "previous"}:
        return None
    return entry if type(entry["seq"]) is int and isinstance(entry["previous"], str) else None


def _is_sealed(entry: dict[str, Any], key: bytes | None) -> bool:
    """Whether the line was sealed with the key; True if there is no key."""
    if key is None:
        return True
    said, rest = entry.get("mac"), {name: value for name, value in entry.items() if name != "mac"}
    return isinstance(said, str) and hmac.compare_digest(said.encode(), _mac(key, rest).encode())


def _mac(key: bytes, entry: dict[str, Any]) -> str:
    return hmac.new(key, _dump(entry), hashlib.sha256).hexdigest()


def _dump(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _sha256(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
