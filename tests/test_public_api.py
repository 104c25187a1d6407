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


#: Names of two public classes of the host, with why both keep theirs.
SHARED_NAMES = {
    "Session": "an adapter of somebody else's is written against testing.session, and knows nothing of environments",
    "Limits": "the same: what an adapter is told of a policy, in testing.adapter",
    "Target": "what an attack is aimed at, and what an audit looks at: packages that know nothing of each other",
}


def test_no_two_public_classes_share_a_name() -> None:
    """In the host. Those of the guest mirror some of them: it ships without the host."""
    package = Path(rlm_secure.__file__).parent
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).parts[0]
        # Modules of compat have the names of upstream's classes: that is what they are for.
        if inside in ("guest", "compat", "_data"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.relative_to(package).as_posix())
    shared = {name: files for name, files in found.items() if len(files) > 1}
    assert {name: files for name, files in shared.items() if name not in SHARED_NAMES} == {}
    assert SHARED_NAMES.keys() - shared.keys() == set(), "no longer shared"
