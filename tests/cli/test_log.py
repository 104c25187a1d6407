"""`rlm-secure log`: pages that run nothing, and chains that show who touched them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rlm_secure import RLM, RLMLogger
from rlm_secure.logger import audit_key
from rlm_secure.logger.audit_log import AuditLog
from tests.cli.conftest import Run


def chain(path: Path) -> AuditLog:
    log = AuditLog(path)
    for number in range(3):
        log.refusal(f"s{number}", rule="import-module", reason="os")
    return log


def test_a_whole_chain_and_a_changed_one(rlm_secure: Run, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    head = chain(path).head
    done = rlm_secure("log", "verify", str(path), "--head", head)
    said = f"unbroken, anchored, not sealed: 3 lines, the last has the hash {head}\n"
    assert (done.code, done.out, done.err) == (0, said, "")
    bare = rlm_secure("log", "verify", str(path), "--json")
    assert json.loads(bare.out) == {
        "unbroken": True, "anchored": False, "sealed": False, "lines": 3, "head": head,
    }  # fmt: skip
    assert bare.code == 0 and "not anchored: give --head" in bare.err
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]))
    cut = rlm_secure("log", "verify", str(path), "--head", head)
    assert (cut.code, cut.out) == (1, "") and "end" in cut.err
    path.write_text("".join(lines).replace("s1", "s9"))
    changed = rlm_secure("log", "verify", str(path))
    assert changed.code == 1 and "line 3" in changed.err


def test_a_trajectory_becomes_a_page(rlm_secure: Run, tmp_path: Path) -> None:
    turns = ["```repl\nprint('<script>alert(1)</script>')\nfinal_answer('done')\n```"]
    logger = RLMLogger(log_dir=str(tmp_path))
    with RLM(backend="scripted", backend_kwargs={"turns": turns}, logger=logger) as rlm:
        assert rlm.completion("question").response == "done"
    (log,) = tmp_path.glob("*.jsonl")
    page = tmp_path / "page.html"
    done = rlm_secure("log", "view", str(log), "-o", str(page))
    assert done.code == 0
    text = page.read_text()
    assert "&lt;script&gt;alert(1)" in text and "<script" not in text
    assert page.stat().st_mode & 0o777 == 0o600
    assert rlm_secure("log", "view", str(log)).out == text
    again = rlm_secure("log", "view", str(log), "-o", str(page))
    assert again.code == 2 and "exists; name another file" in again.err


def test_a_trajectory_is_exported_as_upstream_writes_it(rlm_secure: Run, tmp_path: Path) -> None:
    turns = [f"```repl\nprint({number})\n```" for number in range(5)] + ["FINAL(done)"]
    with RLM(backend="scripted", backend_kwargs={"turns": turns}, logger=RLMLogger(log_dir=str(tmp_path))) as rlm:
        completion = rlm.completion("question")
    (log,) = tmp_path.glob("*.jsonl")
    out = tmp_path / "whole.jsonl"
    done = rlm_secure("log", "export", str(log), "-o", str(out))
    assert (done.code, done.out, done.err) == (0, "", f"{out}: each turn has its whole prompt\n")
    assert out.stat().st_mode & 0o777 == 0o600
    first, *written = [json.loads(line) for line in out.read_text("ascii").splitlines()]
    assert first["type"] == "metadata" and "format" not in first
    assert completion.metadata is not None and written == completion.metadata["iterations"]
    assert rlm_secure("log", "export", str(log)).out == rlm_secure("log", "export", str(out)).out == out.read_text()
    assert "exists; name another file" in rlm_secure("log", "export", str(log), "-o", str(out)).err


def test_an_export_that_ends_early_says_so(rlm_secure: Run, tmp_path: Path) -> None:
    first = {"type": "iteration", "iteration": 1, "prompt": [{"role": "user", "content": "a"}]}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(first) + "\n" + json.dumps({**first, "same": 7}) + "\n")
    done = rlm_secure("log", "export", str(log))
    assert done.code == 2 and json.loads(done.out) == first
    assert f"what was written of {log} is not whole: line 2 of {log} cannot be read: a turn refers to" in done.err
    log.write_text("[]\n")
    done = rlm_secure("log", "export", str(log), "-o", str(tmp_path / "out"))
    assert done.code == 2 and "line 1 is not a JSON object" in done.err and not (tmp_path / "out").exists()
    log.write_text("")
    assert rlm_secure("log", "export", str(log)).code == 0


def test_a_log_that_was_rewritten_or_cut_is_found_by_what_was_kept(rlm_secure: Run, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    anchor = chain(path).anchor
    assert rlm_secure("log", "verify", str(path), "--head", anchor).code == 0
    AuditLog(path).refusal("later", rule="import-module", reason="os")
    assert rlm_secure("log", "verify", str(path), "--head", anchor).code == 0  # it is still line 3
    path.unlink()
    chain(path)
    assert rlm_secure("log", "verify", str(path)).out.startswith("unbroken, not anchored, not sealed")
    found = rlm_secure("log", "verify", str(path), "--head", anchor)
    assert (found.code, found.out) == (1, "") and "line 3" in found.err and "rewritten or cut" in found.err
    for wrong in ("", "abc", f"{anchor}:1", anchor.upper()):
        done = rlm_secure("log", "verify", str(path), "--head", wrong)
        assert done.code == 2 and "64 hexadecimal digits" in done.err


def test_a_key_is_in_a_file_or_in_the_environment(
    rlm_secure: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, key = tmp_path / "audit.jsonl", tmp_path / "key"
    key.write_text(f"{'k' * 64}\n")
    key.chmod(0o600)
    AuditLog(path, key=audit_key(key)).refusal("s", rule="r", reason="no")
    done = rlm_secure("log", "verify", str(path), "--key-file", str(key))
    assert done.code == 0 and done.out.startswith("unbroken, not anchored, sealed: 1 line,")
    assert "cut off its end" in done.err and "rewritten" not in done.err
    assert rlm_secure("log", "verify", str(path)).out.startswith("unbroken, not anchored, not sealed")
    monkeypatch.setenv("RLM_SECURE_AUDIT_KEY", "k" * 64)
    assert rlm_secure("log", "verify", str(path)).out.startswith("unbroken, not anchored, sealed")
    monkeypatch.setenv("RLM_SECURE_AUDIT_KEY", "j" * 64)
    found = rlm_secure("log", "verify", str(path))
    assert found.code == 1 and "line 1" in found.err and "not sealed with this key" in found.err
    assert "j" * 64 not in found.err + found.out
    monkeypatch.setenv("RLM_SECURE_AUDIT_KEY", "")
    assert rlm_secure("log", "verify", str(path)).code == 2
    key.chmod(0o644)
    found = rlm_secure("log", "verify", str(path), "--key-file", str(key))
    assert found.code == 2 and "open to others" in found.err


def test_what_is_no_file_is_refused_and_not_waited_for(rlm_secure: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for verb in ("view", "export", "verify"):
        for path, kind in ((str(tmp_path / "fifo"), "FIFO"), ("/dev/zero", "device"), (str(tmp_path), "folder")):
            done = rlm_secure("log", verb, path)
            assert (done.code, done.out) == (2, "")
            assert f"{path} cannot be read: it is a {kind}, not a regular file; name a file that" in done.err


def test_a_page_is_written_through_no_link(rlm_secure: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{}")
    (tmp_path / "home").mkdir()
    (tmp_path / "pages").symlink_to("home")
    done = rlm_secure("log", "view", str(tmp_path / "log.jsonl"), "-o", str(tmp_path / "pages" / "page.html"))
    assert done.code == 2 and "pages in its path is a symbolic link" in done.err
    assert list((tmp_path / "home").iterdir()) == []


def test_files_that_are_not_there(rlm_secure: Run, tmp_path: Path) -> None:
    for verb in ("view", "export", "verify"):
        done = rlm_secure("log", verb, str(tmp_path / "nothing"))
        assert done.code == 2 and "nothing" in done.err and "Traceback" not in done.err
    assert rlm_secure("log").code == 2


def test_a_file_that_ends_in_an_error_is_said_to(rlm_secure: Run) -> None:
    done = rlm_secure("log", "view", "/proc/self/mem")
    assert done.code == 2 and "is not whole: Input/output error" in done.err
