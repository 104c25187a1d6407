"""README.md shows real programs and real output: each block is run, and compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rlm_secure.registry import ENVIRONMENTS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line it begins at."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """Every fenced block."""
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start()) + 1)
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def commands(block: Block) -> list[tuple[str, str]]:
    """The `$ command` lines of a console block, each with the output below it."""
    parts = re.split(r"^\$ (.+)$\n?", block.text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program as a reader would, output piped, both streams together."""
    return subprocess.run(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
    )


PROGRAMS = [block for block in blocks(TEXT) if block.language == "python"]
TRANSCRIPTS = [
    pytest.param(command, output, id=f"line {block.line}: {command}")
    for block in blocks(TEXT)
    if block.language == "console"
    for command, output in commands(block)
]


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: f"line {block.line}")
def test_python_blocks_run_and_print_what_their_comments_say(block: Block) -> None:
    done = run(sys.executable, "-c", block.text)
    printed = re.findall(r"^print\(.*?\)  # (.*)$", block.text, re.MULTILINE)
    assert (done.returncode, done.stdout.splitlines()) == (0, printed)


@pytest.mark.parametrize(("command", "output"), TRANSCRIPTS)
def test_transcripts_are_what_the_command_prints(command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "rlm-secure"
    assert run(sys.executable, "-m", "rlm_secure", *arguments).stdout == output


def test_there_is_something_to_check() -> None:
    shown = {command.values[0] for command in TRANSCRIPTS}
    assert {f"rlm-secure {name} --help" for name in ("run", "exec", "demo", "doctor", "audit", "explain", "policy")} <= shown
    assert len(PROGRAMS) >= 1
    assert any("open(" in command for command in shown), "the first screen shows a denial"


def test_the_first_program_has_ten_lines() -> None:
    assert len([line for line in PROGRAMS[0].text.splitlines() if line.strip()]) <= 10


def test_the_environments_are_those_that_there_are() -> None:
    section = TEXT.split("## Where cells run")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(ENVIRONMENTS)


def test_links_inside_the_repository_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT)
    assert links != []
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_a_wrong_transcript_is_caught() -> None:
    command, output = commands(Block("console", "$ rlm-secure --version\nrlm-secure 0.0.0-none\n", 1))[0]
    assert command == "rlm-secure --version"
    assert run(sys.executable, "-m", "rlm_secure", "--version").stdout != output
