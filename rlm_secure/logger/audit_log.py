"""The audit log: what was allowed, refused and broken, in lines that nobody can change unnoticed.

Every line carries the SHA-256 of the line before it, so a change, a removal or an insertion anywhere breaks the
chain, and `verify` says where. Cutting lines off the end is seen only by whoever knows the last hash: keep the
one that `verify` returns, or what `AuditLog.head` says, somewhere else.

The fields of each event are fixed here. Text that untrusted code had a hand in is inert, at most 200 characters
long, and redacted.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rlm_secure.errors import AuditLogError
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.logger.inert import excerpt
from rlm_secure.logger.redact import Redactor
from rlm_secure.untrusted_json import MalformedJson, loads

#: What the first line has in place of a hash.
GENESIS: Final = "0" * 64

#: Characters of one text in the log.
_TEXT: Final = 200
#: Longest line that is written or read, in bytes.
_LINE: Final = 256 * 1024

_FIELDS: Final[dict[str, frozenset[str]]] = {
    "session-start": frozenset({"session", "policy", "environment", "report"}),
    "session-end": frozenset({"session", "cells", "reason"}),
    "refusal": frozenset({"session", "rule", "reason"}),
    "violation": frozenset({"session", "violation", "wall", "detail"}),
    "limit": frozenset({"session", "limit", "detail"}),
    "call": frozenset({"session", "call", "model", "prompts", "characters", "tokens", "seconds", "outcome"}),
}


@dataclass(frozen=True, slots=True)
class Verified:
    """A whole chain: how many lines it has, and the hash of the last."""

    lines: int
    head: str


class AuditLog:
    """Appends to `path`, or only counts where there is none. Safe from any thread, and between processes.

    The file is created for its owner alone, and never followed through a symbolic link. With `durable`, each
    line is on the disk before the method returns. Every method raises AuditLogError when its line cannot be
    written: what cannot be audited should not go on.
    """

    def __init__(
        self, path: str | Path | None = None, *, redactor: Redactor | None = None, durable: bool = False
    ) -> None:
        self.path = None if path is None else Path(path)
        self._redactor = redactor or Redactor()
        self._durable = durable
        self._lock = threading.Lock()
        self._sequence = 0
        self._head = GENESIS
        self._size = 0
        self._violations: Counter[str] = Counter()
        if self.path is not None:
            with self._opened():
                pass

    @property
    def head(self) -> str:
        """The hash of the last line that this object has seen."""
        with self._lock:
            return self._head

    @property
    def violations(self) -> dict[str, int]:
        """How many violations and limits there were, by type, since this object was made."""
        with self._lock:
            return dict(self._violations)

    def session_start(self, session: str, *, policy: str, report: EnforcementReport) -> None:
        """A session began, with these walls around it."""
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
        """A session ended after `cells` cells."""
        self._append("session-end", session=session, cells=cells, reason=reason)

    def refusal(self, session: str, *, rule: str, reason: str) -> None:
        """The policy said no."""
        self._append("refusal", session=session, rule=rule, reason=reason)

    def violation(self, session: str, *, violation: str, wall: str | None = None, detail: str = "") -> None:
        """Something ran into a wall. `violation` is its type: the name of an error or of a rule."""
        self._count(violation)
        self._append("violation", session=session, violation=violation, wall=wall, detail=detail)

    def limit(self, session: str, *, limit: str, detail: str = "") -> None:
        """A limit ended something. `limit` is the policy's key."""
        self._count(limit)
        self._append("limit", session=session, limit=limit, detail=detail)

    def call(
        self,
        session: str,
        *,
        call: str,
        model: str | None = None,
        prompts: int = 1,
        characters: int = 0,
        tokens: int | None = None,
        seconds: float = 0.0,
        outcome: str = "ok",
    ) -> None:
        """A cell's call of a model, a child or a tool was served. `outcome` is "ok" or the name of an error."""
        self._append(
            "call",
            session=session,
            call=call,
            model=model,
            prompts=prompts,
            characters=characters,
            tokens=tokens,
            seconds=round(seconds, 3),
            outcome=outcome,
        )

    def _count(self, kind: str) -> None:
        with self._lock:
            self._violations[excerpt(kind, 80)] += 1

    def _text(self, text: str) -> str:
        # Cut first: redaction of a megabyte is work that untrusted code should not be able to ask for.
        return excerpt(self._redactor.text(text[: 4 * _TEXT]), _TEXT)

    def _append(self, event: str, **fields: Any) -> None:
        assert fields.keys() == _FIELDS[event]
        if self.path is None:
            return
        safe = {name: self._text(value) if isinstance(value, str) else value for name, value in fields.items()}
        with self._lock, self._opened() as descriptor:
            entry = {"seq": self._sequence + 1, "time": datetime.now(UTC).isoformat(), "event": event}
            line = _dump({**entry, **safe, "previous": self._head})
            if os.write(descriptor, line + b"\n") != len(line) + 1:
                os.ftruncate(descriptor, self._size)  # a part of a line would break the chain for ever
                raise AuditLogError(f"{self.path} took only a part of a line; make room on its disk")
            if self._durable:
                os.fsync(descriptor)
            self._sequence += 1
            self._head = _sha256(line)
            self._size += len(line) + 1

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, open, locked against other processes, and the chain's end known."""
        assert self.path is not None
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise AuditLogError(f"cannot open the audit log {self.path}: {error.strerror}") from error
        try:
            self._check(os.fstat(descriptor))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if size != self._size:
                self._sequence, self._head = self._end(descriptor, size)
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

    def _end(self, descriptor: int, size: int) -> tuple[int, str]:
        """The last line's number and hash. Raises AuditLogError when there is no whole last line."""
        if size < self._size:
            raise AuditLogError(f"{self.path} became shorter while it was in use: somebody cut it")
        if size == 0:
            return 0, GENESIS
        tail = os.pread(descriptor, _LINE, max(0, size - _LINE))
        lines = tail.split(b"\n")
        last = lines[-2] if len(lines) > 1 and not lines[-1] else b""
        entry = _parsed(last)
        if entry is None:
            raise AuditLogError(f"the last line of {self.path} is not an audit event; verify the file and move it away")
        return entry["seq"], _sha256(last)


def verify(path: str | Path, *, head: str | None = None) -> Verified:
    """Check the whole chain of an audit log.

    Raises AuditLogError for the first line that was changed, moved, inserted or damaged, and, where `head` is
    given (the last hash, as it was kept elsewhere), for a log that does not end there. Raises OSError when the
    file cannot be read.
    """
    previous, number = GENESIS, 0
    with Path(path).open("rb") as file:
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
            previous = _sha256(line)
    if head is not None and head != previous:
        raise AuditLogError(f"{path} ends at line {number} with another hash than {head}: lines are missing at its end")
    return Verified(number, previous)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """An event with exactly the fields of its type; None for anything else."""
    try:
        entry = loads(line)
    except MalformedJson:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("event"), str):
        return None
    fields = _FIELDS.get(entry["event"])
    if fields is None or entry.keys() != fields | {"seq", "time", "event", "previous"}:
        return None
    return entry if type(entry["seq"]) is int and isinstance(entry["previous"], str) else None


def _dump(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _sha256(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
