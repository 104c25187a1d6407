"""Logs that cannot be written: a run goes on and says so, or ends typed, with its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import AuditLogError, LogError
from rlm_secure.logger import AuditLog, RLMLogger, verify
from rlm_secure.logger.file import LogFile
from rlm_secure.policy.model import Data, Policy
from rlm_secure.types import RLMIteration, RLMMetadata
from tests.loops import cell, scripted

ROOT = Path(__file__).parents[2]
REQUIRED = Policy.model_validate({"name": "t", "data": {"log_optional": False}})


def in_small_disk(program: str, size: str = "64k") -> dict[str, Any]:
    """What `program` prints as JSON; /mnt is a file system of its own of `size` while it runs."""
    script = f"mount -t tmpfs -o size={size} none /mnt && exec {sys.executable} -c \"$1\""
    command = ["unshare", "--mount", "sh", "-c", script, "sh", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.root
def test_a_full_disk_ends_no_run() -> None:
    found = in_small_disk(
        """
        import json, os, pathlib
        from rlm_secure.logger import RLMLogger
        from tests.loops import cell, scripted
        turns = [cell(f"print('{letter}' * 15_000)") for letter in "abcdef"] + ["FINAL(the answer)"]
        completion = scripted(turns, logger=RLMLogger("/mnt/logs")).completion("c")
        (file,) = pathlib.Path("/mnt/logs").iterdir()
        lines = file.read_text().splitlines()
        print(json.dumps({"response": completion.response, "lines": [json.loads(line)["type"] for line in lines],
            "notices": [n.message for n in completion.notices], "turns": len(completion.metadata["iterations"])}))
        """
    )
    assert found["response"] == "the answer"
    assert found["turns"] == 7
    assert found["lines"][0] == "metadata" and 1 < len(found["lines"]) < 8  # whole lines, as many as there was room for
    assert len(found["notices"]) == 1
    assert found["notices"][0].endswith("cannot be written (No space left on device)")


@pytest.mark.root
def test_a_full_disk_ends_a_run_that_must_be_logged_with_its_answer() -> None:
    found = in_small_disk(
        """
        import json
        from rlm_secure.errors import LogError
        from rlm_secure.logger import RLMLogger
        from rlm_secure.policy.model import Policy
        from tests.loops import cell, scripted
        policy = Policy.model_validate({"name": "t", "data": {"log_optional": False}})
        turns = [cell("print('x' * 15_000)")] * 2 + [cell("print('x' * 15_000)\\nfinal_answer('the answer')")]
        try:
            scripted(turns, logger=RLMLogger("/mnt/logs"), policy=policy).completion("c")
        except LogError as error:
            print(json.dumps({"message": str(error), "partial": error.partial_answer}))
        """
    )
    assert "No space left on device" in found["message"]
    assert found["partial"] == "the answer"


@pytest.mark.root
def test_a_full_disk_ends_an_audited_run_typed_and_leaves_a_whole_chain() -> None:
    found = in_small_disk(
        """
        import json
        from rlm_secure.errors import AuditLogError
        from rlm_secure.logger import AuditLog, verify
        from tests.loops import cell, scripted
        log = AuditLog("/mnt/audit.jsonl")
        open("/mnt/filler", "wb").write(b"x" * 50_000)
        turns = [cell("x = open('/etc/passwd')")] * 40 + ["FINAL(the answer)"]
        try:
            scripted(turns, audit=log, max_iterations=41).completion("c")
        except AuditLogError as error:
            print(json.dumps({"message": str(error), "partial": error.partial_answer, "lines": verify("/mnt/audit.jsonl").lines}))
        else:
            print(json.dumps({"message": "", "partial": None, "lines": 0}))
        """,
        "56k",
    )
    assert found["lines"] >= 1  # verify() read the whole file: no line is broken
    assert "/mnt/audit.jsonl" in found["message"]
    assert found["partial"]


@pytest.fixture(params=["file in the way", "read-only", "fifo", "missing"])
def wrong(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that no log can be written into."""
    place = tmp_path / "place"
    if request.param == "file in the way":
        place.write_text("precious")
        return place
    if request.param == "fifo":
        os.mkfifo(place)
        return place
    if request.param == "read-only":
        if os.geteuid() == 0:
            return Path("/proc/sys/kernel/logs")
        place.mkdir(mode=0o500)
        return place
    return Path("/proc/nowhere/logs")


def test_a_wrong_folder_ends_no_run(wrong: Path) -> None:
    completion = scripted([cell("print(1)"), "FINAL(x)"], logger=RLMLogger(wrong)).completion("c")
    assert completion.response == "x"
    assert [notice.kind for notice in completion.notices] == ["log"]
    assert str(wrong) in completion.notices[0].message
    assert len(completion.metadata["iterations"]) == 2
    assert completion.to_dict()["notices"][0]["message"] == completion.notices[0].message


def test_a_log_that_must_be_kept_fails_before_the_first_call(wrong: Path) -> None:
    asked: list[Any] = []
    rlm = scripted(lambda messages: asked.append(1) or "FINAL(x)", logger=RLMLogger(wrong), policy=REQUIRED)
    with pytest.raises(LogError, match=r"cannot be written .*data\.log_optional = true"):
        rlm.completion("c")
    assert asked == []


def test_a_folder_that_disappears_ends_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "logs"

    def second(_: Any) -> str:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        return cell("print(2)")

    completion = scripted([cell("print(1)"), second, "FINAL(x)"], logger=RLMLogger(folder)).completion("c")
    assert completion.response == "x"
    assert "(somebody removed it)" in completion.notices[0].message


def test_a_fifo_in_the_place_of_the_file_holds_nobody_up(tmp_path: Path) -> None:
    logger = RLMLogger(tmp_path)

    def second(_: Any) -> str:
        Path(logger.log_file_path).unlink()
        os.mkfifo(logger.log_file_path)
        return cell("print(2)")

    completion = scripted([cell("print(1)"), second, "FINAL(x)"], logger=logger).completion("c")
    assert completion.response == "x"
    assert "cannot be written" in completion.notices[0].message


def test_the_next_run_tries_again(tmp_path: Path) -> None:
    logger = RLMLogger(tmp_path / "logs")
    (tmp_path / "logs").write_text("in the way")
    rlm = scripted(lambda _: "FINAL(x)", logger=logger)
    assert rlm.completion("c").notices
    (tmp_path / "logs").unlink()
    assert rlm.completion("c").notices == []
    assert logger.incomplete is None
    assert Path(logger.log_file_path).exists()


def test_a_file_system_that_does_not_answer_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    real = os.open

    def hangs(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).endswith(".jsonl"):
            released.wait(60)
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", hangs)
    file = LogFile(str(tmp_path / "x.jsonl"))
    end = time.monotonic() + 0.2
    try:
        problem = file.append([{"a": 1}], lambda: end - time.monotonic())
        assert problem is not None and "in time" in problem
        file.begin(1_000)
        assert file.append([{"a": 1}], lambda: 60.0) == problem  # still hanging: not waited for again
    finally:
        released.set()


def test_a_turn_after_the_runs_time_is_not_worked_on(tmp_path: Path) -> None:
    told: list[str] = []
    logger = RLMLogger(tmp_path)
    logger.begin_run(keep=lambda _: True, seconds_left=lambda: 0.0, notice=told.append)
    logger.log_metadata(RLMMetadata("m", 1, 30, "openai", {}, "local", {}))
    logger.log(RLMIteration([{"role": "user", "content": "x" * 100}], "reply", []))
    assert len(told) == 1
    assert logger.get_trajectory()["iterations"][0]["response"] == "[not logged]"


def test_a_line_that_does_not_fit_leaves_whole_lines(tmp_path: Path) -> None:
    file = LogFile(str(tmp_path / "x.jsonl"))
    file.begin(100)
    assert file.append([{"a": 1}], lambda: 5.0) is None
    assert "data.log_bytes" in (file.append([{"b": "é" * 3_000_000}], lambda: 5.0) or "")
    assert (tmp_path / "x.jsonl").read_text() == '{"a":1}\n'


def test_large_lines_are_strict_json(tmp_path: Path) -> None:
    file = LogFile(str(tmp_path / "x.jsonl"))
    entry = {"text": "\ud800é" * 900_000, "list": [1, 2.5, None, True, {"k": []}]}
    assert file.append([entry, {"n": 1}], lambda: 60.0) is None
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text("ascii").splitlines()] == [entry, {"n": 1}]


def test_restricting_only_tightens_what_may_be_written() -> None:
    logger = RLMLogger(data=Data(log_bytes=100, log_optional=True))
    logger.restrict(Data(log_bytes=1_000, log_optional=False))
    assert (logger._data.log_bytes, logger._data.log_optional) == (100, False)


# -- audit logs ------------------------------------------------------------------------------------------


def test_an_audit_log_that_fails_at_the_end_of_a_session_leaves_no_session(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")

    def last(_: Any) -> str:
        (tmp_path / "audit.jsonl").unlink()
        (tmp_path / "audit.jsonl").mkdir()
        return "FINAL(the answer)"

    with pytest.raises(AuditLogError) as caught:
        scripted([cell("print(1)"), last], audit=log).completion("c")
    assert caught.value.partial_answer == "the answer"


def test_a_part_of_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.refusal("s", rule="r", reason="first")
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:20]))
    with pytest.raises(AuditLogError, match="only a part"):
        log.refusal("s", rule="r", reason="second")
    monkeypatch.undo()
    log.refusal("s", rule="r", reason="third")
    assert verify(path).lines == 2
