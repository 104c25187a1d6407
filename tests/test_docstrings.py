"""Everything that is public is documented, where the site's reference finds it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

griffe = pytest.importorskip("griffe")  # reads docstrings for the site: group `docs`

ROOT = Path(__file__).parents[1]
#: The packages of the reference in docs/generate.py, and what is below them that documents name.
PUBLIC = (
    "rlm_secure",
    "rlm_secure.agents",
    "rlm_secure.agents.tables",
    "rlm_secure.audit",
    "rlm_secure.clients",
    "rlm_secure.environments",
    "rlm_secure.logger",
    "rlm_secure.policy",
    "rlm_secure.testing",
    "rlm_secure.tools",
)
#: Classes whose attributes need no text, with why.
SAID_ELSEWHERE = {
    "rlm_secure.policy.model.Policy": "each table of a policy is documented by its own class, and by the page of all keys",
}


@pytest.fixture(scope="module")
def package() -> Any:
    return griffe.load("rlm_secure", search_paths=[str(ROOT)], allow_inspection=False)


def public(package: Any) -> Iterator[Any]:
    """Each object that a public package exports, where it is defined."""
    seen: set[str] = set()
    for name in PUBLIC:
        module = package if name == package.path else package[name.removeprefix("rlm_secure.")]
        for exported in importlib.import_module(name).__all__:
            found = module.members[exported]
            found = found.final_target if found.is_alias else found
            if found.path not in seen:
                seen.add(found.path)
                yield found


def named(owner: Any, name: str) -> bool:
    """Whether a class, or one of its bases, says in its own docstring what `name` is."""
    texts = [each.docstring.value for each in (owner, *owner.mro()) if each.docstring]
    return any(re.search(rf"`{re.escape(name)}\b[^`]*`", text) for text in texts)


def undocumented(found: Any) -> list[str]:
    """The object, and its public methods, properties and attributes, as far as they say nothing of themselves."""
    missing = [] if found.docstring else [found.path]
    if not found.is_class or found.path in SAID_ELSEWHERE or any("Enum" in str(base) for base in found.bases):
        return missing  # the members of an enumeration are words
    for name, member in found.members.items():
        if name.startswith("_") or member.is_alias or not (member.is_function or member.is_attribute):
            continue
        inherited = any(name in base.members and base.members[name].docstring for base in found.mro())
        said = member.is_attribute and (named(found, name) or "description=" in str(member.value))
        if not (member.docstring or inherited or said):
            missing.append(member.path)
    return missing


def test_all_that_is_public_says_what_it_is(package: Any) -> None:
    everything = list(public(package))
    assert len(everything) > 150
    assert [path for found in everything for path in undocumented(found)] == []


def test_what_needs_no_text_is_there(package: Any) -> None:
    assert SAID_ELSEWHERE.keys() - {found.path for found in public(package)} == set()


def test_what_says_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(
        "class A:\n"
        "    '''Has `told`.'''\n"
        "    told: int\n"
        "    silent: int\n"
        "    said: int\n"
        "    '''It is said.'''\n"
        "    def method(self): ...\n"
        "class B(A):\n"
        "    told: int\n"
        "    def said(self): ...\n"
    )
    module = griffe.load("silent", search_paths=[str(tmp_path)], allow_inspection=False)
    assert undocumented(module["A"]) == ["silent.A.silent", "silent.A.method"]
    assert undocumented(module["B"]) == ["silent.B"]
