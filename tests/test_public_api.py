"""The library's face: what `from rlm_secure import ...` offers, and that nothing leaves or joins it unseen."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlm_secure
from rlm_secure import (
    RLM,
    AsyncSandbox,
    ClientBackend,
    EnvironmentType,
    Event,
    Policy,
    Sandbox,
    errors,
    events,
    load_policy,
)
from rlm_secure.environments import REPL, AuditSink

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


def test_every_event_and_every_section_of_a_policy_is_exported() -> None:
    kinds = {name for name, value in vars(events).items() if isinstance(value, type) and issubclass(value, Event)}
    sections = {type(getattr(load_policy("strict"), name)).__name__ for name in Policy.model_fields} - {"str", "NoneType"}
    assert len(kinds) > 10 and len(sections) > 5
    assert (kinds | sections) - set(rlm_secure.__all__) == set()


#: What signatures of exported classes name and users import from elsewhere, or never, with why.
NOT_AT_THE_TOP = {
    "AuditSink": "what AuditLog is, for the few who write another",
    "Client": "for authors of clients, in rlm_secure.clients; the loop's own complete_in() takes one",
    "Decided": "the part of a gate's decision that an error keeps; nobody makes one",
    "Redactor": "for what AuditLog shall redact besides: rlm_secure.logger, with its functions",
    "RunConfig": "a snapshot of RLM's own attributes, for the loop",
    "Session": "for authors of environments; a sandbox makes its SessionFiles with one",
    "Trajectory": "what RLMLogger keeps; a completion shows it as a dict, whole",
    "Tree": "for the loop: complete_in() takes one",
}


def named(annotation: object) -> Iterator[type]:
    """Every class of the package in an annotation."""
    if isinstance(annotation, type) and annotation.__module__.split(".")[0] == "rlm_secure":
        yield annotation
    for argument in typing.get_args(annotation):
        yield from named(argument)
    if isinstance(annotation, list | tuple):  # the arguments of a Callable
        for each in annotation:
            yield from named(each)


#: What signatures name and their modules do not import: it takes longer than the first session.
LATE = {name: getattr(rlm_secure, name) for name in rlm_secure.__all__} | {"AuditSink": AuditSink, "Path": Path, "REPL": REPL}


def annotations(kind: type) -> Iterator[type]:
    """Every class of the package in the fields, properties and public methods of an exported class."""
    for base in kind.__mro__:
        if base.__module__.split(".")[0] != "rlm_secure":
            continue
        found = [base, *(value for name, value in vars(base).items() if name == "__init__" or not name.startswith("_"))]
        for value in found:
            value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(value, type) or inspect.isfunction(value):
                for annotation in typing.get_type_hints(value, localns=LATE).values():
                    yield from named(annotation)


def test_what_an_exported_signature_names_is_exported() -> None:
    exported = [getattr(rlm_secure, name) for name in rlm_secure.__all__]
    wanted = {each.__name__ for kind in exported if isinstance(kind, type) for each in annotations(kind)}
    assert len(wanted) > 20
    assert wanted - set(rlm_secure.__all__) - NOT_AT_THE_TOP.keys() == set()
    assert NOT_AT_THE_TOP.keys() - wanted == set(), "no longer named"


@pytest.mark.parametrize("opened", [RLM, Sandbox, AsyncSandbox])
def test_editors_complete_the_names_of_backends_and_environments(opened: type) -> None:
    hints = typing.get_type_hints(opened.__init__, localns=LATE)
    expected = {"environment": EnvironmentType | str, "backend": ClientBackend | str}
    assert {name: hints[name] for name in expected if name in hints} == {
        name: hint for name, hint in expected.items() if name in hints
    }
    assert "environment" in hints


def test_type_checkers_see_what_is_imported_on_first_use() -> None:
    tree = ast.parse(Path(rlm_secure.__file__).read_text(encoding="utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == rlm_secure._LAZY


def test_every_error_has_one_root() -> None:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert [error for error in found if not issubclass(error, errors.RLMSecureError)] == []
    drawn = errors.__doc__ or ""
    assert [error.__name__ for error in found if error.__name__ not in drawn] == []


def test_importing_the_package_is_quiet_and_imports_no_sdk() -> None:
    heavy = ("openai", "docker", "modal", "e2b", "daytona", "anthropic", "numpy", "pandas")
    program = f"import rlm_secure, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=150)
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
