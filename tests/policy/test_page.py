"""Pages made from the model: nothing in them is older than the code."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rlm_secure.policy import Policy, load_policy, trace
from rlm_secure.policy.keys import keys
from rlm_secure.policy.page import main, render, schema, show, template, toml
from rlm_secure.resources import policies_dir
from tests.effort import examples
from tests.policy.strategies import FLAT, nested

REWRITE = "it is stale; run: python -m rlm_secure.policy.page policies"


def test_the_template_is_fresh() -> None:
    assert (policies_dir() / "TEMPLATE.toml").read_text() == template(), REWRITE


def test_the_schema_is_fresh() -> None:
    assert json.loads((policies_dir() / "policy.schema.json").read_text()) == schema(), REWRITE


def test_both_are_written_at_once(tmp_path: Path) -> None:
    main(str(tmp_path))
    for name in ("TEMPLATE.toml", "policy.schema.json"):
        assert (tmp_path / name).read_text() == (policies_dir() / name).read_text()


def test_the_template_as_it_is_changes_nothing() -> None:
    assert tomllib.loads(template()) == {name: {} for name in tomllib.loads(template())}
    assert load_policy(policies_dir() / "TEMPLATE.toml").limits == Policy().limits


def test_the_template_with_every_line_switched_on_is_a_policy() -> None:
    lines = [line.removeprefix("# ") for line in template().splitlines() if not line.startswith("##")]
    document = tomllib.loads("\n".join(lines))
    assert document.pop("extends") == "strict"
    policy = load_policy(document)
    assert len(policy.isolation.best_effort) == 1
    assert len(policy.audit.ignore) == 1
    examples = ("isolation.others", "isolation.best_effort", "audit.ignore", "name", "description", "extends")
    assert policy.model_copy(update={"name": "strict"}).limits == Policy().limits
    for key in keys():
        if key not in examples:
            table, _, name = key.partition(".")
            assert getattr(getattr(policy, table), name) == getattr(getattr(Policy(), table), name)


def test_every_key_is_explained_in_the_template() -> None:
    for key in keys().values():
        assert f"\n# {key.dotted.rpartition('.')[2]} = " in template()
        assert " ".join(key.meaning.split()[:6]) in template()


@given(FLAT)
@settings(max_examples=examples(80), deadline=None)
def test_what_is_rendered_loads_as_the_same_policy(
    tmp_path_factory: pytest.TempPathFactory, flat: dict[str, Any]
) -> None:
    policy = load_policy(nested(flat))
    path = tmp_path_factory.getbasetemp() / "rendered.toml"
    path.write_text(render(policy), encoding="utf-8")
    assert load_policy(path) == policy


def test_a_rendered_policy_with_awkward_text_loads_again(tmp_path: Path) -> None:
    policy = load_policy({"description": 'a "quote" \\ tab\t del\x7f é \u2028 end', "data": {"redact": ["a'b", '"']}})
    path = tmp_path / "mine.toml"
    path.write_text(render(policy).replace('name = "custom"\n', ""), encoding="utf-8")
    assert load_policy(path).description == policy.description
    assert load_policy(path).data == policy.data


def test_show_says_where_each_value_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "standard"\n[limits]\ncells = 7\n')
    page = show(trace(path))
    assert f"cells = 7  # {path}:3\n" in page
    assert f"cell_seconds = 120.0  # {policies_dir() / 'standard.toml'}:" in page
    assert "open_files = 16  # default\n" in page
    assert tomllib.loads(page)["limits"]["cells"] == 7
    assert "cells = 7  # <dict>\n" in show(trace({"limits": {"cells": 7}}))


def test_a_value_that_no_policy_has_is_refused() -> None:
    with pytest.raises(TypeError, match="object is not a value of a policy"):
        toml(object())


def test_the_name_of_a_file_writes_no_line_of_a_page(tmp_path: Path) -> None:
    base = tmp_path / "a\nname = 'forged'\n#.toml"
    base.write_text("[limits]\ncell_seconds = 5\n")
    (tmp_path / "mine.toml").write_text(f"extends = {json.dumps(base.name)}\n")
    page = show(trace(tmp_path / "mine.toml"))
    assert "\\nname = 'forged'" in page
    assert not any(line.startswith("name = 'forged'") for line in page.split("\n"))
