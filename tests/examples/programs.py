"""What the tests of the examples share: where they are, what each promises to print, and how one is run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: Variables that would have an example ask a real model, or spend somebody's money.
OURS = ("RLM_SECURE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_BASE")


def promised(path: Path) -> str:
    """What the docstring says under "prints:"; empty where it says nothing."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, _, block = docstring.partition("prints:\n\n")
    return textwrap.dedent(block.split("\n\n")[0]).strip() + "\n" if block else ""


def environment(**more: str) -> dict[str, str]:
    """The environment of an example: this process's, without the keys of anybody."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name not in OURS}
    return {**kept, **more}


def run(path: Path, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run an example as a user does, in `folder`."""
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        env=environment(**variables),
    )
