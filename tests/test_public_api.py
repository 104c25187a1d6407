"""The library's face: what `from rlm_secure import ...` offers, and that nothing leaves or joins it unseen."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rlm_secure
from rlm_secure import errors

#: Added to on purpose only: whatever is here is promised.
OURS = {
    "RLM",
    "Sandbox",
    "Policy",
    "EnforcementReport",
    "Guarantee",
    "Wall",
}


def test_all_is_sorted_complete_and_importable() -> None:
    names = rlm_secure.__all__
    assert list(names) == sorted(names)
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(rlm_secure, name)] == []


def test_the_promised_names_are_there() -> None:
    assert OURS - set(rlm_secure.__all__) == set()


def test_every_error_is_exported() -> None:
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert defined - set(rlm_secure.__all__) == set()


def test_every_error_has_one_root() -> None:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert [error for error in found if not issubclass(error, errors.RLMSecureError)] == []
    drawn = errors.__doc__ or ""
    assert [error.__name__ for error in found if error.__name__ not in drawn] == []


def test_importing_the_package_is_quiet_and_imports_no_sdk() -> None:
    heavy = ("openai", "docker", "modal", "e2b", "daytona", "anthropic", "numpy", "pandas")
    program = f"import rlm_secure, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("rlm_secure.clients", ["get_client"]),
        ("rlm_secure.environments", ["get_environment"]),
        ("rlm_secure.logger", ["RLMLogger", "VerbosePrinter"]),
        (
            "rlm_secure.types",
            [
                "CodeBlock",
                "ModelUsageSummary",
                "QueryMetadata",
                "REPLResult",
                "RLMChatCompletion",
                "RLMIteration",
                "RLMMetadata",
                "UsageSummary",
            ],
        ),
        ("rlm_secure.rlm.parsing", ["find_code_blocks", "find_final_answer", "format_execution_result", "format_iteration"]),
        ("rlm_secure.rlm.prompts", ["build_rlm_system_prompt", "build_user_prompt"]),
        ("rlm_secure.rlm.handler", ["LMHandler"]),
    ],
)  # fmt: skip
def test_upstream_names_are_where_this_package_keeps_them(module: str, names: list[str]) -> None:
    loaded = __import__(module, fromlist=names)
    assert [name for name in names if not hasattr(loaded, name)] == []
