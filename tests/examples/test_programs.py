"""Every example runs as it stands, offline, and prints what its docstring says; the README lists all of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rlm_secure.policy import load_policy
from tests.examples.programs import EXAMPLES, promised, run

PROGRAMS = sorted(EXAMPLES.glob("*.py"))
#: What prints nothing by itself, each with what runs it.
USED_BY_OTHERS = {
    "model.py": "every example with a model",
    "mcp_server.py": "mcp_host.py",
    "service.py": "test_service.py",
    "service_client.py": "test_service.py: it needs the service",
}
ALONE = [path for path in PROGRAMS if path.name not in USED_BY_OTHERS]
#: What a user copies as one: folders, the notebook, and programs.
LISTED = {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".ipynb"}} | {"adapters", "ci", "environment"}
LONGEST = 90  # lines of one example


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.name)
def test_the_example_prints_what_it_says(path: Path, tmp_path: Path) -> None:
    done = run(path, tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", promised(path))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_its_docstring_says_how_to_run_it_and_what_it_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert "\n    python examples/" in docstring
    assert promised(path) or path.name in USED_BY_OTHERS
    assert len(text.splitlines()) <= LONGEST


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_whoever_has_a_key_needs_no_change_of_the_program(path: Path) -> None:
    """Only model.py names the backend without a model; what uses it says how to name another."""
    text = path.read_text(encoding="utf-8")
    assert ('"scripted"' in text) == (path.name == "model.py")
    uses = "from model import model" in text
    assert uses == bool(re.search(r"\bRLM\(|ReActAgent\(|CodegenPipeline\(", text)) or path.name == "model.py"
    if uses:
        assert f"\n    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/{path.name} " in text


@pytest.mark.parametrize("path", [EXAMPLES / "invoices.toml", EXAMPLES / "ci" / "policy.toml"], ids=str)
def test_the_policy_loads(path: Path) -> None:
    assert load_policy(path).name == "invoices"


def test_the_readme_has_one_line_for_each() -> None:
    rows = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\) \|", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name.rstrip("/") for name, _ in rows] == [target.rstrip("/") for _, target in rows]
    assert sorted(name.rstrip("/") for name, _ in rows) == sorted(LISTED)
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"} <= LISTED
