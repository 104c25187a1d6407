"""Files of a run: the caller's go in by name, and what the cells write comes out with the completion."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rlm_secure.errors import PolicyError, Refused
from rlm_secure.events import Noticed
from rlm_secure.logger import RLMLogger, VerbosePrinter
from rlm_secure.logger.view import render
from rlm_secure.policy import Policy, load_policy
from rlm_secure.rlm.rlm import RLM
from tests.loops import Heard, cell, scripted

READS = cell("import csv\nrows = list(csv.DictReader(files.open('sales.csv')))\nprint(len(rows))")
WRITES = cell("files['out/total.txt'] = b'7'\nfinal_answer(str(sum(int(row['n']) for row in rows)))")


def standard(**limits: Any) -> Policy:
    policy = load_policy("standard")
    return policy.model_copy(update={"limits": policy.limits.model_copy(update=limits)})


def asked(turns: Any, **options: Any) -> RLM:
    return scripted(turns, policy=options.pop("policy", "standard"), **options)


@pytest.mark.parametrize("persistent", [False, True])
def test_the_caller_s_files_go_in_and_those_of_the_cells_come_out(tmp_path: Path, persistent: bool) -> None:
    (tmp_path / "sales.csv").write_text("n\n3\n4\n")
    with asked([READS, WRITES], files={"sales.csv": tmp_path / "sales.csv"}, persistent=persistent) as rlm:
        completion = rlm.completion("c")
    assert (completion.response, completion.files) == ("7", {"out/total.txt": b"7"})
    assert completion.to_dict()["files"] == {"out/total.txt": 1}


def test_the_model_is_told_which_files_there_are() -> None:
    prompts: list[str] = []

    def answer(messages: Any) -> str:
        prompts.append(json.dumps(messages))
        return "FINAL(done)"

    asked(answer, files={"a.csv": b"x"}).completion("c")
    scripted(answer).completion("c")
    assert "These are there: `a.csv`" in prompts[0] and "there are no files" not in prompts[0]
    assert "there are no files" not in prompts[1] or "no files, no network" in prompts[1]
    assert "a.csv" not in prompts[1]


def test_a_policy_without_files_takes_none() -> None:
    with pytest.raises(Refused, match=r"limits\.files"):
        scripted(["FINAL(x)"], files={"a": b""})


@pytest.mark.parametrize("name", ["../a", "/a", ""])
def test_a_name_that_no_file_can_have_ends_the_run_before_it_begins(name: str) -> None:
    with pytest.raises(ValueError, match="file"):
        asked(["FINAL(x)"], files={name: b""}).completion("c")


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(Refused, match=r"limits\.file_bytes"):
        asked(["FINAL(x)"], files={"a": bytes(2_000)}, policy=standard(file_bytes=1_000)).completion("c")


def test_children_have_none_of_them() -> None:
    child = cell("final_answer(str(files.names()))")
    answer = asked(
        [cell("final_answer(rlm_query('look'))")], child_turns=[child], files={"a.csv": b"x"}, max_depth=2
    ).completion("c")
    assert answer.response == "[]"


def test_no_more_is_kept_than_a_session_may_hold() -> None:
    heard = Heard()
    turns = [cell(f"files.clear() if hasattr(files, 'clear') else [files.remove(n) for n in files.names()]\n"
                  f"files['{name}'] = bytes(400)") for name in "abcd"]  # fmt: skip
    completion = asked([*turns, "FINAL(x)"], policy=standard(file_bytes=1_000), on_event=heard).completion("c")
    assert list(completion.files) == ["c", "d"]
    assert [each.message for each in heard.of(Noticed)] == [
        f"the file {name} was not kept: the cells wrote more than one session may hold" for name in "ab"
    ]


def test_logs_and_the_printed_run_name_them(tmp_path: Path) -> None:
    out = io.StringIO()
    logger = RLMLogger(log_dir=str(tmp_path))
    rlm = asked([cell("files['chart.png'] = bytes(12_345)\nfiles['<b>'] = b''"), "FINAL(x)"], logger=logger, verbose=True)
    rlm.verbose = VerbosePrinter(console=Console(file=out, width=200))
    rlm.completion("c")
    assert "file chart.png: 12,345 bytes" in out.getvalue()
    (file,) = tmp_path.glob("*.jsonl")
    turns = [json.loads(line) for line in file.read_text().splitlines()]
    (written,) = [block["result"]["files"] for turn in turns for block in turn.get("code_blocks", ()) if block]
    assert written == {"chart.png": 12345, "<b>": 0}
    page = render(file)
    assert "chart.png: 12345 bytes" in page and "&lt;b&gt;: 0 bytes" in page and "<b>: 0" not in page


def test_what_is_no_policy_is_still_one_error() -> None:
    with pytest.raises(PolicyError):
        scripted(["FINAL(x)"], files={"a": b""}, policy="no-such-policy")
