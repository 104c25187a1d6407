"""The audit log: closed events, no secrets, and a chain that shows every change."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.errors import AuditLogError
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.logger import AuditLog, Redactor, Verified, verify
from rlm_secure.logger.audit_log import GENESIS
from rlm_secure.removal import Scratch

REPORT = EnforcementReport("local", (WallStatus(Wall.SECCOMP, Level.FULL, "filter loaded"),), {"kernel": "6.1"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def write(path: Path, count: int = 5) -> AuditLog:
    log = AuditLog(path)
    for number in range(count):
        log.refusal("s1", rule="model-allowlist", reason=f"refused {number}")
    return log


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


class TestEvents:
    def test_every_event_has_exactly_its_fields(self, path: Path) -> None:
        log = AuditLog(path)
        log.session_start("s1", policy="strict", report=REPORT)
        log.refusal("s1", rule="model-allowlist", reason="no")
        log.violation("s1", violation="WallViolation", wall="seccomp", detail="syscall 41")
        log.limit("s1", limit="limits.cell_seconds", detail="30 s")
        log.call("s1", call="llm_query_batched", model="m", prompts=3, characters=900, tokens=120, seconds=0.51234)
        log.session_end("s1", cells=4)
        found = entries(path)
        for number, entry in enumerate(found, 1):
            assert entry.pop("time")
            assert entry.pop("seq") == number
            assert len(entry.pop("previous")) == 64
        assert found == [
            {
                "event": "session-start",
                "session": "s1",
                "policy": "strict",
                "environment": "local",
                "report": {"walls": {"seccomp": ["full", "filter loaded"]}, "details": {"kernel": "6.1"}},
            },
            {"event": "refusal", "session": "s1", "rule": "model-allowlist", "reason": "no"},
            {
                "event": "violation",
                "session": "s1",
                "violation": "WallViolation",
                "wall": "seccomp",
                "detail": "syscall 41",
            },
            {"event": "limit", "session": "s1", "limit": "limits.cell_seconds", "detail": "30 s"},
            {
                "event": "call",
                "session": "s1",
                "call": "llm_query_batched",
                "model": "m",
                "prompts": 3,
                "characters": 900,
                "tokens": 120,
                "seconds": 0.512,
                "outcome": "ok",
            },
            {"event": "session-end", "session": "s1", "cells": 4, "reason": "closed"},
        ]

    def test_violations_and_limits_are_counted_with_and_without_a_file(self, path: Path) -> None:
        for log in (AuditLog(), AuditLog(path)):
            log.violation("s", violation="CellRefused")
            log.violation("s", violation="CellRefused")
            log.limit("s", limit="limits.memory_bytes")
            log.refusal("s", rule="r", reason="no")
            assert log.violations == {"CellRefused": 2, "limits.memory_bytes": 1}

    def test_untrusted_text_is_short_inert_and_without_secrets(self, path: Path) -> None:
        redactor = Redactor(environ=False)
        redactor.learn(["corp-7f3a-9b1c"])
        log = AuditLog(path, redactor=redactor)
        log.refusal("s", rule="r", reason="\x1b[2J\ncorp-7f3a-9b1c" + "x" * 1_000_000)
        (entry,) = entries(path)
        assert entry["reason"].startswith("\\x1b[2J\\n[redacted]xxx")
        assert len(entry["reason"]) == 200

    @given(st.text(alphabet=st.characters(codec=None)))
    def test_any_text_makes_a_line_that_verifies(self, text: str) -> None:
        with Scratch() as folder:
            log = AuditLog(folder / "audit.jsonl")
            log.violation(text, violation=text, wall=text, detail=text)
            assert verify(log.path, head=log.head).lines == 1


class TestFile:
    def test_only_its_owner_may_read_it(self, path: Path) -> None:
        before = os.umask(0)
        try:
            write(path)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_link_is_not_followed(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "victim").write_text("")
        path.symlink_to(tmp_path / "victim")
        with pytest.raises(AuditLogError, match="cannot open the audit log"):
            AuditLog(path)

    def test_a_file_that_is_open_to_others_is_refused(self, path: Path) -> None:
        path.touch(mode=0o644)
        with pytest.raises(AuditLogError, match="chmod 600"):
            AuditLog(path)

    def test_what_is_no_file_is_refused(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        with pytest.raises(AuditLogError, match="is not a regular file"):
            AuditLog(path)

    def test_a_folder_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(AuditLogError, match="No such file or directory"):
            AuditLog(tmp_path / "nowhere" / "audit.jsonl")

    def test_what_is_no_audit_log_is_not_appended_to(self, path: Path) -> None:
        path.write_text('{"type":"metadata"}\n')
        path.chmod(0o600)
        with pytest.raises(AuditLogError, match="not an audit event"):
            AuditLog(path)
        assert path.read_text() == '{"type":"metadata"}\n'

    def test_a_line_that_was_cut_off_stops_the_log(self, path: Path) -> None:
        write(path)
        with path.open("ab") as file:
            file.truncate(path.stat().st_size - 10)
        with pytest.raises(AuditLogError, match="last line"):
            AuditLog(path)

    def test_a_log_that_became_shorter_in_use_stops_it(self, path: Path) -> None:
        log = write(path)
        with path.open("r+b") as file:
            file.truncate(0)
        with pytest.raises(AuditLogError, match="somebody cut it"):
            log.refusal("s", rule="r", reason="no")

    def test_a_full_disk_is_an_error(self, path: Path) -> None:
        code = (
            "import resource, signal, sys; from rlm_secure.logger import AuditLog\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "log = AuditLog(sys.argv[1])\n"
            "try:\n"
            "    for n in range(100): log.refusal('s', rule='r', reason='no')\n"
            "except Exception as error: print(type(error).__name__, error)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"AuditLogError {path} took only a part of a line")
        assert verify(path).lines > 1  # the part of a line was taken back: the chain is whole


class TestChain:
    def test_each_line_has_the_hash_of_the_one_before(self, path: Path) -> None:
        log = write(path, 3)
        lines = path.read_bytes().splitlines()
        hashes = [hashlib.sha256(line).hexdigest() for line in lines]
        assert [json.loads(line)["previous"] for line in lines] == [GENESIS, *hashes[:2]]
        assert verify(path) == verify(path, head=log.head) == Verified(3, hashes[2])

    def test_an_empty_log_is_whole(self, path: Path) -> None:
        AuditLog(path)
        assert verify(path) == Verified(0, GENESIS)

    def test_it_goes_on_where_it_ended(self, path: Path) -> None:
        write(path, 2)
        write(path, 2)
        assert verify(path).lines == 4

    @pytest.mark.parametrize("line", [1, 3, 5])
    def test_a_changed_line_is_found(self, path: Path, line: int) -> None:
        log = write(path)
        lines = path.read_bytes().splitlines(keepends=True)
        lines[line - 1] = lines[line - 1].replace(b"refused", b"allowed")
        path.write_bytes(b"".join(lines))
        with pytest.raises(AuditLogError) as found:
            verify(path, head=log.head)
        # The last line has no successor: only the head that was kept elsewhere shows its change.
        assert found.value.line == (line + 1 if line < 5 else None)

    def test_a_removed_line_is_found(self, path: Path) -> None:
        write(path)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:2] + lines[3:]))
        with pytest.raises(AuditLogError, match="breaks at line 3"):
            verify(path)

    def test_swapped_lines_are_found(self, path: Path) -> None:
        write(path)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
        with pytest.raises(AuditLogError, match="breaks at line 1"):
            verify(path)

    def test_missing_lines_at_the_end_are_found_by_who_kept_the_head(self, path: Path) -> None:
        log = write(path)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
        assert verify(path).lines == 3
        with pytest.raises(AuditLogError, match="lines are missing at its end"):
            verify(path, head=log.head)

    @pytest.mark.parametrize(
        "line",
        [b"", b"{}", b"[1]", b"null", b"\xff", b"[" * 100_000, b"1" * 5_000, b'{"event":{}}', b"x" * 300_000],
        ids=lambda line: line[:8].hex(),
    )
    def test_anything_else_in_the_file_is_named(self, path: Path, line: bytes) -> None:
        write(path, 2)
        with path.open("ab") as file:
            file.write(line + b"\n")
        with pytest.raises(AuditLogError) as found:
            verify(path)
        assert found.value.line == 3

    def test_a_field_more_is_found(self, path: Path) -> None:
        write(path, 1)
        path.write_bytes(path.read_bytes().replace(b'{"seq"', b'{"extra":1,"seq"'))
        with pytest.raises(AuditLogError, match="not an audit event"):
            verify(path)

    def test_threads_and_processes_keep_one_chain(self, path: Path) -> None:
        code = (
            "import sys; from rlm_secure.logger import AuditLog; log = AuditLog(sys.argv[1])\n"
            "for n in range(40): log.refusal('p', rule='r', reason=str(n))"
        )
        log = AuditLog(path)
        other = subprocess.Popen([sys.executable, "-c", code, str(path)])
        threads = [
            threading.Thread(target=lambda: [log.limit("t", limit="l") for _ in range(40)], daemon=True)
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert other.wait(60) == 0
        assert verify(path).lines == 160
        assert log.violations == {"l": 120}
