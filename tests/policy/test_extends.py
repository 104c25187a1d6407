"""`extends` may only tighten: for every key, for any two policies, through any number of files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.errors import PolicyError
from rlm_secure.guarantees import Wall
from rlm_secure.policy import Policy, load_policy, problems, trace
from rlm_secure.policy.compare import Effect, effect
from rlm_secure.policy.keys import Order, keys, value
from rlm_secure.policy.model import BestEffort, Limits
from rlm_secure.policy.page import render
from tests.effort import examples
from tests.policy.strategies import FLAT, nested, values

OWN = {"name", "description", "extends", "audit.ignore"}
LOOSER = {Effect.WEAKER, Effect.MIXED}
COUNTER = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


def saved(folder: Path, flat: dict[str, Any]) -> Path:
    """A policy file; its name is new each time."""
    path = folder / f"base{next(COUNTER)}.toml"
    path.write_text(render(load_policy(nested(flat))), encoding="utf-8")
    return path


@given(base=FLAT, child=FLAT)
@settings(max_examples=examples(150), deadline=None)
def test_what_loads_is_nowhere_looser_than_what_it_extends(
    folder: Path, base: dict[str, Any], child: dict[str, Any]
) -> None:
    path = saved(folder, base)
    before = load_policy(path)
    looser = {key for key in child if key not in OWN and effect(key, value(before, key), _typed(child, key)) in LOOSER}
    found = problems({"extends": str(path), **nested(child)})
    assert {error.key for error in found} == looser
    if not looser:
        after = load_policy({"extends": str(path), **nested(child)})
        assert after.extends is None
        for key in keys():
            if key in OWN:
                continue
            assert effect(key, value(before, key), value(after, key)) not in LOOSER
            assert value(after, key) == (_typed(child, key) if key in child else value(before, key))


def _typed(child: dict[str, Any], key: str) -> Any:
    return value(load_policy(nested(child)), key)


@given(flats=st.lists(FLAT, min_size=3, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_tightening_is_transitive(flats: list[dict[str, Any]]) -> None:
    first, second, third = (load_policy(nested(flat)) for flat in flats)
    for key in keys():
        if key in OWN:
            continue
        a, b, c = (value(policy, key) for policy in (first, second, third))
        if effect(key, a, b) not in LOOSER and effect(key, b, c) not in LOOSER:
            assert effect(key, a, c) not in LOOSER


@given(data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_the_way_back_from_a_tighter_value_is_a_looser_one(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([key for key in keys().values() if key.order is not Order.FREE]))
    a, b = (_typed({key.dotted: data.draw(values(key))}, key.dotted) for _ in range(2))
    assert effect(key.dotted, a, a) is Effect.SAME
    if effect(key.dotted, a, b) is Effect.STRONGER:
        assert effect(key.dotted, b, a) is Effect.WEAKER
    if effect(key.dotted, a, b) is Effect.SAME:
        assert effect(key.dotted, b, a) is Effect.SAME


@pytest.mark.parametrize(
    ("child", "message"),
    [
        (
            {"limits": {"cell_seconds": 60.0}},
            ("limits.cell_seconds goes from 30.0 to 60.0, which is looser than strict, and extends may only tighten; "
            "use 30.0 or less, or extend a looser policy"),
        ),
        (
            {"isolation": {"local": [wall.value for wall in Policy().isolation.local if wall is not Wall.SECCOMP]}},
            ('isolation.local leaves out "seccomp", which is looser than strict, and extends may only tighten; put that '
            "back, or extend a looser policy"),
        ),
        (
            {"isolation": {"best_effort": [{"wall": "landlock", "reason": "an old kernel"}]}},
            ('isolation.best_effort adds "landlock", which is looser than strict, and extends may only tighten; take '
            "that out, or extend a looser policy"),
        ),
        (
            {"network": {"ingress": True}},
            ("network.ingress goes from false to true, which is looser than strict, and extends may only tighten; use "
            "false, or extend a looser policy"),
        ),
        (
            {"data": {"log_context": True}},
            ("data.log_context goes from false to true, which is looser than strict, and extends may only tighten; use "
            "false, or extend a looser policy"),
        ),
    ],
)  # fmt: skip
def test_an_attempt_to_loosen_names_the_key_and_both_values(child: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy({"extends": "strict", **child})
    assert str(caught.value) == f"<dict>: {message}"


def test_what_is_tighter_loads() -> None:
    policy = load_policy(
        {
            "extends": "standard",
            "language": {"modules": ["json", "re"]},
            "limits": {"cell_seconds": 5, "exclude_host_time": False},
            "isolation": {
                "local": [*Policy().isolation.local, Wall.CGROUP],
                "checkpoints": False,
                "docker_runtime": "runsc",
            },
            "data": {"redact": ["[0-9]{16}"], "log_prompts": False},
        }
    )
    assert policy.limits.cell_seconds == 5.0
    assert policy.limits.memory_bytes == load_policy("standard").limits.memory_bytes
    assert policy.isolation.local[-1] is Wall.CGROUP
    assert policy.name == "custom"


def test_a_weaker_runtime_is_looser_and_two_strong_ones_are_not_compared() -> None:
    assert effect("isolation.docker_runtime", "runc", "runsc") is Effect.STRONGER
    assert effect("isolation.docker_runtime", "kata", "runc") is Effect.WEAKER
    assert effect("isolation.docker_runtime", "kata", "runsc") is Effect.WEAKER
    assert effect("isolation.docker_runtime", "runc", "crun") is Effect.WEAKER


def test_the_reason_for_best_effort_may_be_reworded_and_nothing_else() -> None:
    before = (BestEffort(wall=Wall.LANDLOCK, reason="an old kernel"),)
    after = (BestEffort(wall=Wall.LANDLOCK, reason="kernel 5.10 until spring"),)
    assert effect("isolation.best_effort", before, after) is Effect.NEUTRAL
    assert effect("isolation.best_effort", before, ()) is Effect.STRONGER


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_chain_of_files_is_followed_relative_to_each_file(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    write(tmp_path / "company.toml", 'extends = "strict"\n[limits]\ncell_seconds = 20.0\ncells = 50\n')
    write(tmp_path / "team" / "team.toml", 'extends = "../company.toml"\n[limits]\ncell_seconds = 10.0\n')
    mine = write(tmp_path / "mine.toml", 'extends = "team/team.toml"\n[limits]\ncells = 5\n')
    loaded = trace(mine)
    assert (loaded.policy.limits.cell_seconds, loaded.policy.limits.cells) == (10.0, 5)
    assert [Path(source).name for source in loaded.chain] == ["team.toml", "company.toml", "strict.toml"]
    assert loaded.policy.name == "mine"
    origin = loaded.origins["limits.cell_seconds"]
    assert (origin.line, origin.column, origin.source.endswith("team.toml")) == (3, 1, True)
    assert "limits.stdout_bytes" in loaded.origins, "strict.toml writes everything out"


def test_loosening_a_file_in_the_middle_is_refused_at_its_place(tmp_path: Path) -> None:
    write(tmp_path / "company.toml", 'extends = "strict"\n[limits]\ncells = 50\n')
    mine = write(tmp_path / "mine.toml", '# ours\nextends = "company.toml"\n[limits]\n  cells = 100\n')
    with pytest.raises(PolicyError) as caught:
        load_policy(mine)
    assert (caught.value.line, caught.value.column, caught.value.key) == (4, 3, "limits.cells")
    assert str(caught.value) == (
        f"{mine}:4:3: limits.cells goes from 50 to 100, which is looser than company, and extends may only tighten; "
        "use 50 or less, or extend a looser policy"
    )


def test_a_circle_of_files_is_refused(tmp_path: Path) -> None:
    first = write(tmp_path / "first.toml", 'extends = "second.toml"\n')
    write(tmp_path / "second.toml", 'extends = "./first.toml"\n')
    with pytest.raises(PolicyError, match=r'extends is "\./first\.toml", which extends this file in turn'):
        load_policy(first)
    alone = write(tmp_path / "alone.toml", 'extends = "alone.toml"\n')
    with pytest.raises(PolicyError, match="end the circle"):
        load_policy(alone)


def test_a_circle_through_a_link_is_refused(tmp_path: Path) -> None:
    first = write(tmp_path / "first.toml", 'extends = "link.toml"\n')
    (tmp_path / "link.toml").symlink_to(first)
    with pytest.raises(PolicyError, match="end the circle"):
        load_policy(first)


def test_a_long_chain_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "p0.toml", 'extends = "strict"\n')
    for number in range(1, 9):
        write(tmp_path / f"p{number}.toml", f'extends = "p{number - 1}.toml"\n')
    assert load_policy(tmp_path / "p5.toml").limits == load_policy("strict").limits
    with pytest.raises(PolicyError, match="more than 8 files"):
        load_policy(tmp_path / "p8.toml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("strct", 'no policy is called "strct"; did you mean "strict"'),
        ("gone.toml", "gone.toml: there is no such file"),
        ("", "use the name of a shipped policy"),
        ("TEMPLATE", "no policy is called"),
    ],
)
def test_a_missing_base_is_refused(tmp_path: Path, name: str, message: str) -> None:
    mine = write(tmp_path / "mine.toml", f'\nextends = "{name}"\n')
    with pytest.raises(PolicyError) as caught:
        load_policy(mine)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{mine}:2:1: extends")
    assert (caught.value.line, caught.value.key) == (2, "extends")


def test_findings_that_a_base_accepts_are_not_accepted_for_its_heirs(tmp_path: Path) -> None:
    ignore = '[[audit.ignore]]\nrule = "weak-limit"\nreason = "measured, see the ticket"\nexpires = 2030-01-31\n'
    base = write(tmp_path / "base.toml", ignore)
    assert len(load_policy(base).audit.ignore) == 1
    assert load_policy({"extends": str(base)}).audit.ignore == ()


def test_a_policy_object_with_extends_is_resolved_too() -> None:
    policy = load_policy(Policy(extends="standard", limits=Limits(cell_seconds=5.0)))
    assert policy.limits.cell_seconds == 5.0
    assert policy.limits.memory_bytes == load_policy("standard").limits.memory_bytes
    with pytest.raises(PolicyError, match="looser than strict"):
        load_policy(Policy(extends="strict", limits=Limits(cell_seconds=500.0)))
