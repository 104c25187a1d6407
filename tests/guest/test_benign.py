"""Cells in the style that models write: each prints, in a session of the default policy, what plain Python prints."""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker.protocol import Call
from rlm_secure.environments import REPL
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellException
from rlm_secure.removal import Scratch
from tests.corpus import plain

CORPUS = Path(__file__).parents[1] / "corpus"
CELLS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((CORPUS / "benign").glob("*.py"))}
EXCEPTIONS: dict[str, str] = tomllib.loads((CORPUS / "EXCEPTIONS.toml").read_text(encoding="utf-8"))


def _context() -> str:
    """A document with headings, prose, addresses and a log; the same every time."""
    dice = random.Random(11)
    users, actions = ["alice", "bob", "carol", "dave"], ["login", "upload", "search", "logout"]
    modules = ["auth.session", "net.http", "disk.cache", "worker.pool"]
    text = [
        "# Operations report", "", "The service ran for two days. Most requests were fast, and a few were not! Who is affected?",
        "Write to ops@example.com, alice.smith@example.com or night-shift@support.example.org for details.", "",
        "## Background", "", "Every request is logged with its user, its action and the time that it took. The disk cache was",
        "replaced on the first day; timeouts became rarer after that. Nothing else changed between the two days.", "",
        "## Log", "",
    ]  # fmt: skip
    clock = 0
    for number in range(240):
        clock += dice.randint(1, 600)
        day, hour, minute, second = 1 + clock // 86_400, clock // 3_600 % 24, clock // 60 % 60, clock % 60
        level = dice.choices(["INFO", "DEBUG", "WARNING", "ERROR"], [60, 20, 12, 8])[0]
        stamp = f"2024-05-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"
        detail = {
            "ERROR": f"request failed after timeout of {dice.randint(1, 9)}s",
            "WARNING": f"slow disk, {dice.randint(1, 99)} blocks pending",
        }.get(level, "request served")
        text.append(
            f"{stamp} {level} [{dice.choice(modules)}] {detail} user={dice.choice(users)} action={dice.choice(actions)} "
            f"status={dice.choice([200, 200, 200, 304, 404, 500])} took {dice.randint(3, 900)}ms bytes={dice.randint(0, 9999)}"
        )
        if number % 60 == 59:
            text += [
                "",
                f"### Block {number // 60 + 1}",
                "",
                f"Sixty more requests were written. The block ends at {stamp}.",
                "",
            ]
    return "\n".join(text)


CONTEXT = _context()


def as_plain(cells: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What each cell prints as plain Python, and the class of the exception that ends it, or ""."""
    given = json.dumps({"context": CONTEXT, "cells": cells})
    script = str(CORPUS / "plain.py")
    command = [sys.executable, "-I", script]
    with Scratch() as folder:  # a cell that expects a missing file must not find one of ours
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, cwd=folder)
    return {name: (printed, ended) for name, (printed, ended) in json.loads(done.stdout).items()}


@functools.cache
def _expected() -> dict[str, tuple[str, str]]:
    return as_plain(CELLS)


def _model(call: Call) -> Any:
    replies = [plain.reply(prompt) for prompt in call.prompts]
    return replies if call.kind.endswith("_batched") else replies[0]


def as_cell(source: str) -> tuple[str, str]:
    """The same of a cell, in a session of the policy that holds where nobody chose one."""
    repl = REPL(create_environment("local"), calls=_model, context_payload=CONTEXT)
    try:
        result = repl.execute_code(source)
    finally:
        repl.cleanup()
    if result.error is None:
        return result.stdout, ""
    if type(result.error) is CellException:
        return result.stdout, str(result.error).partition(":")[0]
    return result.stdout, f"{type(result.error).__name__}: {result.error}"


ENDS = {
    "print(len(context))": "",
    "print(llm_query('a'), llm_query_batched(['b'])); {}['x']": "KeyError",
    "class Own(Exception): pass\nprint(1)\nraise Own('no: really')": "Own",
    "print(1)\nraise SystemExit(3)": "SystemExit",
}


def test_both_sides_tell_what_was_printed_and_how_it_ended() -> None:
    expected = as_plain({source: source for source in ENDS})
    assert {source: ended for source, (_, ended) in expected.items()} == ENDS
    assert all(printed for printed, _ in expected.values())
    assert {source: as_cell(source) for source in ENDS} == expected


def test_a_refusal_is_no_exception_of_the_cell() -> None:
    _, ended = as_cell("print(1)\nprint(__import__)")
    assert ended.startswith("CellRefused: ")


@pytest.mark.parametrize("name", [name for name in CELLS if name not in EXCEPTIONS])
def test_a_benign_cell_prints_and_ends_as_in_plain_python(name: str) -> None:
    expected = _expected()[name]
    assert "".join(expected).strip()
    assert as_cell(CELLS[name]) == expected


def test_every_listed_exception_still_differs() -> None:
    alike = [name for name in EXCEPTIONS if as_cell(CELLS[name]) == _expected()[name]]
    assert not alike, "these are as in plain Python now: take them off tests/corpus/EXCEPTIONS.toml"


def test_the_corpus_is_large_and_its_exceptions_are_few() -> None:
    assert len(CELLS) >= 400
    assert len(EXCEPTIONS) <= 0.02 * len(CELLS)
    assert all(reason.strip().endswith(".") for reason in EXCEPTIONS.values())
