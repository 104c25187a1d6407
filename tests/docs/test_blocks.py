"""README.md and the site show real programs, commands and files: each block is run, and compared."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from rlm_secure.cli import parser
from rlm_secure.policy import Policy
from tests.docs.blocks import DOCUMENTS, ROOT, Block, fits, lay_out, read
from tests.docs.needs import NEEDS
from tests.servers import commands

PAGES = {document: read(document) for document in DOCUMENTS}
BLOCKS = [block for blocks in PAGES.values() for block in blocks]
#: What begins a line of a `shell` block, beside our own command, and is not ours to check.
TOOLS = frozenset(
    {
        ".", "apt", "apt-get", "apparmor_parser", "cat", "cd", "cp", "curl", "dnf", "docker", "dockerd", "echo", "export", "git",
        "jupyter", "kubectl", "modal", "pacman", "pip", "pipx", "prime", "pytest", "python", "python3", "ray", "sudo", "sysctl",
        "systemctl", "tee", "unshare", "uv", "uvicorn", "uvx", "e2b",
    }
)  # fmt: skip
SECONDS = 100


def of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language and not (language == "python" and block.title)]


def run(block: Block, folder: Path, command: list[str]) -> tuple[int, str, str]:
    """A command as the reader of a block gives it, in a folder with the page's files: its exit code, stdout and stderr."""
    lay_out(PAGES[block.document], block, folder)
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | {"NO_COLOR": "1"}
    with ExitStack() as machine:
        for need in block.test.needs:
            kept |= machine.enter_context(NEEDS[need](block.test.replies))
        if command[:1] == ["rlm-secure"] and "process" not in block.test.needs:
            done = commands.run(command[1:], env=kept, cwd=folder, timeout=SECONDS)
        elif "process" not in block.test.needs and command[:1] == ["python"] and len(command) == 2:
            done = commands.run_file(folder / command[1], env=kept, cwd=folder, timeout=SECONDS)
        else:
            if command[:1] == ["rlm-secure"]:
                command = ["python", "-m", "rlm_secure", *command[1:]]
            words = [sys.executable, *command[1:]] if command[0] == "python" else command
            done = subprocess.run(words, env=kept, cwd=folder, timeout=SECONDS, capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_a_program_prints_what_it_says(block: Block, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(block.text, encoding="utf-8")
    code, out, err = run(block, tmp_path, ["python", "program.py"])
    assert (code, err if code == 0 else "") == (block.test.exit, ""), err
    assert fits(out, block.printed()), f"{out}\nis not what {block} says:\n{block.printed()}"


@pytest.mark.parametrize("block", of("console"), ids=str)
def test_a_transcript_is_what_the_commands_print(block: Block, tmp_path: Path) -> None:
    assert block.commands(), f"{block} has no line that begins with '$ '"
    for command, output in block.commands():
        words = shlex.split(command)
        assert words[0] in ("rlm-secure", "python", "pytest"), command
        _, out, err = run(block, tmp_path, words)
        assert fits(out + err, output), f"{out}{err}\nis not what {block} says of {command}:\n{output}"


@pytest.mark.parametrize("block", of("shell"), ids=str)
def test_commands_to_copy_exist(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay_out(PAGES[block.document], block, tmp_path)
    monkeypatch.chdir(tmp_path)
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for line in block.text.replace("\\\n", " ").splitlines():
        assert not line.startswith("$"), "a line to copy has no prompt"
        for part in re.split(r"\s(?:&&|\|)\s", line.partition(" #")[0]):
            words = [word for word in shlex.split(part.rstrip(" &")) if not re.match(r"[A-Z_]+=", word)]
            if not words or words[0].startswith("#"):
                continue
            for names in re.findall(r"rlm-secure\[([\w,]+)\]", part):
                assert set(names.split(",")) <= extras, f"{block}: {part}"
            if words[0] == "rlm-secure":
                checked(words[1:], block)
            elif words[0] == "make":
                assert [word for word in words[1:] if "=" not in word and word not in targets] == [], f"{block}: {part}"
            else:
                assert words[0] in TOOLS or (ROOT / words[0]).is_file(), f"{block}: {words[0]} is no command that is known"


@pytest.mark.parametrize("block", [each for each in of("shell") if each.below is not None], ids=str)
def test_commands_to_copy_print_what_stands_below_them(block: Block, tmp_path: Path) -> None:
    printed = ""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        assert words[0] in ("rlm-secure", "python"), f"{block}: a test does not run {line}"
        _, out, err = run(block, tmp_path, words)
        printed += out + err
    assert block.below is not None and fits(printed, block.below), f"{printed}\nis not what {block} shows:\n{block.below}"


def checked(words: list[str], block: Block) -> None:
    """Fail where the program does not take these arguments."""
    if "arena" in words[:1] and "--" in words:
        words = [*words[: words.index("--")], "--", "true"]
    try:
        parser().parse_args(words)
    except SystemExit as ended:
        assert ended.code == 0, f"{block}: rlm-secure {shlex.join(words)}"


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_a_policy_loads(block: Block, tmp_path: Path) -> None:
    lay_out(PAGES[block.document], block, tmp_path)
    data = tomllib.loads(block.text)
    if not block.title or "policy" in block.title:
        Policy.load(data)


@pytest.mark.parametrize("block", [*of("yaml"), *of("json")], ids=str)
def test_a_file_is_well_formed(block: Block) -> None:
    assert (json.loads if block.language == "json" else yaml.safe_load)(block.text)


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "python" and each.title], ids=str)
def test_a_file_of_a_page_compiles(block: Block) -> None:
    compile(block.text, block.title, "exec")


def test_there_is_something_to_check() -> None:
    for language in ("python", "console", "shell", "toml"):
        assert of(language), language


def test_what_is_wrong_is_caught(tmp_path: Path) -> None:
    assert not fits("2\n", "1\n")
    assert fits("a 12 b\n", "a ... b\n")
    page = tmp_path / "page.md"
    for text, wrong in (("```pascal\n```\n", "pascal"), ("```python\n", "close each"), ("<!-- test\nneed: x\n-->\n```python\n```\n", "need")):
        page.write_text(text)
        with pytest.raises(ValueError, match=wrong):
            read(page)
