"""Trajectories: upstream's lines, exact snapshots, strict JSON, no secrets, no context, for their owner only."""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import CellTimeout
from rlm_secure.logger import RLMLogger, read_trajectory
from rlm_secure.logger.redact import MASK
from rlm_secure.policy.model import Data
from rlm_secure.types import (
    CodeBlock,
    ModelUsageSummary,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    UsageSummary,
)

SECRET = "corp-7f3a-9b1c"


def metadata(**backend: Any) -> RLMMetadata:
    return RLMMetadata("m", 1, 30, "openai", {"model_name": "m", **backend}, "local", {})


def turn(messages: Any = None, **result: Any) -> RLMIteration:
    block = CodeBlock("print(1)", REPLResult(**{"stdout": "1\n", "stderr": "", "locals": {}} | result))
    return RLMIteration(messages if messages is not None else [user("p")], "reply", [block], None, 0.5)


def user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def call(**more: Any) -> RLMChatCompletion:
    usage = UsageSummary({"m": ModelUsageSummary(1, 12, 3)})
    return RLMChatCompletion("m", more.pop("prompt", "sub"), more.pop("response", "reply"), usage, 0.25, **more)


def lines(logger: RLMLogger) -> list[dict[str, Any]]:
    """The file, read as strictly as JavaScript does."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = Path(logger.log_file_path).read_text(encoding="ascii")
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def whole(logger: RLMLogger) -> list[dict[str, Any]]:
    """The file, as upstream's logger would have written it."""
    return list(read_trajectory(logger.log_file_path))


@pytest.fixture
def logger(tmp_path: Path) -> RLMLogger:
    return RLMLogger(tmp_path / "logs")


class TestFile:
    def test_nothing_is_written_before_there_is_something(self, tmp_path: Path) -> None:
        RLMLogger(tmp_path / "logs")
        assert not (tmp_path / "logs").exists()

    def test_only_its_owner_may_read_it(self, logger: RLMLogger) -> None:
        before = os.umask(0)
        try:
            logger.log_metadata(metadata())
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat(logger.log_file_path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(logger.log_dir).st_mode) == 0o700

    def test_the_name_is_upstreams(self, logger: RLMLogger) -> None:
        assert Path(logger.log_file_path).name.startswith("rlm_2")
        assert logger.log_file_path.endswith(".jsonl")
        assert RLMLogger(logger.log_dir).log_file_path != logger.log_file_path

    def test_a_file_that_is_already_there_is_not_written_to(self, logger: RLMLogger, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("precious")
        Path(logger.log_dir).mkdir()
        Path(logger.log_file_path).symlink_to(victim)
        logger.log_metadata(metadata())
        assert "(File exists)" in logger.incomplete
        assert victim.read_text() == "precious"

    def test_a_file_that_became_a_link_is_not_written_to(self, logger: RLMLogger, tmp_path: Path) -> None:
        logger.log_metadata(metadata())
        victim = tmp_path / "victim"
        victim.write_text("precious")
        Path(logger.log_file_path).unlink()
        Path(logger.log_file_path).symlink_to(victim)
        logger.log(turn())
        assert "somebody removed it" in logger.incomplete
        assert victim.read_text() == "precious"

    @pytest.mark.parametrize("name", ["../up", "/abs", "a/b"])
    def test_a_name_that_is_a_path_is_refused(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="is a path; give the folder as log_dir"):
            RLMLogger(tmp_path, name)

    def test_who_owns_the_folder_reads_no_further_line(self, logger: RLMLogger, tmp_path: Path) -> None:
        logger.log_metadata(metadata())
        path = Path(logger.log_file_path)
        path.rename(path.with_name("moved"))
        path.touch(mode=0o666)
        logger.log(turn())
        assert path.read_bytes() == b""
        assert path.with_name("moved").read_bytes().count(b"\n") == 2
        path.with_name("moved").unlink()
        logger.log(turn())
        assert path.read_bytes() == b""
        assert "somebody removed it" in str(logger.incomplete)

    def test_a_folder_that_became_a_link_gets_no_line(self, logger: RLMLogger, tmp_path: Path) -> None:
        logger.log_metadata(metadata())
        folder = Path(logger.log_file_path).parent
        folder.rename(tmp_path / "moved")
        (tmp_path / "others").mkdir()
        (tmp_path / "others" / Path(logger.log_file_path).name).touch()
        folder.symlink_to("others")
        logger.log(turn())
        assert Path(logger.log_file_path).read_bytes() == b""

    def test_a_folder_is_reached_through_no_link(self, tmp_path: Path) -> None:
        (tmp_path / "others").mkdir()
        (tmp_path / "logs").symlink_to("others")
        for folder in (tmp_path / "logs", tmp_path / "logs" / "inner"):
            logger = RLMLogger(folder)
            logger.log_metadata(metadata())
            assert "logs in its path is a symbolic link" in str(logger.incomplete)
        assert list((tmp_path / "others").iterdir()) == []

    def test_without_a_folder_there_is_no_file(self) -> None:
        logger = RLMLogger()
        logger.log_metadata(metadata())
        assert logger.log_file_path is None
        assert logger.get_trajectory()["iterations"] == []


class TestLines:
    def test_metadata_then_iterations(self, logger: RLMLogger) -> None:
        logger.log_metadata(metadata())
        logger.log_metadata(metadata())
        logger.log(turn())
        logger.log(turn())
        first, *turns = lines(logger)
        assert first.pop("timestamp")
        assert first == {"type": "metadata", "format": 2, **metadata().to_dict()}
        assert [(each["type"], each["iteration"]) for each in turns] == [("iteration", 1), ("iteration", 2)]
        assert turns[0].keys() == {
            "type", "iteration", "timestamp", "prompt", "response", "code_blocks", "final_answer", "iteration_time"
        }  # fmt: skip

    def test_what_the_visualizer_needs(self, logger: RLMLogger) -> None:
        logger.log(turn(rlm_calls=[call()]))
        (entry,) = lines(logger)
        assert entry["prompt"] == [user("p")]
        assert entry["final_answer"] is None
        (block,) = entry["code_blocks"]
        assert block["result"].keys() == {"stdout", "stderr", "locals", "execution_time", "rlm_calls", "final_answer"}
        (sub,) = block["result"]["rlm_calls"]
        assert (sub["execution_time"], sub["prompt_tokens"], sub["completion_tokens"]) == (0.25, 12, 3)

    def test_what_json_cannot_hold(self, logger: RLMLogger) -> None:
        loop: list[Any] = []
        loop.append(loop)
        values = {
            "big": 2**65_536,
            "nan": math.nan,
            "inf": -math.inf,
            "loop": loop,
            "odd": "\ud800",
            "cr": "a\r\nb\x00",
        }
        logger.log(turn(locals=values, stdout="\udfff"))
        result = lines(logger)[0]["code_blocks"][0]["result"]
        assert result["locals"] == {
            "big": "<int of 65537 bits>",
            "nan": "NaN",
            "inf": "-Infinity",
            "loop": ["<list that contains itself>"],
            "odd": "\ud800",
            "cr": "a\r\nb\x00",
        }
        assert result["stdout"] == "\udfff"

    def test_an_error_is_named(self, logger: RLMLogger) -> None:
        logger.log(turn(error=CellTimeout("too long", limit="limits.cell_seconds", wall="wall-clock")))
        assert lines(logger)[0]["code_blocks"][0]["result"]["error"]["type"] == "CellTimeout"

    def test_an_answer_that_is_empty_is_an_answer(self, logger: RLMLogger) -> None:
        logger.log(RLMIteration([], "r", [], ""))
        assert lines(logger)[0]["final_answer"] == ""

    def test_threads_write_whole_lines(self, logger: RLMLogger) -> None:
        threads = [
            threading.Thread(target=lambda: [logger.log(turn(stdout="x" * 5000)) for _ in range(20)]) for _ in "abcd"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [entry["iteration"] for entry in lines(logger)] == list(range(1, 81))


class TestSnapshots:
    def test_each_turn_keeps_the_messages_that_it_saw(self, logger: RLMLogger) -> None:
        logger.log_metadata(metadata())
        messages: list[dict[str, str]] = []
        for _ in range(3):
            messages += [user(f"m{len(messages)}"), user("same"), user("same")]
            logger.log(turn(messages))
        trajectory = logger.get_trajectory()["iterations"]
        assert [len(each["prompt"]) for each in trajectory] == [3, 6, 9]
        assert [(each.get("same"), len(each["prompt"])) for each in lines(logger)[1:]] == [(None, 3), (3, 3), (6, 3)]
        assert [each["prompt"] for each in whole(logger)[1:]] == [each["prompt"] for each in trajectory]
        messages[0]["content"] = "changed"
        assert trajectory[2]["prompt"][0] == user("m0")

    def test_what_is_returned_is_a_copy(self, logger: RLMLogger) -> None:
        logger.log_metadata(metadata())
        logger.log(turn())
        one, two = logger.get_trajectory(), logger.get_trajectory()
        one["iterations"][0]["prompt"][0]["content"] = "changed"
        one["run_metadata"]["root_model"] = "changed"
        assert two == logger.get_trajectory() != one

    def test_equal_messages_are_kept_once(self) -> None:
        logger = RLMLogger()
        messages = []
        for number in range(200):
            messages.append(user(f"{number}" + "x" * 10_000))
            logger.log(turn(messages))
        kept = {id(message) for entry in logger._iterations for message in entry["prompt"]}
        assert len(kept) == 200

    def test_the_next_run_counts_from_one(self, logger: RLMLogger) -> None:
        logger.log_metadata(metadata())
        logger.log(turn())
        logger.clear_iterations()
        assert logger.iteration_count == 0
        logger.log(turn())
        assert logger.iteration_count == 1
        assert [each.get("iteration") for each in lines(logger)] == [None, 1, 1]

    def test_without_metadata_there_is_no_trajectory(self) -> None:
        logger = RLMLogger()
        logger.log(turn())
        assert logger.get_trajectory() is None


class TestWhatIsNotLogged:
    def test_secrets(self, logger: RLMLogger) -> None:
        logger.log_metadata(metadata(api_key=SECRET, default_headers={"Authorization": "Bearer 0123456789abcdef"}))
        nested = {"iterations": [{"response": f"nested {SECRET}"}]}
        logger.log(
            RLMIteration(
                [user(f"uses {SECRET}"), {"role": "user", "content": [{"text": SECRET}]}],
                f"says {SECRET}",
                [
                    CodeBlock(
                        f"x = '{SECRET}'",
                        REPLResult(
                            SECRET,
                            SECRET,
                            {"x": [SECRET], SECRET: 1, "password": "hunter2"},
                            rlm_calls=[call(prompt=SECRET, response=SECRET, metadata=nested, error=SECRET)],
                            final_answer=SECRET,
                            error=CellTimeout(SECRET),
                        ),
                    )
                ],
                SECRET,
            )
        )
        for text in (Path(logger.log_file_path).read_text(), json.dumps(logger.get_trajectory())):
            assert SECRET not in text
            assert "hunter2" not in text
            assert "0123456789abcdef" not in text
        assert lines(logger)[0]["backend_kwargs"]["api_key"] == MASK

    def test_the_context(self, logger: RLMLogger) -> None:
        variables = {
            "context": "the text",
            "context_0": "the text",
            "history": [1, 2],
            "history_1": [],
            "contexts": "mine",
        }
        logger.log(turn(locals=variables))
        assert lines(logger)[0]["code_blocks"][0]["result"]["locals"] == {
            "context": "[not logged: str of 8]",
            "context_0": "[not logged: str of 8]",
            "history": "[not logged: list of 2]",
            "history_1": "[not logged: list of 0]",
            "contexts": "mine",
        }

    def test_the_context_where_the_policy_says_so(self, tmp_path: Path) -> None:
        logger = RLMLogger(tmp_path, data=Data(log_context=True))
        logger.log(turn(locals={"context": "the text"}))
        assert lines(logger)[0]["code_blocks"][0]["result"]["locals"] == {"context": "the text"}

    def test_values_of_custom_tools(self, logger: RLMLogger) -> None:
        logger.restrict(Data(), withhold=["table"])
        logger.log(turn(locals={"table": {"a": 1}, "x": 1}))
        assert lines(logger)[0]["code_blocks"][0]["result"]["locals"] == {"table": "[not logged: dict of 1]", "x": 1}

    def test_prompts_and_replies_where_the_policy_says_so(self, tmp_path: Path) -> None:
        logger = RLMLogger(tmp_path, data=Data(log_prompts=False))
        said = "PRIVATE"
        block = CodeBlock(said, REPLResult(said, said, {"x": said}, rlm_calls=[call(prompt=said, response=said)]))
        logger.log(RLMIteration([user(said)], said, [block], said))
        assert said not in Path(logger.log_file_path).read_text()
        (entry,) = lines(logger)
        assert entry["prompt"] == [user("[not logged: str of 7]")]
        assert entry["code_blocks"][0]["result"]["locals"] == {"x": "[not logged: str of 7]"}

    def test_rules_only_get_tighter(self, tmp_path: Path) -> None:
        logger = RLMLogger(tmp_path, data=Data(log_context=True, redact=("EMP-1",)))
        logger.restrict(Data(log_context=True, redact=("EMP-2",)))
        logger.log(turn(locals={"context": "c", "x": "EMP-1 EMP-2"}))
        logger.restrict(Data(log_context=False))
        logger.restrict(Data(log_context=True))
        logger.log(turn(locals={"context": "c"}))
        first, second = (entry["code_blocks"][0]["result"]["locals"] for entry in lines(logger))
        assert first == {"context": "c", "x": f"{MASK} {MASK}"}
        assert second == {"context": "[not logged: str of 1]"}

    def test_a_child_follows_the_same_rules_and_knows_the_same_secrets(self, logger: RLMLogger) -> None:
        logger.restrict(Data(), withhold=["table"])
        child = logger.fresh()
        logger.log_metadata(metadata(api_key=SECRET))
        child.log_metadata(metadata())
        child.log(turn(stdout=SECRET, locals={"table": 1}))
        assert child.log_file_path is None
        result = child.get_trajectory()["iterations"][0]["code_blocks"][0]["result"]
        assert (result["stdout"], result["locals"]) == (MASK, {"table": "[not logged: int]"})
        assert logger.iteration_count == 0

    def test_a_run_beside_this_one_has_a_file_of_its_own(self, logger: RLMLogger) -> None:
        other = logger.fresh(on_disk=True)
        other.log(turn())
        logger.log(turn())
        assert len(lines(other)) == len(lines(logger)) == 1
