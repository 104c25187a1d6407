"""Every example runs as it stands, offline, and prints what its docstring says."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rlm_secure.policy import load_policy

EXAMPLES = Path(__file__).parents[1] / "examples"


def promised(path: Path) -> str:
    """What the docstring says under "prints:"."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, _, block = docstring.partition("prints:\n\n")
    return textwrap.dedent(block.split("\n\n")[0]).strip() + "\n"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_prints_what_it_says(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", promised(path))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_the_policy_loads(path: Path) -> None:
    assert load_policy(path).name == path.stem


def test_there_are_examples() -> None:
    assert len(list(EXAMPLES.glob("*.py"))) >= 4
