"""Shipped policies read without their model are equal to the model's, and only those whose text was tested."""

from __future__ import annotations

import copy
import hashlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from rlm_secure import resources
from rlm_secure.errors import PolicyError
from rlm_secure.policy import Policy, load, load_policy, shipped
from rlm_secure.policy.keys import keys, value
from rlm_secure.registry import ENVIRONMENTS
from rlm_secure.resources import policies_dir, policy_file, policy_names


def test_each_is_known_by_its_text() -> None:
    made = {name: hashlib.sha256(policy_file(name).read_bytes()).hexdigest() for name in policy_names()}
    assert made == shipped.TESTED, "once these tests pass for the new text, write its sha256 into TESTED"


@pytest.mark.parametrize("name", policy_names())
def test_each_has_the_models_values(name: str) -> None:
    light, model = shipped.policy(name), load_policy(name)
    assert type(light) is not Policy
    for key in keys():
        ours, theirs = value(light, key), value(model, key)
        assert ours == theirs, key
        assert repr(ours) == repr(theirs), key  # 1 and 1.0 and True are equal; lists and tuples print differently
    assert light.language.packages == model.language.packages
    for environment in (*ENVIRONMENTS, "of somebody else"):
        assert light.isolation.required(environment) == model.isolation.required(environment)
        assert light.isolation.listed(environment) == model.isolation.listed(environment)


@pytest.mark.parametrize("name", policy_names())
def test_each_is_equal_to_the_models_as_a_key_as_well(name: str) -> None:
    light, model = shipped.policy(name), load_policy(name)
    other = load_policy("strict" if name != "strict" else "standard")
    assert light == model
    assert model == light
    assert hash(light) == hash(model)
    assert light != other
    assert other != light
    for table in ("language", "guardrails", "limits", "isolation", "network", "lm", "data", "audit"):
        assert hash(getattr(light, table)) == hash(getattr(model, table)), table
    assert {model.limits: 1}[light.limits] == {light.limits: 1}[model.limits]
    assert isinstance(light, Policy)
    assert isinstance(light.limits, type(model.limits))


def test_one_is_frozen_and_whatever_else_is_asked_is_the_models() -> None:
    light, model = shipped.policy("strict"), load_policy("strict")
    with pytest.raises(ValidationError, match="frozen"):
        light.limits.cells = 5  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        del light.limits
    with pytest.raises(AttributeError):
        light.limits.cell  # type: ignore[attr-defined]  # noqa: B018
    assert light.limits.cells == model.limits.cells
    assert repr(light) == repr(model)
    assert light.model_dump_json() == model.model_dump_json()
    assert type(copy.deepcopy(light)) is type(copy.copy(light)) is Policy
    assert pickle.loads(pickle.dumps(light)) == model
    assert light.limits.model_copy(update={"cells": 5}).cells == 5


def test_what_the_user_gives_is_resolved_as_before(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "strict"\n[limits]\ncells = 5\n')
    for ref in (mine, str(mine), {"extends": "strict", "limits": {"cells": 5}}, load_policy(mine)):
        assert shipped.resolved(ref).limits.cells == 5
        assert type(shipped.resolved(ref)) is Policy
    assert shipped.resolved("strict") is shipped.resolved(shipped.resolved("strict"))


def test_a_text_that_was_not_tested_is_the_models_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = tmp_path / "policies"
    shutil.copytree(policies_dir(), edited)
    strict = edited / "strict.toml"
    strict.write_text(strict.read_text().replace("cells = 1_000", "cells = 7"))
    monkeypatch.setattr(resources, "policies_dir", lambda: edited)
    monkeypatch.setattr(shipped, "policies_dir", lambda: edited)
    shipped.policy.cache_clear()
    load._shipped.cache_clear()
    try:
        for name in ("strict", "standard"):  # what another leaves out is as in strict
            assert type(shipped.policy(name)) is Policy
        assert shipped.policy("strict").limits.cells == 7
        strict.unlink()
        shipped.policy.cache_clear()
        load._shipped.cache_clear()
        with pytest.raises(Exception, match="strict"):
            shipped.policy("strict")
    finally:
        shipped.policy.cache_clear()
        load._shipped.cache_clear()


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Shipped policies that nobody has read yet, and a function that loosens the file of `strict`."""
    folder = tmp_path / "policies"
    shutil.copytree(policies_dir(), folder)
    monkeypatch.setattr(resources, "policies_dir", lambda: folder)
    monkeypatch.setattr(shipped, "policies_dir", lambda: folder)
    caches = (shipped.policy, shipped._model_of, load._shipped)
    for each in caches:
        each.cache_clear()

    def edit() -> None:
        strict = folder / "strict.toml"
        strict.write_text(strict.read_text().replace("cells = 1_000", "cells = 7_000"))

    yield edit
    for each in caches:
        each.cache_clear()


def test_one_whose_file_changes_in_use_never_has_two_values(edited: Callable[[], None]) -> None:
    used = [shipped.policy(name) for name in ("strict", "standard")]  # what standard leaves out is as in strict
    before = [light.limits.cells for light in used]
    edited()
    assert [light.limits.cells for light in used] == before
    for light in used:
        for asked in (
            lambda light=light: light.model_dump(),
            lambda light=light: light.limits.model_copy(),
            lambda light=light: copy.deepcopy(light),
            lambda light=light: pickle.dumps(light),
            lambda light=light: light == load_policy("strict"),
        ):
            with pytest.raises(PolicyError, match="was changed while it is in use; start the program again"):
                asked()


def test_one_that_was_sent_to_another_process_has_the_values_that_it_had(edited: Callable[[], None]) -> None:
    sent, limits = pickle.dumps(shipped.policy("strict")), pickle.dumps(shipped.policy("strict").limits)
    edited()
    for each in (shipped.policy, shipped._model_of, load._shipped):
        each.cache_clear()
    assert shipped.policy("strict").limits.cells == 7_000
    assert pickle.loads(sent).limits.cells == pickle.loads(limits).cells == 1_000


def test_a_command_of_one_needs_no_model() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "rlm_secure", "exec", "-c", "6 * 7"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "42\n", done.stderr
    assert "rlm_secure.policy.shipped" in done.stderr
    assert "pydantic" not in done.stderr


def test_a_session_of_one_needs_no_model() -> None:
    code = (
        "import sys\n"
        "from rlm_secure import Sandbox\n"
        "with Sandbox('standard', context='abc') as sandbox:\n"
        "    print(sandbox.run('len(context)').text)\n"
        "print([name for name in sys.modules if name.split('.')[0].startswith('pydantic')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "3\n[]\n", done.stderr
