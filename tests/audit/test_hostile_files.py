"""Files that were written to hold an audit up, or to bring it down: each is named as not checked, in bounded steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm_secure.audit import audit
from rlm_secure.audit.read.yaml_document import read_yaml

NINE = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'lol'}]\n" for n in range(10))
MERGED = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 10))

HOSTILE_YAML = {
    "an alias to itself": "services: &a {cells: *a}\n",
    "a merge of itself": "services: &a\n  <<: *a\n",
    "a billion laughs": NINE,
    "a billion merges": "a0: &a0 {b: c}\n" + MERGED,
    "a key that is a billion laughs": NINE + "? *a9\n: b\n",
    "a key that is a list of lists": "? " + "[" * 5_000 + "]" * 5_000 + "\n: b\n",
    "deep lists": "[" * 100_000,
    "deep mappings": "{a: " * 20_000,
    "deep blocks": "".join(" " * n + "-\n" for n in range(900)),
    "deep by aliases": "".join(f"a{n}: &a{n} [{f'*a{n - 1}' if n else ''}]\n" for n in range(2_000)),
    "a long text, repeated": "a: &a " + "b" * 100_000 + "\nc: [" + "*a, " * 1_000 + "]\n",
    "more than is read": "a: b\n" * 200_000,
    "a tag that is not": "!!python/object/apply:os.system [true]\n" + "!<" + "a" * 5_000,
}


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_hostile_yaml_is_not_checked_and_the_audit_goes_on(name: str, tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services:\n" + HOSTILE_YAML[name])
    (tmp_path / "Dockerfile").write_text("FROM python\n")
    report = audit([str(tmp_path)])
    assert [each.what.rpartition("/")[2].partition(":")[0] for each in report.not_checked] == ["compose.yaml"]
    assert "Error" not in report.not_checked[0].reason and len(report.not_checked[0].reason) < 300
    assert "image-root" in {each.rule for each in report.findings}


def test_what_is_merged_and_repeated_is_what_it_stands_for() -> None:
    text = "x: &x\n  privileged: true\n  cap_add: &caps [SYS_ADMIN]\nservices:\n  a:\n    <<: *x\n    cap_drop: *caps\n"
    found = read_yaml(text, "f")
    assert found.value["services"]["a"] == {
        "privileged": True,
        "cap_add": ["SYS_ADMIN"],
        "cap_drop": ["SYS_ADMIN"],
    }
    assert str(found.at("services", "a", "privileged")) == "f:2:3"
    assert str(found.at("services", "a", "cap_drop")) == "f:7:5"
    assert read_yaml("a: {<<: [{b: 1, c: 1}, {b: 2, d: 2}], c: 3}", "f").value == {"a": {"b": 1, "c": 3, "d": 2}}


def test_the_plain_values_of_yaml_are_what_they_look_like() -> None:
    text = "[yes, Off, ~, 12, 0x10, 1.5, 010, '12', 1:30, !!int '7', " + "9" * 5_000 + "]"
    assert read_yaml(text, "f").value == [True, False, None, 12, 16, 1.5, "010", "12", "1:30", 7, "9" * 5_000]
    assert read_yaml("", "f").value is None
