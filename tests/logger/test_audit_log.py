"""The audit log: closed events, no secrets, and a chain that shows every change."""

from __future__ import annotations

import hashlib
import hmac
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
from rlm_secure.logger import AuditLog, Redactor, Verified, audit_key, audit_log, verify
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
        log.refusal("s", rule="r", reason="sk-1" + "a" * 785 + " corp-7f3a-9b1c" + "x" * 1_000_000)
        assert "corp" not in entries(path)[1]["reason"]

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
        assert verify(path) == Verified(3, hashes[2])
        assert verify(path, head=log.head) == Verified(3, hashes[2], anchored=True)

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


KEY = b"0123456789abcdef" * 2


class TestAnchorsAndSeals:
    """What shows a chain that somebody else wrote from its beginning on, which any chain by itself does not."""

    def test_a_rewritten_log_is_found_by_an_anchor(self, path: Path) -> None:
        log = write(path, 3)
        anchor = log.anchor
        assert anchor == f"{log.head}:3"
        write(path, 2)
        assert verify(path, head=anchor).anchored
        path.unlink()
        write(path, 5)
        assert verify(path).lines == 5  # a chain, and not the one that was written
        with pytest.raises(AuditLogError, match="line 3 of .* rewritten or cut"):
            verify(path, head=anchor)

    def test_a_cut_log_is_found_by_an_anchor(self, path: Path) -> None:
        anchor = write(path).anchor
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
        with pytest.raises(AuditLogError, match="line 5 of .* rewritten or cut"):
            verify(path, head=anchor)

    def test_an_anchor_of_an_empty_log_holds(self, path: Path) -> None:
        anchor = AuditLog(path).anchor
        write(path, 1)
        assert verify(path, head=anchor).anchored

    @pytest.mark.parametrize("head", ["", "0", "g" * 64, "0" * 64 + ":", "0" * 64 + ":-1", "0" * 64 + "\n", "0" * 65])
    def test_what_is_no_head_is_no_head(self, path: Path, head: str) -> None:
        write(path, 1)
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            verify(path, head=head)

    def test_anchors_are_told_at_the_end_of_sessions_and_now_and_then(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(audit_log, "_ANCHOR_LINES", 3)
        told: list[str] = []
        log = AuditLog(path, on_anchor=told.append)
        for _ in range(4):
            log.refusal("s", rule="r", reason="no")
        log.session_end("s", cells=0)
        assert [each.rpartition(":")[2] for each in told] == ["3", "5"]
        assert all(verify(path, head=each).anchored for each in told)
        with caplog.at_level("INFO", "rlm_secure.audit"):
            AuditLog(path).session_end("s", cells=0)
        assert caplog.messages == [f"the audit log {path} has the anchor {AuditLog(path).anchor}"]

    def test_an_anchor_that_nobody_takes_ends_the_run(self, path: Path) -> None:
        def gone(_: str) -> None:
            raise ConnectionError("the server of anchors is gone")

        with pytest.raises(AuditLogError, match="was not taken: ConnectionError"):
            AuditLog(path, on_anchor=gone).session_end("s", cells=0)

    def test_every_line_is_sealed(self, path: Path) -> None:
        log = AuditLog(path, key=KEY)
        for _ in range(3):
            log.refusal("s", rule="r", reason="no")
        assert verify(path, key=KEY, head=log.anchor) == Verified(3, log.head, anchored=True, sealed=True)
        assert verify(path) == Verified(3, log.head)
        for entry in entries(path):
            body = {name: value for name, value in entry.items() if name != "mac"}
            line = json.dumps(body, separators=(",", ":")).encode()
            assert entry["mac"] == hmac.new(KEY, line, hashlib.sha256).hexdigest()
        assert KEY.decode() not in path.read_text()

    def test_without_the_key_no_line_is_made_or_changed(self, path: Path) -> None:
        AuditLog(path, key=KEY).refusal("s", rule="r", reason="refused")
        sealed = path.read_bytes()
        for forged in (sealed.replace(b"refused", b"allowed"), sealed.replace(b'"mac":"', b'"mac":"0')[:-4] + b'"}\n'):
            path.write_bytes(forged)
            with pytest.raises(AuditLogError, match="line 1 of .* is not sealed with this key"):
                verify(path, key=KEY)
        path.unlink()
        write(path, 1)
        with pytest.raises(AuditLogError, match="not sealed"):
            verify(path, key=KEY)
        path.unlink()
        AuditLog(path, key=b"x" * 32).refusal("s", rule="r", reason="no")
        with pytest.raises(AuditLogError, match="not sealed"):
            verify(path, key=KEY)

    @pytest.mark.parametrize(("first", "second"), [(KEY, None), (None, KEY), (KEY, b"x" * 32)])
    def test_a_log_is_continued_with_its_own_key_alone(
        self, path: Path, first: bytes | None, second: bytes | None
    ) -> None:
        AuditLog(path, key=first).refusal("s", rule="r", reason="no")
        with pytest.raises(AuditLogError, match="not sealed with this key"):
            AuditLog(path, key=second)
        AuditLog(path, key=first).refusal("s", rule="r", reason="no")
        assert verify(path, key=first).lines == 2

    def test_a_short_key_is_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(AuditLogError, match="has 31 bytes, and needs 32"):
            AuditLog(key=b"k" * 31)
        assert audit_key() is None
        monkeypatch.setenv("RLM_SECURE_AUDIT_KEY", f" {'k' * 32}\n")
        assert audit_key() == b"k" * 32
        monkeypatch.setenv("RLM_SECURE_AUDIT_KEY", " " * 64)
        with pytest.raises(AuditLogError, match="RLM_SECURE_AUDIT_KEY has 0 bytes"):
            audit_key()
        with pytest.raises(AuditLogError, match="cannot be used: No such file"):
            audit_key(tmp_path / "nothing")

    def test_another_file_in_the_place_of_the_log_is_not_continued(self, path: Path, tmp_path: Path) -> None:
        log = write(path, 2)
        other = tmp_path / "other.jsonl"
        write(other, 9)
        other.rename(path)
        with pytest.raises(AuditLogError, match="somebody rewrote it"):
            log.refusal("s", rule="r", reason="no")
        assert verify(path).lines == 9

    def test_a_log_is_reached_through_no_link(self, tmp_path: Path) -> None:
        (tmp_path / "others").mkdir()
        (tmp_path / "logs").symlink_to("others")
        with pytest.raises(AuditLogError, match="logs in its path is a symbolic link"):
            AuditLog(tmp_path / "logs" / "audit.jsonl")

    def test_what_is_no_file_is_not_waited_for(self, path: Path) -> None:
        os.mkfifo(path)
        with pytest.raises(OSError, match="it is a FIFO, not a regular file"):
            verify(path)
