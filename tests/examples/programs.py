"""What the tests of the examples share: where they are, what each promises to print, and how one is run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.servers import commands

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: Variables that would have an example ask a real model, or spend somebody's money.
OURS = ("RLM_SECURE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_BASE")
#: What runs in a new interpreter: one example of each kind, and what starts interpreters itself.
FRESH = ("untrusted_python.py", "typed_answer.py", "mcp_host.py", "service_client.py")


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
    """Run an example as a user does, in `folder`; most in a process that has imported the package already."""
    if path.name not in FRESH:
        forked = commands.run_file(path, *arguments, env=environment(**variables), cwd=folder, timeout=100)
        return subprocess.CompletedProcess(forked.args, forked.returncode, forked.stdout.decode(), forked.stderr.decode())
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        env=environment(**variables),
    )
