"""Cells in the style of notebooks: each does, under the policy `data`, what plain Python with the same packages does.

It prints the same, ends alike, and writes the same files; plain Python reads and writes in a folder of its own.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import subprocess
import sys
import tomllib
from typing import Any, NamedTuple

import pytest

from rlm_secure.broker.protocol import Call
from rlm_secure.environments import REPL
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellException
from rlm_secure.removal import Scratch
from tests.corpus import plain
from tests.guest.test_benign import CONTEXT, CORPUS
from tests.packages.inputs import files
from tests.share import share

#: The first test runs each cell in plain Python: a minute, and several on a busy machine.
pytestmark = pytest.mark.timeout(600)
CELLS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((CORPUS / "data").glob("*.py"))}
EXCEPTIONS: dict[str, str] = tomllib.loads((CORPUS / "EXCEPTIONS-data.toml").read_text(encoding="utf-8"))
FILES = files()
#: Four pushes share them.
NAMES = share([name for name in CELLS if name not in EXCEPTIONS], 4)
#: What a cell shows has no file in plain Python, and a figure as SVG has random names in it.
SHOWN, UNEQUAL = "figure-", ".svg"


class Outcome(NamedTuple):
    """What a cell did: `ended` is the class of the exception that ended it, or "", `files` what it wrote."""

    printed: str
    ended: str
    files: dict[str, bytes]
    stderr: str = ""

    def comparable(self) -> tuple[str, str, dict[str, bytes]]:
        kept = {name: data for name, data in self.files.items() if not name.startswith(SHOWN)}
        return self.printed, self.ended, {name: b"" if name.endswith(UNEQUAL) else data for name, data in kept.items()}


@functools.cache
def expected() -> dict[str, Outcome]:
    given = {
        "context": CONTEXT, "cells": {name: CELLS[name] for name in (*NAMES, *EXCEPTIONS)}, "files": FILES, "imports": ["numpy", "pandas", "matplotlib.pyplot"],
        "absent": ["pyarrow", "openpyxl"],  # which sessions do not have
    }  # fmt: skip
    command = [sys.executable, "-I", str(CORPUS / "plain.py")]
    with Scratch() as folder:
        surroundings = {**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=True, cwd=folder, env=surroundings
        )
    return {
        name: Outcome(printed, ended, {each: base64.b64decode(data) for each, data in written.items()}, stderr)
        for name, (printed, ended, written, stderr) in json.loads(done.stdout).items()
    }


def _model(call: Call) -> Any:
    replies = [plain.reply(prompt) for prompt in call.prompts]
    return replies if call.kind.endswith("_batched") else replies[0]


@functools.cache
def found(name: str) -> Outcome:
    repl = REPL(create_environment("local"), policy="data", calls=_model, context_payload=CONTEXT)
    try:
        for each, text in FILES.items():
            repl.files[each] = text
        result = repl.execute_code(CELLS[name])
    finally:
        repl.cleanup()
    ended = ""
    if type(result.error) is CellException:
        ended = str(result.error).partition(":")[0]
    elif result.error is not None:
        ended = f"{type(result.error).__name__}: {result.error}"
    return Outcome(result.stdout, ended, dict(result.files), result.stderr)


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_cell_does_what_it_does_in_plain_python(name: str) -> None:
    wanted = expected()[name]
    assert wanted.printed
    assert found(name).comparable() == wanted.comparable()


@pytest.mark.parametrize("name", NAMES)
def test_an_honest_cell_warns_of_nothing(name: str) -> None:
    outcome = found(name)
    if not outcome.ended:
        assert outcome.stderr == ""
    assert sys.prefix not in outcome.stderr
    assert "rlm_secure" not in outcome.stderr


def test_every_listed_exception_still_differs() -> None:
    alike = [name for name in EXCEPTIONS if found(name).comparable() == expected()[name].comparable()]
    assert not alike, "these are as in plain Python now: take them off tests/corpus/EXCEPTIONS-data.toml"


def test_the_corpus_is_large_and_its_exceptions_are_few() -> None:
    assert len(CELLS) >= 150
    assert len(EXCEPTIONS) <= 0.02 * len(CELLS)
    assert all(reason.strip().endswith(".") for reason in EXCEPTIONS.values())
