"""What the text of a policy says before it is checked: never more than the policy allows, and nothing where it is odd."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import PolicyError
from rlm_secure.policy import Policy, load_policy, peek, toml
from rlm_secure.resources import policy_names


def test_each_shipped_policy_allows_sessions_of_this_machine() -> None:
    for name in policy_names():
        assert peek.may_be_local(name)
        assert "local" in load_policy(name).isolation.environments


@pytest.mark.parametrize(
    ("tables", "local"),
    [
        ({}, True),
        ({"extends": "standard", "limits": {"cell_seconds": 5.0}}, True),
        ({"isolation": {"checkpoints": False}}, True),
        ({"isolation": {"environments": ["docker", "local"]}}, True),
        ({"isolation": {"environments": ("local",)}}, True),
        ({"isolation": {"environments": ["docker"]}}, False),
        ({"extends": "data", "isolation": {"environments": ["e2b"]}}, False),
        ({"isolation": {"environments": []}}, False),
        ({"isolation": {"environments": "local"}}, False),
        ({"isolation": {"environments": 7}}, False),
        ({"isolation": ["local"]}, False),
        ({"extends": "./other.toml"}, False),
        ({"extends": ["standard"]}, False),
    ],
)
def test_a_mapping_and_a_file_say_it_as_they_load(tables: Mapping[str, Any], local: bool, tmp_path: Path) -> None:
    lines = [f"extends = {tables['extends']!r}"] if "extends" in tables else []
    for table, values in tables.items():
        if isinstance(values, dict):
            lines += [f"[{table}]", *(f"{key} = {_toml(each)}" for key, each in values.items())]
        elif table != "extends":
            lines.append(f"{table} = {values!r}")
    file = tmp_path / "own.toml"
    file.write_text("\n".join(lines))
    for ref in (tables, file, str(file)):
        assert peek.may_be_local(ref) is local
        try:
            allowed = "local" in load_policy(ref).isolation.environments
        except PolicyError:
            continue
        assert allowed is local


def _toml(item: Any) -> str:
    return {True: "true", False: "false"}[item] if isinstance(item, bool) else repr(list(item) if isinstance(item, tuple) else item)


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"[", b"x" * (toml.MOST_BYTES + 1), b"a" + b"." * 100 + b"b = 1", b"x = " + b"[" * 100]
)
def test_a_file_that_is_no_policy_says_nothing(text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_bytes(text)
    assert not peek.may_be_local(file)


def test_what_leads_to_no_file_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for ref in (tmp_path / "pipe.toml", tmp_path, tmp_path / "none.toml", "strickt", "", "nul\0.toml", None, 7, b"strict"):
        assert not peek.may_be_local(ref)


def test_a_policy_that_is_checked_already_is_not_looked_at() -> None:
    assert not peek.may_be_local(Policy())
