"""Policies that were written to hold their reader up: each ends in a PolicyError with a place, in bounded steps."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rlm_secure.checks import patterns
from rlm_secure.errors import PolicyError
from rlm_secure.policy import load_policy, problems, toml
from tests.growth.cost import assert_linear

MANY = 60_000

HOSTILE = {
    "a key of many parts": (".".join("a" * MANY) + " = 1", 1, 34),
    "a header of many parts": (f"\n[{'.'.join('a' * MANY)}]", 2, 35),
    "a key of many parts in a table": (f"x = {{ {' . '.join(['a'] * 20_000)} = 1 }}", 1, None),
    "deep arrays": ("x = " + "[" * MANY, 1, 37),
    "deep tables": ("x = " + "{a=" * MANY, 1, 101),
    "a long expression": (f"[data]\nredact = ['{'(' * MANY}']", 2, 11),
    "an endless repetition": ("[data]\nredact = ['a{99999999999999999999}']", 2, 11),
    "a number of many digits": ("x = " + "9" * MANY, None, None),
    "keys of nobody": ("\n".join(f"a{n} = 1" for n in range(20_000)), 1, 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_wrong_with_it_is_said(name: str, tmp_path: Path) -> None:
    text, line, column = HOSTILE[name]
    path = tmp_path / "policy.toml"
    path.write_text(text)
    found = problems(path)
    assert 0 < len(found) <= 101
    assert found[-1].line == line or len(found) > 1
    assert found[0].column == column or column is None
    assert all(len(str(each)) < 1_000 for each in found)


@pytest.mark.parametrize(
    "worst",
    [
        lambda size: "\n" + ".".join("a" * (size // 2)) + " = 1",
        lambda size: '"""' + '""a\\"""' * (size // 8),
        lambda size: "'''" + "''a" * (size // 3),
        lambda size: '"""' + "\\" * size,
        lambda size: '"' * size,
        lambda size: "'" * size,
        lambda size: "#" * size + "\n=",
        lambda size: '"\\' * (size // 2),
    ],
)
def test_the_bounds_take_time_that_grows_as_the_text_does(worst) -> None:  # type: ignore[no-untyped-def]
    def read(text: str) -> None:
        with pytest.raises(ValueError):
            toml.loads(text)

    assert_linear(worst, read, most=1 << 18)


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n[[[[ . . . . . . . . . . . . . . . . . . """\n',
        "a = '''" + "[." * 40 + "''''\nb = 1\n",
        'a = """"' + "[." * 40 + '"""""\n',
        'a = "\\"' + "[." * 40 + '" # ' + "[." * 40 + "\nb.c.d = [[1.5], [2.5]]\n",
        "'[[[.' . \"...\".c = 1 # [\n",
        "[[a . b]]\nc = [" + "1.5, " * 100 + "]\n[[a.b]]\nd = 07:32:00.5\n",
    ],
)
def test_what_is_in_strings_and_comments_is_no_depth(text: str) -> None:
    assert toml.loads(text) == tomllib.loads(text)


def test_an_expression_that_a_policy_may_have_still_is_one() -> None:
    assert load_policy({"data": {"redact": ["ACME-[0-9]{8}", "a" * 1000]}}).data.redact[0] == "ACME-[0-9]{8}"


def test_expressions_of_a_policy_are_so_many_and_no_more_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(load_policy({"data": {"redact": [f"a{number}" for number in range(100)]}}).data.redact) == 100
    built: list[str] = []
    pattern = patterns.Pattern
    monkeypatch.setattr(patterns, "Pattern", lambda text: built.append(text) or pattern(text))
    with pytest.raises(PolicyError, match="redact"):
        load_policy({"data": {"redact": [f"a{number}{{2}}" for number in range(20_000)]}})
    assert len(built) <= 101
