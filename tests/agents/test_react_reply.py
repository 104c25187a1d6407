"""What a ReAct agent reads in a reply: one action and its input, whatever stands around it."""

from __future__ import annotations

import time

import pytest

from rlm_secure.agents.react.reply import NOTHING, Step, native, read

ADD = 'Thought: add them\nAction: add\nAction Input: {"a": 1, "b": 2}'


def test_a_reply_as_it_should_be() -> None:
    assert read(ADD) == Step("add them", ADD, "add", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    "reply",
    [
        '**Thought:** add them\n**Action:** `add`\n**Action Input:** {"a": 1, "b": 2}',
        'thought: add them\naction: "add"\naction input:\n{"a": 1,\n "b": 2}',
        '- Thought: add them\n- Action: [add]\n- Action Input:\n```json\n{"a": 1, "b": 2}\n```',
        "Thought: add them\nAction: add\nAction Input: {'a': 1, 'b': 2,}",
        '<think>Action: subtract\nAction Input: {}</think>Thought: add them\nAction: add\nAction Input: {"a": 1, "b": 2}',
        'I add them.\nAction : add\nAction Input : {"a": 1, "b": 2}\n\n',
    ],
)
def test_forms_that_models_write(reply: str) -> None:
    step = read(reply)
    assert (step.action, step.arguments, step.problem, step.notes) == ("add", {"a": 1, "b": 2}, None, ())


def test_what_follows_the_first_action_is_cut_off_and_said() -> None:
    two = f'{ADD}\nObservation: 3\nThought: done\nAction: final_answer\nAction Input: {{"answer": 3}}'
    step = read(two)
    assert step.action == "add"
    assert step.kept == ADD
    assert len(step.notes) == 2
    assert "observation" in step.notes[0]
    assert "only the first action" in step.notes[1]
    chatty = read(f"{ADD}\nI hope that helps!")
    assert chatty.kept == ADD
    assert "after the action was removed" in chatty.notes[0]


def test_labels_in_a_string_of_the_input_are_text() -> None:
    step = read('Action: python\nAction Input: {"code": "print(1)\\n\nAction: add\nObservation: 1"}')
    assert step.action == "python"
    assert "Observation: 1" in step.arguments["code"]
    assert step.notes == ()


@pytest.mark.parametrize(
    ("value", "expected"), [("34", 34), ('"text"', "text"), ("[1, 2]", [1, 2]), ("null", None), ("true", True)]
)
def test_an_input_is_any_json_value(value: str, expected: object) -> None:
    assert read(f"Action: final_answer\nAction Input: {value}").arguments == expected


def test_an_input_that_is_no_json_is_kept_as_text() -> None:
    step = read("Thought: t\nAction: add\nAction Input: one and two\nObservation: 3")
    assert step.action == "add"
    assert step.arguments is NOTHING
    assert step.text == "one and two"
    assert step.kept == "Thought: t\nAction: add\nAction Input: one and two"
    assert step.notes
    for prose in ("[1] is the source", "34 apples", '"a" and "b"'):
        assert read(f"Action: final_answer\nAction Input: {prose}").arguments is NOTHING
    assert read('Action: add\nAction Input: {"a": 1} as asked').arguments == {"a": 1}
    assert read("Action: now\nAction Input:").arguments is NOTHING
    late = read('Action: add\nAction Input: the arguments are {"a": 1}')
    assert late.arguments is NOTHING, "JSON in the middle of prose is not guessed at"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "there was no action"),
        ("The answer is 34.", "there was no action"),
        ("Thought: I know it\nFinal Answer: 34", "call the tool final_answer"),
        ("Thought: t\nAction: add", "has no input"),
        ("Action: add\nThought: then\nAction Input: {}", "has no input"),
        ('Observation: 3\nAction: add\nAction Input: {"a": 1}', "before any action"),
    ],
)
def test_a_reply_without_a_whole_action_calls_nothing(reply: str, said: str) -> None:
    step = read(reply)
    assert step.action is None
    assert said in str(step.problem)


@pytest.mark.parametrize(
    "label",
    [
        f"{' ' * 9}Observation:",
        "\t\t> - ### **__Observation__**:",
        "1. Observation:",
        "Observation 1:",
        "| Observation:",
        "\u200bObservation:",
        "Observation\uff1a",
        "***Observation***:",
    ],
)
@pytest.mark.parametrize("line", ["\n", "\r", "\v", "\x85", "\u2028"])
def test_an_observation_is_one_wherever_a_reader_sees_a_line_of_it(line: str, label: str) -> None:
    step = read(f'Thought: t{line}{label} 42\nAction: add\nAction Input: {{"a": 1}}')
    assert (step.action, step.kept) == (None, "Thought: t")


def test_the_input_is_kept_as_it_was_read() -> None:
    step = read('Action: add\nAction Input: {"a": 1, /*\nObservation: 7\n*/ "b": "\nObservation: 8"}')
    assert step.kept == 'Action: add\nAction Input: {"a": 1, "b": "\\nObservation: 8"}'


@pytest.mark.parametrize(
    ("written", "value", "kept", "notes"),
    [
        ('{"a": 1}', {"a": 1}, '{"a": 1}', 0),
        ('{"a": 1}\nObservation: 7', {"a": 1}, '{"a": 1}', 1),
        ('{"a": 1 /*\nObservation: 7\n*/}', {"a": 1}, '{"a": 1}', 0),
        ("5", 5, '{"input": 5}', 0),
        ('Observation: 7 {"a": 1}', NOTHING, "{}", 1),
        ("oops\nObservation: 7", NOTHING, '{"input": "oops"}', 1),
        ("", NOTHING, "{}", 0),
    ],
)
def test_what_is_kept_of_a_native_call_is_an_object(written: str, value: object, kept: str, notes: int) -> None:
    read_value, read_kept, read_notes = native(written)
    assert (read_value, read_kept, len(read_notes)) == (value, kept, notes)


def test_labels_may_have_numbers() -> None:
    step = read('Thought 1: t\nAction 1: add\nAction Input 1: {"a": 1}\nObservation 1: 2')
    assert (step.thought, step.action, step.arguments) == ("t", "add", {"a": 1})
    assert "observation" in step.notes[0]
    inside = "Thought: the observation: it holds\nAction: add\nAction Input: {}"
    assert read(inside).kept == inside


def test_an_observation_before_the_action_is_not_kept() -> None:
    step = read('Thought: t\nObservation: 3\nAction: add\nAction Input: {"a": 1}')
    assert step.kept == "Thought: t"


@pytest.mark.parametrize(
    "unit",
    [
        "Action:",
        "\nAction:",
        "\nAction Input:",
        '\nAction: a\nAction Input: {"',
        "Observation:\n",
        "* ",
        "\n#* _>\t",
        "<think>",
        "\n1.",
        "\u200b",
    ],
)
def test_reading_takes_linear_time(unit: str) -> None:
    reply = unit * (1_000_000 // len(unit))
    began = time.process_time()
    read(reply)
    assert time.process_time() - began < 5
