"""The table of keys, the module list and the shipped files say the same as the code."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from rlm_secure.guarantees import Wall
from rlm_secure.guest.language import imports
from rlm_secure.policy import Policy, load_policy
from rlm_secure.policy.compare import diff
from rlm_secure.policy.keys import ORDERS, keys, sections, value
from rlm_secure.policy.model import KNOWN_MODULES, MODULES, Language
from rlm_secure.registry import LOCAL_WALLS
from rlm_secure.resources import policies_dir, policy_file, policy_names


def test_every_key_has_an_order_a_meaning_and_a_kind() -> None:
    assert list(ORDERS) == list(keys())
    for key in keys().values():
        assert key.meaning.endswith(".") or key.meaning.endswith("`."), key.dotted
        assert key.expected


def test_every_table_says_what_it_is_about() -> None:
    assert list(sections()) == ["language", "guardrails", "limits", "isolation", "network", "lm", "data", "audit"]
    assert all(text.endswith(".") for text in sections().values())


def test_policies_name_exactly_the_modules_that_have_a_facade() -> None:
    assert set(KNOWN_MODULES) == imports.NAMES
    assert list(KNOWN_MODULES) == sorted(KNOWN_MODULES)


def test_strict_is_the_default_and_writes_everything_out() -> None:
    written = tomllib.loads(policy_file("strict").read_text())
    assert diff(Policy(), load_policy("strict")) == ()
    for key in keys():
        found: Any = written
        for part in key.split("."):
            if key != "extends":
                found = found[part]


def test_each_shipped_policy_is_tighter_than_the_next() -> None:
    strict, standard, data, research = (load_policy(name) for name in ("strict", "standard", "data", "research"))
    assert {change.effect.value for change in diff(standard, strict)} == {"stronger"}
    assert {change.effect.value for change in diff(research, standard)} == {"stronger"}
    assert {change.effect.value for change in diff(data, standard)} == {"stronger"}
    assert {change.key for change in diff(data, standard)} == {
        "language.modules", "isolation.best_effort", "limits.memory_bytes",
    }  # fmt: skip


@pytest.mark.parametrize("name", policy_names())
def test_no_shipped_policy_opens_a_wall(name: str) -> None:
    policy = load_policy(name)
    accepted = policy.isolation.best_effort
    assert [each.wall for each in accepted] == ([Wall.LANGUAGE] if name == "data" else [])
    assert policy.isolation.model_copy(update={"best_effort": ()}) == Policy().isolation
    assert not policy.network.ingress
    assert policy.limits.processes == 0
    assert policy.audit.ignore == ()
    assert set(policy.isolation.local) == set(LOCAL_WALLS)
    assert {Wall.SECCOMP, Wall.RLIMITS, Wall.NO_NEW_PRIVS} <= set(policy.isolation.required("docker"))


@pytest.mark.parametrize("name", policy_names())
def test_every_shipped_policy_has_every_module(name: str) -> None:
    language = load_policy(name).language
    assert language.modules == (MODULES if name == "data" else KNOWN_MODULES)
    assert language.packages == (("matplotlib", "numpy", "pandas") if name == "data" else ())


@pytest.mark.parametrize("name", ["matplotlib", "pandas"])
def test_with_a_package_comes_numpy(name: str) -> None:
    assert Language(modules=(name, "re")).packages == tuple(sorted((name, "numpy")))


def test_no_key_can_bring_back_open_or_import() -> None:
    assert not [key for key in keys() if "builtin" in key or "open" in key.replace("open_files", "")]


@pytest.mark.parametrize("name", [*policy_names(), "TEMPLATE"])
def test_the_shipped_files_fit_the_shipped_schema(name: str) -> None:
    schema = json.loads((policies_dir() / "policy.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = tomllib.loads((policies_dir() / f"{name}.toml").read_text())
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "document",
    [{"limits": {"cells": 0}}, {"limit": {}}, {"language": {"modules": ["shutil"]}}, {"isolation": {"local": ["x"]}}],
)
def test_the_schema_refuses_what_the_loader_refuses(document: dict[str, Any]) -> None:
    schema = json.loads((policies_dir() / "policy.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_best_effort_takes_a_wall_off_the_required_ones() -> None:
    policy = load_policy({"isolation": {"best_effort": [{"wall": "landlock", "reason": "an old kernel"}]}})
    assert set(LOCAL_WALLS) - set(policy.isolation.required("local")) == {Wall.LANDLOCK}
    assert value(policy, "isolation.local") == LOCAL_WALLS
