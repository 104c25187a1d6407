"""Every rule against its own page: the bad example is found, the good one is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rlm_secure.audit import BY_ID, RULES, Kind, Rule, Severity, audit
from rlm_secure.audit.read import cells as read_cells
from rlm_secure.audit.read.trajectory import TrajectoryTurn
from rlm_secure.audit.rules import _TABLES, cells
from rlm_secure.guest import language

FILES = {
    Kind.POLICY: "policy.toml",
    Kind.PACKAGES: "requirements.txt",
    Kind.PYTHON: "program.py",
    Kind.DOCKERFILE: "Dockerfile",
    Kind.CONTAINER: "compose.yaml",
    Kind.SECCOMP: "seccomp.json",
    Kind.CELLS: "cell.py",
}
#: Found by what a file cannot show: its mode, the day, a run, an environment. Tested elsewhere.
WITHOUT_EXAMPLES = {
    "policy-writable",
    "advisories-old",
    "trajectory-limit",
    "trajectory-secret",
    "attack-won",
    "attack-surface",
    "no-arena",
    "wall-missing",
    "guarantee-missing",
}
EXAMPLES = [rule for rule in RULES if rule.id not in WITHOUT_EXAMPLES]


def found(rule: type[Rule], text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rules that find something in an example."""
    path = folder / FILES[rule.kind]
    path.write_text(text + "\n", encoding="utf-8")
    path.chmod(0o644)
    monkeypatch.chdir(folder)
    report = audit([f"{rule.kind}:{path.name}"], use_ignores=rule.id == "ignore-unmatched")
    assert report.not_checked == () or rule.id == "policy-invalid"
    return [finding.rule for finding in report.findings]


def test_there_are_more_than_forty_rules_and_each_is_registered_once() -> None:
    assert len(RULES) >= 40
    assert len(BY_ID) == len(RULES) == sum(len(table) for table in _TABLES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_a_whole_page(rule: type[Rule]) -> None:
    page = rule.page()
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
    assert page.summary.endswith(".") and "\n" not in page.summary
    assert page.why.endswith(".")
    assert page.see != ()
    assert rule.hint and not rule.hint.endswith(".")
    assert isinstance(rule.severity, Severity)
    assert (page.bad != "" and page.good != "") == (rule.id not in WITHOUT_EXAMPLES)
    for part in (rule.id, page.summary, "## Why", "## What to do"):
        assert part in rule.markdown()


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda rule: rule.id)
def test_the_bad_example_of_a_page_is_found(rule, tmp_path, monkeypatch) -> None:
    assert rule.id in found(rule, rule.page().bad, tmp_path, monkeypatch)


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda rule: rule.id)
def test_the_good_example_of_a_page_is_not(rule, tmp_path, monkeypatch) -> None:
    assert rule.id not in found(rule, rule.page().good, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["strict", "standard", "data", "research"])
def test_shipped_policies_are_clean(name: str) -> None:
    report = audit([name])
    assert (report.code, report.not_checked) == (0, ())
    assert [each.rule for each in report.findings if each.severity.rank >= Severity.MEDIUM.rank] == []


def test_shipped_seccomp_profiles_are_clean() -> None:
    report = audit(["policies/seccomp"])
    assert [str(each.location) + " " + each.rule for each in report.findings] == []
    assert len(report.targets) == 4


def texts(path: Path) -> set[str]:
    """Every text that is written in a file of Python."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_harmless_rules_are_rules_of_the_guest() -> None:
    """Or of the program that screens, which finds imports before a cell runs."""
    guest = Path(language.__file__).parent
    known = {text for path in guest.glob("*.py") for text in texts(path)}
    (stops,) = re.findall(r"if refusal.rule in (\(.*\)):", read_cells._SCREEN)
    assert "import" in read_cells._SCREEN
    assert cells._HARMLESS - {"import"} <= known
    assert set(ast.literal_eval(stops)) <= cells._HARMLESS & known


@pytest.mark.parametrize(("cell", "rule"), [("x = 1\n" * 1_000, "source-bytes"), ("x = 1\n" * 100, "tree-size")])
def test_a_cell_that_is_only_too_large_is_no_attack(cell, rule, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cell.py").write_text(cell)
    Path("policy.toml").write_text("[language]\nsource_bytes = 4_096\nast_nodes = 200\n")
    (finding,) = audit(["cells:cell.py"], policy="policy.toml").findings
    assert finding.rule == "cell-refused" and finding.message.startswith(rule)


def test_turns_survive_entries_of_any_shape() -> None:
    turn = TrajectoryTurn(1, None, {"code_blocks": [1, None, {"result": 3}, {"result": {"rlm_calls": 7}}]}, "")  # type: ignore[arg-type]
    assert list(turn.calls) == []
