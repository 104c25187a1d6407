"""Bad files are found at the exact line and column; and a bad file without its mistake is not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from rlm_secure.audit import CLEAN, FOUND, NOTHING_AUDITED, Report, Severity, Unreadable, accept, audit
from rlm_secure.audit.formats import github, html, junit, sarif
from rlm_secure.audit.formats import json as json_format
from tests.audit.seeded import SEEDS, Seed

SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0.schema.json").read_text(encoding="utf-8"))


def write(seed: Seed, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The seed as a file; the name to audit it by."""
    path = folder / seed.file
    path.write_text(seed.text, encoding="utf-8")
    path.chmod(0o644)
    monkeypatch.chdir(folder)
    return f"cells:{seed.file}" if seed.file == "cell.py" else seed.file


def audited(seed: Seed, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    return audit([write(seed, folder, monkeypatch)], fail_on=Severity.LOW)


@pytest.fixture
def everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """All seeds at once, in a folder each, and a policy that accepts one finding."""
    for number, seed in enumerate(SEEDS):
        folder = tmp_path / f"{number:02d}"
        folder.mkdir()
        (folder / seed.file).write_text(seed.text, encoding="utf-8")
        (folder / seed.file).chmod(0o644)
    hostile = tmp_path / "<img src=x onerror=alert(1)>\x1b[31m\nx.Dockerfile"
    hostile.write_text("FROM python:latest\nUSER 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return audit(["."])


def test_there_are_twenty_seeds() -> None:
    assert len(SEEDS) >= 20


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.rule} in {seed.file}")
def test_the_finding_is_at_the_exact_place(seed: Seed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = audited(seed, tmp_path, monkeypatch)
    places = [(each.location.line, each.location.column) for each in report.findings if each.rule == seed.rule]
    assert seed.place in places
    assert {each.location.file for each in report.findings} == {seed.file}
    assert report.code == FOUND


def test_sarif_is_valid_and_complete(everything: Report) -> None:
    log = json.loads(sarif.render(everything))
    jsonschema.validate(log, SCHEMA, format_checker=jsonschema.FormatChecker())
    (run,) = log["runs"]
    assert len(run["results"]) == len(everything.findings)
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])
    assert all(rule["help"]["markdown"].startswith(f"# {rule['id']}") for rule in rules)
    assert all(each["partialFingerprints"] for each in run["results"])
    assert "\x1b" not in sarif.render(everything)


def test_a_broken_log_does_not_validate(everything: Report) -> None:
    log = json.loads(sarif.render(everything))
    log["runs"][0]["results"][0]["level"] = "dreadful"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_json_says_what_the_report_says(everything: Report) -> None:
    value = json.loads(json_format.render(everything))
    assert value["schema"] == 1
    assert len(value["findings"]) == len(everything.findings)
    assert value["exit_code"] == FOUND


def test_junit_is_xml_with_a_case_for_each_rule(everything: Report) -> None:
    from xml.etree import ElementTree

    suites = ElementTree.fromstring(junit.render(everything))
    (suite,) = suites.findall("testsuite")
    names = {case.get("name") for case in suite.findall("testcase")}
    assert set(everything.rules) <= names
    failing = {each.rule for each in everything.findings if each.severity.rank >= Severity.MEDIUM.rank}
    assert {case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None} == failing
    assert int(suite.get("failures")) == len(failing)


def test_annotations_are_one_line_each_whatever_a_file_is_called(everything: Report) -> None:
    lines = github.render(everything).splitlines()
    assert len(lines) == len(everything.findings) + len(everything.not_checked)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_html_runs_nothing_that_a_file_is_called(everything: Report) -> None:
    page = html.render(everything)
    assert "<img" not in page and "<script" not in page and "\x1b" not in page
    assert "&lt;img src=x" in page


def test_a_baseline_takes_old_findings_out_and_new_ones_not(everything: Report, tmp_path: Path) -> None:
    path = tmp_path / "baseline"
    path.write_text(json.dumps(accept.baseline(everything.findings[1:])), encoding="utf-8")
    again = audit(["."], known=accept.read_baseline(path))
    assert again.findings == everything.findings[:1]
    assert len(again.ignored) == len(everything.findings) - 1


def policy_with(folder: Path, entries: str) -> str:
    path = folder / "policy.toml"
    path.write_text(f"[data]\nlog_context = true\n{entries}", encoding="utf-8")
    path.chmod(0o644)
    return "policy.toml"


IGNORE = '[[audit.ignore]]\nrule = "{rule}"\nat = "{at}"\nreason = "for the tests"\nexpires = {expires}\n'


@pytest.mark.parametrize(
    ("rule", "at", "expires", "code", "found"),
    [
        ("context-logged", "policy.toml:2:1", "2027-06-01", CLEAN, []),
        ("context-logged", "policy.toml", "2027-06-01", CLEAN, []),
        ("context-logged", "policy.toml:3:1", "2027-06-01", FOUND, ["context-logged", "ignore-unmatched"]),
        ("context-logged", "policy.toml:2:1", "2020-06-01", FOUND, ["context-logged", "ignore-expired"]),
        ("weak-memory", "policy.toml", "2027-06-01", FOUND, ["context-logged", "ignore-unmatched"]),
        ("image-root", "", "2027-06-01", FOUND, ["context-logged", "ignore-everywhere"]),
        ("no-such-rule", "policy.toml", "2027-06-01", FOUND, ["context-logged", "ignore-unknown"]),
    ],
)
def test_ignores_hold_until_their_day_and_stale_ones_are_findings(
    rule, at, expires, code, found, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = policy_with(tmp_path, IGNORE.format(rule=rule, at=at, expires=expires))
    report = audit([name], policy=name)
    assert [each.rule for each in report.findings if each.severity is not Severity.INFO] == found
    assert report.code == code
    bare = audit([name], policy=name, use_ignores=False)
    assert "context-logged" in [each.rule for each in bare.findings]
    assert bare.ignored == ()


def test_what_cannot_be_read_is_not_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("def f(:\n", encoding="utf-8")
    report = audit(["broken.py"])
    assert [each.what for each in report.not_checked] == ["broken.py:1:7"]
    assert report.code == NOTHING_AUDITED


def test_a_name_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(Unreadable, match="no such file"):
        audit(["nothing-here.toml"])


def test_a_trajectory_is_held_against_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = {"stdout": "x" * 2_000_000, "stderr": "", "locals": {}, "execution_time": 45.0, "rlm_calls": []}
    cells = ["import socket\nprint(1)", "print(len(context))", "x.__globals__"]
    lines = [{"type": "metadata"}] + [
        {"type": "iteration", "iteration": 1, "response": "", "code_blocks": [{"code": cell, "result": result}]}
        for cell in cells
    ]
    lines[2]["response"] = "the key is sk-proj-4f8a1c0d9e7b6a5f4e3d2c1b0a"
    Path("run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    report = audit(["run.jsonl"])
    assert [(each.rule, each.location.line) for each in report.findings] == [
        ("trajectory-secret", 3),
        ("cell-reaches", 4),
        ("cell-refused", 2),
        ("trajectory-limit", 2),
        ("trajectory-limit", 2),
    ]
    assert "turn 1, cell 1, line 1: import: cells may not import socket" in report.findings[2].message


def test_a_cell_that_is_made_for_the_compiler_is_a_finding_and_harms_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bomb.py").write_text("(" * 100_000 + ")" * 100_000, encoding="utf-8")
    report = audit(["cells:bomb.py"])
    assert [each.rule for each in report.findings] == ["cell-refused"]


def test_a_policy_that_others_may_write_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text("[limits]\n", encoding="utf-8")
    Path("policy.toml").chmod(0o666)
    assert "policy-writable" in [each.rule for each in audit(["policy.toml"]).findings]
