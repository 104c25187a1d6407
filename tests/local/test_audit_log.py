"""What ran into a wall is typed, counted, and in the audit log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rlm_secure import RLM, Sandbox
from rlm_secure.broker.protocol import CellResult
from rlm_secure.environments import get_environment
from rlm_secure.environments.repl import record
from rlm_secure.errors import CellCrashed, ProtocolViolation, WallViolation
from rlm_secure.logger import AuditLog, verify
from rlm_secure.policy import load_policy


def test_refusals_limits_and_crashes_are_counted_and_chained(tmp_path):
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    base = load_policy("strict")
    policy = base.model_copy(update={"limits": base.limits.model_copy(update={"memory_bytes": 128 << 20})})
    with Sandbox(policy=policy, audit=log) as box:
        box.run("open('/etc/passwd')")
        box.run("while True: pass", timeout=0.2)
        box.run("x = 'a' * 10**10")
        box.run("print('a' * 10**7)")
        box.run("t = ()\nfor i in range(300000): t = (t,)\nhash(t)")
        box.run("print(1)")
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["event"] for entry in entries] == [
        "session-start", "refusal", "limit", "limit", "limit", "violation", "session-end",
    ]  # fmt: skip
    assert entries[0]["report"]["walls"]["seccomp"][0] == "full"
    assert entries[1]["rule"] == "removed-builtin"
    assert [entry["limit"] for entry in entries[2:5]] == [
        "limits.cell_seconds",
        "limits.memory_bytes",
        "limits.stdout_bytes",
    ]
    assert (entries[5]["violation"], entries[5]["wall"]) == ("CellCrashed", "separate-process")
    assert entries[6]["cells"] == 6
    assert log.violations == {
        "limits.cell_seconds": 1, "limits.memory_bytes": 1, "limits.stdout_bytes": 1, "CellCrashed": 1,
    }  # fmt: skip
    assert verify(path).lines == 7
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_forbidden_system_call_is_a_violation_with_its_wall():
    log = AuditLog()
    record(log, "s", CellResult(error=WallViolation("the kernel killed the worker", wall="seccomp")))
    assert log.violations == {"WallViolation": 1}


def test_a_read_of_the_variables_is_a_cell_of_the_log_and_says_why_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "audit.jsonl"
    said: list[Any] = [CellCrashed("the worker was killed", wall="separate-process"), ProtocolViolation("too long")]

    def failing(*_: object, **__: object) -> CellResult:
        error = said.pop(0)
        if isinstance(error, ProtocolViolation):
            raise error
        return CellResult(error=error)

    with get_environment("local", {"audit": AuditLog(path)}) as repl:
        repl.execute_code("x = 1")
        assert repl.locals == {"x": 1}
        monkeypatch.setattr(repl.session, "execute", failing)
        with pytest.raises(CellCrashed, match="the worker was killed"):
            _ = repl.locals
        with pytest.raises(ProtocolViolation, match="too long"):
            _ = repl.locals
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry.get("violation") for entry in entries] == [None, "CellCrashed", "ProtocolViolation", None]
    assert entries[-1]["cells"] == 4


def test_a_run_and_its_children_write_to_one_audit_log(tmp_path):
    path = tmp_path / "audit.jsonl"
    first = "```repl\nprint(rlm_query('child'))\nopen('x')\n```"
    turns = [first, "```repl\nfinal_answer('c')\n```", "```repl\nfinal_answer('r')\n```"]
    with RLM("scripted", {"turns": turns}, max_depth=2, audit=AuditLog(path)) as rlm:
        rlm.completion("context")
    events = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    assert events.count("session-start") == events.count("session-end") == 2
    assert events.count("refusal") == 1
    assert verify(path).lines == len(events)
