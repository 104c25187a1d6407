"""`rlm-secure log`: pages that run nothing, and chains that show who touched them."""

from __future__ import annotations

import json
from pathlib import Path

from rlm_secure import RLM, RLMLogger
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
    assert (done.code, done.out) == (0, f"whole: 3 lines, the last has the hash {head}\n")
    assert json.loads(rlm_secure("log", "verify", str(path), "--json").out) == {"whole": True, "lines": 3, "head": head}
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


def test_files_that_are_not_there(rlm_secure: Run, tmp_path: Path) -> None:
    for verb in ("view", "verify"):
        done = rlm_secure("log", verb, str(tmp_path / "nothing"))
        assert done.code == 2 and "nothing" in done.err and "Traceback" not in done.err
    assert rlm_secure("log").code == 2
