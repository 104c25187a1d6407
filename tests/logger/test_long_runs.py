"""Trajectories of many turns: each message once on disk and in memory, and upstream's form whenever it is read."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlm_secure import turns
from rlm_secure.audit.read import trajectory as audited
from rlm_secure.logger import RLMLogger, read, read_trajectory
from rlm_secure.logger.view import render
from rlm_secure.policy import load_policy
from rlm_secure.policy.model import Data
from rlm_secure.rlm.compaction import TokenCount, count_tokens
from rlm_secure.turns import BrokenTurn, Messages, Trajectory, whole
from rlm_secure.types import AskedIteration, RLMChatCompletion, RLMIteration, RLMMetadata, UsageSummary, held_bytes
from tests.loops import cell, scripted

METADATA = RLMMetadata("m", 1, 30, "openai", {"model_name": "m"}, "local", {})


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def prompts(count: int) -> Iterator[list[dict[str, Any]]]:
    """The prompts of a run: each as the one before, and two messages more."""
    messages = [user("a system prompt" * 20)]
    for number in range(count):
        messages = [*messages, user(f"{number:06}" + "w" * 300), user("x" * 100)]
        yield messages


def logged(folder: Path, asked: Any) -> RLMLogger:
    """The log of a run with these prompts."""
    logger = RLMLogger(folder)
    logger.log_metadata(METADATA)
    for prompt in asked:
        logger.log(RLMIteration(prompt, "a reply", [], None, 0.5))
    return logger


def told(logger: RLMLogger) -> list[Any]:
    """The prompts in a logger's file, as they are read."""
    return [entry["prompt"] for entry in read_trajectory(logger.log_file_path) if entry["type"] == "iteration"]


def raw(logger: RLMLogger) -> list[dict[str, Any]]:
    """The turns in a logger's file, as they are written."""
    return [json.loads(line) for line in Path(logger.log_file_path).read_text("ascii").splitlines()][1:]


# -- size ------------------------------------------------------------------------------------------------


def test_bytes_grow_with_the_turns_and_not_with_their_square(tmp_path: Path) -> None:
    sizes = {}
    for count in (5, 50, 500):
        path = Path(logged(tmp_path, prompts(count)).log_file_path)
        sizes[count] = path.stat().st_size
    each = (sizes[50] - sizes[5]) / 45
    assert each < 1_000
    assert (sizes[500] - sizes[50]) / 450 == pytest.approx(each, rel=0.02)


def test_room_in_memory_is_asked_for_new_messages_alone() -> None:
    asked: list[int] = []
    logger = RLMLogger()
    logger.begin_run(keep=lambda size: not asked.append(size), seconds_left=lambda: 60.0, notice=print)
    logger.log_metadata(METADATA)
    for prompt in prompts(300):
        logger.log(RLMIteration(prompt, "r", []))
    assert max(asked[1:]) < 1.1 * asked[1]
    assert logger.trajectory().turns[-1]["same"] == 599


@pytest.mark.parametrize("compaction", [True, False])
def test_a_whole_run_reads_as_it_was(tmp_path: Path, compaction: bool) -> None:
    seen: list[Any] = []

    def model(messages: list[dict[str, Any]]) -> str:
        if "about to be cut" in messages[-1]["content"]:
            return "a summary"
        seen.append(copy.deepcopy(messages))
        return "FINAL(x)" if len(seen) == 40 else cell(f"print({len(seen)}, 'o' * 400)")

    more: dict[str, Any] = {"compaction": True, "windows": {"m": 6_000}} if compaction else {}
    rlm = scripted(
        model, backend_kwargs={"model_name": "m"}, max_iterations=40, logger=RLMLogger(tmp_path), **more
    )
    completion = rlm.completion("c")
    (file,) = tmp_path.iterdir()
    first, *entries = read_trajectory(file)
    assert "format" not in first and completion.metadata is not None
    assert [entry["prompt"] for entry in entries] == seen
    assert entries == completion.metadata["iterations"]
    lengths = [len(prompt) for prompt in seen]
    assert (max(lengths) < 100) == (lengths != sorted(lengths)) == compaction
    once = {json.dumps(message) for prompt in seen for message in prompt}
    written = sum(len(json.loads(line).get("prompt", ())) for line in file.read_text("ascii").splitlines())
    assert written == len(once)


def test_turns_of_a_child_are_short_in_the_line_of_its_parent_and_whole_when_they_are_read(tmp_path: Path) -> None:
    turns_of_child = [cell(f"print({number})") for number in range(20)] + ["FINAL(y)"]
    rlm = scripted(
        [cell("print(rlm_query('q'))"), "FINAL(x)"],
        child_turns=turns_of_child,
        max_depth=2,
        logger=RLMLogger(tmp_path),
    )
    completion = rlm.completion("c")

    def child(entry: Any) -> list[dict[str, Any]]:
        (call,) = entry["code_blocks"][0]["result"]["rlm_calls"]
        return call["metadata"]["iterations"]

    (file,) = tmp_path.iterdir()
    short = child(json.loads(file.read_text("ascii").splitlines()[1]))
    _, first, _ = read_trajectory(file)
    assert [entry.get("same", 0) + len(entry["prompt"]) for entry in short] == [3 * number for number in range(1, 22)]
    assert sum(len(entry["prompt"]) for entry in short) == 63
    assert [len(entry["prompt"]) for entry in child(first)] == [3 * number for number in range(1, 22)]
    assert first == completion.metadata["iterations"][0]
    assert "60 messages as in the turn before" in render(file)


# -- what breaks the chain -----------------------------------------------------------------------------------


def test_every_prompt_reads_as_it_was_given(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    native = [user("q"), {"role": "assistant", "content": "", "tool_calls": [call]}]
    given = [
        [user("a"), user("b"), user("c")],
        [user("a"), user("B"), user("c")],  # changed in the middle
        [user("a")],  # shorter
        [],
        "a text",
        [user("a")],
        native,
        [*native, {"role": "tool", "tool_call_id": "1", "content": "r"}],
        [user([{"type": "text", "text": "t"}]), user("z")],
        [user([{"type": "text", "text": "t"}]), user("z"), "no message", ["nor", "this"]],
    ]
    logger = logged(tmp_path, given)
    assert told(logger) == given
    assert [entry["prompt"] for entry in logger.get_trajectory()["iterations"]] == given
    assert [entry.get("same") for entry in raw(logger)] == [None, 1, 1, None, None, None, None, 2, None, 2]


def test_a_message_that_its_owner_changes_is_another_message(tmp_path: Path) -> None:
    messages = [user("a"), user([{"type": "text", "text": "b"}])]
    logger = logged(tmp_path, [messages])
    messages[0]["content"] = "changed"
    logger.log(RLMIteration(messages, "r", []))
    messages[1]["content"][0]["text"] = "changed"
    logger.log(RLMIteration(messages, "r", []))
    last = [user("changed"), user([{"type": "text", "text": "changed"}])]
    assert told(logger) == [[user("a"), user([{"type": "text", "text": "b"}])], [last[0], told(logger)[0][1]], last]


def test_runs_of_one_logger_do_not_refer_to_each_other(tmp_path: Path) -> None:
    logger = RLMLogger(tmp_path)
    rlm = scripted(lambda messages: cell("print(1)") if len(messages) < 6 else "FINAL(x)", logger=logger)
    first, second = (rlm.completion("c").metadata["iterations"] for _ in range(2))
    assert ["same" in entry for entry in raw(logger)] == [False, True, False, True]
    entries = [entry for entry in read_trajectory(logger.log_file_path) if entry["type"] == "iteration"]
    assert entries == [*first, *second]


def test_a_turn_without_room_is_not_referred_to_in_memory(tmp_path: Path) -> None:
    answers = iter([True, False, True, True, False, False, True])
    logger = RLMLogger(tmp_path)
    logger.begin_run(keep=lambda _: next(answers), seconds_left=lambda: 60.0, notice=lambda _: None)
    logger.log_metadata(METADATA)
    given = list(prompts(7))
    for prompt in given:
        logger.log(RLMIteration(prompt, "r", []))
    assert told(logger) == given
    assert [entry.get("same") for entry in raw(logger)] == [None, 3, 5, 7, 9, 11, 13]
    kept = [entry["prompt"] for entry in logger.get_trajectory()["iterations"]]
    assert kept == [given[0], [], given[2], given[3], [], [], given[6]]


def test_a_turn_without_time_is_referred_to_nowhere(tmp_path: Path) -> None:
    left = [60.0]
    logger = RLMLogger(tmp_path)
    logger.begin_run(keep=lambda _: True, seconds_left=lambda: left[0], notice=lambda _: None)
    logger.log_metadata(METADATA)
    one, two, three = prompts(3)
    for prompt, seconds in ((one, 60.0), (two, 0.0), (three, 60.0)):
        left[0] = seconds
        logger.log(RLMIteration(prompt, "r", []))
    assert [entry["prompt"] for entry in logger.get_trajectory()["iterations"]] == [one, [], three]


def test_a_turn_whose_record_was_interrupted_is_referred_to_nowhere(tmp_path: Path) -> None:
    def keep(_: int) -> bool:
        if interrupted:
            raise KeyboardInterrupt
        return True

    interrupted: list[int] = []
    logger = RLMLogger(tmp_path)
    logger.begin_run(keep=keep, seconds_left=lambda: 60.0, notice=lambda _: None)
    logger.log_metadata(METADATA)
    one, two, three = prompts(3)
    logger.log(RLMIteration(one, "r", []))
    interrupted.append(1)
    with pytest.raises(KeyboardInterrupt):
        logger.log(RLMIteration(two, "r", []))
    interrupted.clear()
    logger.log(RLMIteration(three, "r", []))
    assert told(logger) == [one, three]
    assert [entry["prompt"] for entry in logger.get_trajectory()["iterations"]] == [one, three]


def test_new_rules_apply_to_the_whole_next_prompt(tmp_path: Path) -> None:
    logger = logged(tmp_path, [[user("EMP-1")]])
    logger.restrict(Data(redact=("EMP-[0-9]",)))
    logger.log(RLMIteration([user("EMP-1"), user("EMP-2")], "r", []))
    assert told(logger) == [[user("EMP-1")], [user("[redacted]"), user("[redacted]")]]


# -- hostile files ----------------------------------------------------------------------------------------------


def write(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def nested(*iterations: Any) -> dict[str, Any]:
    """A turn with a child of these turns."""
    calls = [{"metadata": {"iterations": list(iterations)}}]
    return {"type": "iteration", "prompt": [], "code_blocks": [{"result": {"rlm_calls": calls}}]}


FIRST = {"type": "iteration", "iteration": 1, "prompt": [user("a")]}


@pytest.mark.parametrize("same", [2, -1, True, "1", None, 1.0, [1], 10**30])
@pytest.mark.parametrize("inside", [True, False])
def test_a_reference_to_nothing_is_refused(tmp_path: Path, same: Any, inside: bool) -> None:
    last = {"type": "iteration", "iteration": 2, "same": same, "prompt": [user("b")]}
    entries = [FIRST, nested(FIRST, last)] if inside else [FIRST, last]
    path = write(tmp_path / "log.jsonl", *entries)
    with pytest.raises(ValueError, match=r"line 2 of .* that are not there"):
        list(read_trajectory(path))
    page = render(path)
    assert page.count("refers to messages of the turn before it that are not there") == 1
    assert "<pre class=\"\">b</pre>" in page


def test_a_text_in_place_of_a_prompt_continues_no_prompt(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", FIRST, {"type": "iteration", "iteration": 2, "same": 1, "prompt": "text"})
    with pytest.raises(ValueError, match="that are not there"):
        list(read_trajectory(path))
    assert "text" in render(path)


def test_what_a_file_stands_for_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"type": "iteration", "prompt": [user("a")] * 1_000}
    again = {"type": "iteration", "iteration": 2, "same": 1_000, "prompt": []}
    path = write(tmp_path / "log.jsonl", many, *[again] * 20)
    inside = write(tmp_path / "nested.jsonl", nested(many, *[again] * 20))
    assert len(list(read_trajectory(path))) == 21
    monkeypatch.setattr(turns, "_MESSAGES", 10_000)
    with pytest.raises(ValueError, match="line 12 of .* stand for too many messages"):
        list(read_trajectory(path))
    assert len(list(read_trajectory(inside))) == 1
    monkeypatch.setattr(turns, "_NESTED", 10_000)
    with pytest.raises(ValueError, match="line 1 of .* stand for too many messages"):
        list(read_trajectory(inside))
    monkeypatch.undo()
    monkeypatch.setattr(read, "_EXPORT", 100_000)
    for each in (path, inside):
        written = []
        with pytest.raises(ValueError, match="split it by its runs"):
            written.extend(read.upstream_lines(read_trajectory(each)))
        assert len(render(each)) < 1_000_000


def test_lines_of_any_other_kind_are_refused_or_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="line 2 is not a JSON object"):
        list(read_trajectory(write(tmp_path / "a", FIRST, [1])))
    with pytest.raises(ValueError, match="not one that this version knows"):
        list(read_trajectory(write(tmp_path / "b", {"type": "metadata", "format": 3})))
    odd = [nested("no turn", FIRST), {"code_blocks": [1, {}, {"result": 1}, {"result": {"rlm_calls": [1, {}]}}]}, {}]
    path = write(tmp_path / "c", *odd)
    assert list(read_trajectory(path)) == odd
    assert [json.loads(line) for line in "".join(read.upstream_lines(read_trajectory(path))).splitlines()] == odd
    monkeypatch.setattr(read, "_LINES", 2)
    with pytest.raises(ValueError, match="more than 2 lines"):
        list(read_trajectory(path))
    monkeypatch.setattr(read, "_FILE", 10)
    with pytest.raises(ValueError, match="larger than"):
        next(read_trajectory(path))
    with pytest.raises(FileNotFoundError):
        next(read_trajectory(tmp_path / "nothing"))


def test_a_line_of_settings_between_the_turns_changes_no_prompt(tmp_path: Path) -> None:
    second = {"type": "iteration", "same": 1, "prompt": [user("b")]}
    path = write(tmp_path / "log.jsonl", FIRST, {"type": "metadata", "format": 2}, second)
    assert [entry.get("prompt") for entry in read_trajectory(path)] == [[user("a")], None, [user("a"), user("b")]]


def test_a_log_of_upstream_is_read_as_it_is(tmp_path: Path) -> None:
    entries = [{"type": "metadata"}, *({"type": "iteration", "iteration": 1, "prompt": each} for each in prompts(5))]
    for number, entry in enumerate(entries):
        entry["iteration"] = number
    path = write(tmp_path / "log.jsonl", *entries)
    assert list(read_trajectory(path)) == entries
    assert "9 messages as in the turn before" in render(path)


def test_an_audit_sees_each_message_once(tmp_path: Path) -> None:
    path = Path(logged(tmp_path, prompts(20)).log_file_path)
    subject = audited.read(path.read_text(), str(path), load_policy("strict"))
    assert len(subject.turns) == 20
    assert sum(turn.raw.count("000000w") for turn in subject.turns) == 1


# -- what a completion holds ----------------------------------------------------------------------------------------


def completed(count: int) -> RLMChatCompletion:
    logger = RLMLogger()
    logger.log_metadata(METADATA)
    for prompt in prompts(count):
        logger.log(RLMIteration(prompt, "r", []))
    trajectory: Any = logger.trajectory()
    return RLMChatCompletion("m", "p", "r", UsageSummary(), 0.5, trajectory)


def test_a_trajectory_becomes_whole_when_it_is_read() -> None:
    completion = completed(50)
    assert type(vars(completion)["metadata"]) is Trajectory
    assert held_bytes(completion.short_dict()) < held_bytes(completed(50).to_dict()) / 10
    for copied in (copy.deepcopy(completion), pickle.loads(pickle.dumps(completion)), copy.copy(completion)):
        assert type(vars(copied)["metadata"]) is Trajectory and copied.metadata == completed(50).metadata | {
            "iterations": copied.metadata["iterations"]
        }
    metadata = completion.metadata
    assert metadata is completion.metadata is replace(completion, error="e").metadata
    assert [len(entry["prompt"]) for entry in metadata["iterations"]] == list(range(3, 103, 2))
    assert len({id(message) for entry in metadata["iterations"] for message in entry["prompt"]}) == 101
    assert completion.to_dict()["metadata"] == completion.short_dict()["metadata"] == metadata
    metadata["iterations"][0]["prompt"][0]["content"] = "changed"
    assert RLMChatCompletion("m", "p", "r", UsageSummary(), 0.5).metadata is None


def test_changing_what_was_read_changes_no_other_copy() -> None:
    logger = RLMLogger()
    logger.log_metadata(METADATA)
    logger.log(RLMIteration([user("a")], "r", []))
    trajectory = logger.trajectory()
    trajectory.whole()["iterations"][0]["prompt"][0]["content"] = "changed"
    assert trajectory.whole() == logger.get_trajectory()
    logger.log(RLMIteration([user("a")], "r", []))
    assert len(trajectory.turns) == 1


def test_whole_turns_are_those_that_were_given() -> None:
    with pytest.raises(BrokenTurn):
        list(whole([{"same": 1, "prompt": []}]))
    assert list(whole([FIRST])) == [FIRST]


# -- measures -----------------------------------------------------------------------------------------------------


def test_a_message_is_measured_once() -> None:
    measured: list[Any] = []

    def characters(message: dict[str, Any]) -> int:
        measured.append(message)
        return len(message["content"])

    messages = Messages()
    assert messages.total(characters) == 0
    for prompt in prompts(10):
        messages += prompt[len(messages) :]
        assert messages.total(characters) == sum(len(message["content"]) for message in prompt)
    assert len(measured) == 21
    fork = Messages(prompt) + [user("abc")]
    assert fork.total(characters) == messages.total(characters) + 3


def test_tokens_are_counted_as_before_while_a_conversation_grows() -> None:
    count = TokenCount()
    assert [count.of(prompt) for prompt in prompts(10)] == [count_tokens(prompt) for prompt in prompts(10)]


def test_tokens_of_messages_are_those_of_a_list() -> None:
    count, messages = TokenCount(), Messages()
    for prompt in prompts(10):
        messages += prompt[len(messages) :]
        assert count.of(messages) == count_tokens(prompt)


# -- messages -----------------------------------------------------------------------------------------------------


def test_messages_are_added_without_a_change_to_those_before() -> None:
    one = Messages([user("a")])
    two = one + [user("b")]
    other = one + [user("c")]
    more = two + [user("d")]
    assert [list(each) for each in (one, two, other, more)] == [
        [user("a")],
        [user("a"), user("b")],
        [user("a"), user("c")],
        [user("a"), user("b"), user("d")],
    ]
    assert (len(more), more[-1], more[1:], more[0]) == (3, user("d"), [user("b"), user("d")], user("a"))
    with pytest.raises(IndexError):
        two[2]
    assert (more.shared_with(two), two.shared_with(more), more.shared_with(other)) == (2, 2, None)
    totals = [each.total(lambda message: ord(message["content"])) for each in (one, two, other, more)]
    assert totals == [97, 97 + 98, 97 + 99, 97 + 98 + 100]


def test_a_fork_of_messages_takes_the_measures_of_its_own() -> None:
    one = Messages([user("a")])
    two = one + [user("bb")]
    assert two.total(size) == 3
    other = one + [user("cccc"), user("")]
    assert (other.total(size), one.total(size), two.total(size)) == (5, 1, 3)


def size(message: dict[str, Any]) -> int:
    return len(message["content"])


@pytest.mark.parametrize("read", [list, lambda messages: [messages[0]], lambda messages: messages[:1]])
def test_who_reads_messages_gets_copies(read: Any) -> None:
    given = user([{"type": "text", "text": "a"}])
    messages = Messages([given])
    given["content"][0]["text"] = "changed"
    for content in ("changed", None):
        got = read(messages)[0]
        got["content"][0]["text"] = content
        got["role"] = content
        got["content"].append(1)
    assert list(messages) == [user([{"type": "text", "text": "a"}])]


def test_messages_are_copied_and_pickled_whole() -> None:
    messages = Messages([user("a")]) + [user("b")]
    for made in (copy.deepcopy(messages), pickle.loads(pickle.dumps(messages))):
        assert list(made) == [user("a"), user("b")]
        assert made.shared_with(messages) is None


def test_a_log_of_messages_is_that_of_lists(tmp_path: Path) -> None:
    logger, other = logged(tmp_path / "lists", prompts(5)), logged(tmp_path / "messages", [])
    messages = Messages()
    for prompt in prompts(5):
        messages += prompt[len(messages) :]
        other.log(AskedIteration(messages, "a reply", [], None, 0.5))
    for each in (logger, other):
        each.log(RLMIteration([user("c")], "r", []))
    other.log(AskedIteration(Messages([user("c"), user("d")]), "r", []))
    logger.log(RLMIteration([user("c"), user("d")], "r", []))
    keys = ("same", "prompt")
    assert [[turn.get(key) for key in keys] for turn in raw(other)] == [
        [turn.get(key) for key in keys] for turn in raw(logger)
    ]


def test_a_logger_that_changes_a_prompt_changes_what_is_logged_and_no_more(tmp_path: Path) -> None:
    messages = Messages([user("a secret"), user("b")])
    turn = AskedIteration(messages, "r", [])
    assert turn.to_dict() == RLMIteration([user("a secret"), user("b")], "r", []).to_dict()
    turn.prompt[0]["content"] = "hidden"
    logger = logged(tmp_path, [])
    logger.log(turn)
    assert told(logger) == [[user("hidden"), user("b")]]
    assert list(messages) == [user("a secret"), user("b")]
