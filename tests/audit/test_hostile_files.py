"""Files that were written to hold an audit up, or to bring it down: each is named as not checked, in bounded steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlm_secure.audit import CLEAN, COULD_NOT_RUN, NOTHING_AUDITED, Unreadable, audit, run, targets
from rlm_secure.audit.formats import MACHINE
from rlm_secure.audit.formats import text as text_format
from rlm_secure.audit.read import trajectory
from rlm_secure.audit.read.yaml_document import read_yaml
from rlm_secure.inert import inert, inert_line
from rlm_secure.policy import Policy

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


def test_a_policy_that_is_found_accepts_what_is_found_in_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Dockerfile").write_text("FROM python\n")
    entry = '[[audit.ignore]]\nrule = "{}"\nat = "{}"\nreason = "not so bad"\nexpires = 2999-01-01\n'
    accepted = [("image-root", ""), ("image-root", "Dockerfile"), ("image-unpinned", ""), ("context-logged", "p.toml")]
    Path("p.toml").write_text("[data]\nlog_context = true\n" + "".join(entry.format(*each) for each in accepted))
    Path("p.toml").chmod(0o644)
    for names in (["."], ["p.toml", "Dockerfile"], ["Dockerfile", "p.toml"]):
        report = audit(names)
        found = {each.rule for each in report.findings}
        assert {"image-root", "image-unpinned"} <= found and "context-logged" not in found
        assert [each.finding.rule for each in report.ignored] == ["context-logged"]
    operators = audit(["."], policy="p.toml")
    assert {each.finding.rule for each in operators.ignored} == {"image-root", "image-unpinned", "context-logged"}


def test_after_the_deadline_nothing_is_looked_at_and_strict_says_so(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"p{number}.py").write_text("import rlm\n")
    whole, late = audit([str(tmp_path)], strict=True), audit([str(tmp_path)], deadline=0.0)
    assert (len(whole.targets), whole.code, whole.not_checked) == (50, 0, ())
    assert (late.targets, late.code, len(late.not_checked)) == ((), NOTHING_AUDITED, 1)
    assert "p0.py" in late.not_checked[0].what and "deadline" in late.not_checked[0].reason
    assert audit([str(tmp_path)], deadline=0.0, strict=True).code == COULD_NOT_RUN


def test_one_file_that_cannot_be_looked_at_is_clean_but_for_strict(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("x = " + "-" * 100_000 + "1\n")
    (tmp_path / "c.py").write_text("x = 1\n" * 200_000)
    report = audit([str(tmp_path)])
    assert [Path(each.what.partition(":")[0]).name for each in report.not_checked] == ["b.py", "c.py"]
    assert (report.code, audit([str(tmp_path)], strict=True).code) == (CLEAN, COULD_NOT_RUN)


def test_findings_and_what_is_not_checked_are_listed_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_MOST_FINDINGS", 5)
    monkeypatch.setattr(run, "_MOST_NOT_CHECKED", 5)
    for number in range(10):
        (tmp_path / f"a{number}.py").write_text("(")
        (tmp_path / f"b{number}.py").write_text("import rlm\n")
    report = audit([str(tmp_path)])
    assert len(report.findings) == 5
    assert [each.what for each in report.not_checked[5:]] == ["6 more"]


def test_a_trajectory_has_a_number_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    line = '{"type":"iteration","code_blocks":[' + "[]," * 90 + "[]]}\n"
    path.write_text(line * 3)
    monkeypatch.setattr(trajectory, "_MAX_NODES", 250)
    (found,) = audit([str(path)]).not_checked
    assert ":3:1" in found.what and "values" in found.reason


EVIL = "a\n::error::\x1b[2J\u202eb"


def test_what_a_file_is_called_and_holds_is_one_line_that_only_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{EVIL}.py").write_text("import rlm\n")
    Path(f"{EVIL}.dockerfile").write_text("no instruction\n")
    Path("Dockerfile").write_text("FROM \x1b[2J\u202epython\n")
    Path("compose.yaml").write_text('services: {"\\e[2J\\n::error::": {privileged: true}}\n')
    Path("p.toml").write_text(f"[limits]\n{json.dumps(EVIL)} = 1\n")
    Path(EVIL).mkdir()
    Path(EVIL, "p.toml").write_text(
        '[data]\nlog_context = true\n[[audit.ignore]]\nrule = "context-logged"\n'
        'reason = "because\\n::error::"\nexpires = 2999-01-01\n'
    )
    Path(EVIL, "p.toml").chmod(0o644)
    report = audit(["."])
    assert len(report.findings) > 10 and len(report.not_checked) == 2 and len(report.ignored) == 1
    said = [text for each in report.findings for text in (each.message, each.hint, each.about, str(each.location))]
    said += [text for each in report.not_checked for text in (each.what, each.reason)]
    said += [*report.targets, *(each.reason for each in report.ignored)]
    assert [text for text in said if inert_line(text) != text] == []
    for render in (*MACHINE.values(), lambda report: text_format.render(report).plain):
        shown = render(report)
        assert inert(shown) == shown
        assert not [line for line in shown.splitlines() if line.startswith("::error::")]


def test_an_expression_of_a_found_policy_is_not_run_without_end(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    slow = r"([^\d]|[^\d])*~", r"(?:.|.)*(?:.|.)*~"
    path.write_text(f"[data]\nredact = [{', '.join(map(repr, slow))}, '.*']\n")
    found = [each.message for each in audit([str(path)]).findings if each.rule == "redact-everything"]
    assert len(found) == 1 and '".*"' in found[0]


def test_files_of_no_known_kind_are_under_the_deadline_too(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number}.yaml").write_text("a: b\n")
    (late,) = audit([str(tmp_path)], deadline=0.0).not_checked
    assert "deadline" in late.reason
    assert "no file in it" in audit([str(tmp_path)]).not_checked[0].reason


def test_no_file_is_passed_over_because_another_is_shown_like_it(tmp_path: Path) -> None:
    for name in ("a\x1b.py", "a\\x1b.py"):
        (tmp_path / name).write_text("x = (\n")
    report = audit([str(tmp_path)])
    assert len(set(report.targets)) == len(report.targets) == 2
    assert len(report.not_checked) == 2


def test_a_file_that_is_named_as_two_kinds_is_looked_at_as_both(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("FROM python:3.11\n")
    names = [f"{kind}:{tmp_path / 'a.txt'}" for kind in ("packages", "dockerfile", "dockerfile")]
    assert "image-root" in {each.rule for each in audit(names).findings}
    assert audit(names).targets == (str(tmp_path / "a.txt"),)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("compose.yaml", "# \n" * 30_000),
        ("stack.yml", "# \n" * 30_000),
        ("compose.prod.yml", "---\n? "),
        ("a.yaml", "'"),
    ],
)
def test_a_compose_file_is_one_however_it_begins(name: str, before: str, tmp_path: Path) -> None:
    quote = before if before == "'" else ""
    (tmp_path / name).write_text(f"{before}services{quote}:\n  a:\n    privileged: true\n")
    report = audit([str(tmp_path)])
    assert report.not_checked or "container-privileged" in {each.rule for each in report.findings}
    assert report.targets == (str(tmp_path / name),)


def test_compose_as_one_line_of_json_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text(json.dumps({"services": {"a": {"privileged": True}}}))
    assert "container-privileged" in {each.rule for each in audit([str(tmp_path)]).findings}


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3_000, "\0"])
def test_a_name_that_can_be_none_leads_nowhere(name: str) -> None:
    with pytest.raises(Unreadable):
        audit([name])


def test_a_file_whose_reading_fails_is_not_readable(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("/proc/self/mem")
    with pytest.raises(Unreadable, match="cannot be read"):
        audit([str(tmp_path / "a.json")])


@pytest.mark.parametrize(
    "text",
    [
        "RUN true \x0cUSER 65534\n",
        "RUN true \u2028USER 65534\n",
        "USER 65534\n# a comment\nRUN true \\\n\nUSER 65534\nUSER 0\n",
        "RUN true \\\n\nUSER 65534\n",
        'USER 65534\nLABEL a="<<B"\nUSER root\n',
        'USER 65534\nRUN echo "<<B"\nUSER root\n',
    ],
)
def test_a_dockerfile_has_the_instructions_that_its_builder_sees(text: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM python:3.11\n{text}", newline="")
    assert "image-root" in {each.rule for each in audit([str(tmp_path)]).findings}


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("# escape=`\nFROM a\nUSER 65534\nRUN dir C:\\\nUSER root\n", True),
        ("# syntax=docker/dockerfile:1\n# Escape = `\r\nFROM a\r\nRUN a `\r\n  b\r\nUSER 65534\r\n", False),
        ("# a comment\n# escape=`\nFROM a\nRUN a \\\n  b\nUSER 65534\n", False),
        ("# escape=\\\nFROM a\nRUN cat <<-'E' 3<<F > a\n# USER\nE\nF\nUSER 65534", False),
    ],
)
def test_the_escape_of_a_dockerfile_is_the_one_that_it_asks_for(text: str, root: bool, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(text, newline="")
    report = audit([str(tmp_path)])
    assert not report.not_checked and ("image-root" in {each.rule for each in report.findings}) is root


@pytest.mark.parametrize("swapped", ["policies/a.toml", "policies"])
def test_a_policy_that_became_a_link_since_it_was_found_is_not_followed(tmp_path: Path, swapped: str) -> None:
    for folder in ("repository/policies", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.toml").write_text("[limits]\nsecret = 1\n")
    repository = tmp_path / "repository"
    (target,) = targets.expand(str(repository))
    (repository / swapped).rename(tmp_path / "gone")
    (repository / swapped).symlink_to(tmp_path / "outside" / swapped.removeprefix("policies").lstrip("/"))
    subject = targets.read(target, Policy())
    assert subject.loaded is None
    assert not any("secret" in str(each) for each in subject.problems)


def test_a_key_beside_the_turns_of_a_trajectory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-" + "proj-Ab3dEf6hIj9lMn2pQr5tUv8x"
    settings = json.dumps({"type": "metadata", "backend_kwargs": {"api_key": key}})
    (tmp_path / "run.jsonl").write_text(settings + '\n{"type": "iteration", "code_blocks": []}\n')
    (finding,) = audit([str(tmp_path)]).findings
    assert finding.rule == "trajectory-secret" and finding.location.line == 1
    assert key not in str(finding)
    monkeypatch.setattr(trajectory, "_MAX_OTHERS", 0)
    assert "no turns" in audit([str(tmp_path)]).not_checked[0].reason


def test_a_key_that_is_no_text_keeps_no_rule_from_a_program(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"import os\nx = {{0x{'f' * 20_000}: 'x', b'a': 'x', 'api_key': y}}\nos.system(x)\n")
    report = audit([str(tmp_path)])
    assert not report.not_checked and [each.rule for each in report.findings] == ["shell-command"]


@pytest.mark.parametrize(
    ("shell", "found"), [("1", True), ("'yes'", True), ("0", False), ("None", False), ("x", False)]
)
def test_a_shell_is_one_where_python_takes_it_for_true(tmp_path: Path, shell: str, found: bool) -> None:
    (tmp_path / "a.py").write_text(f"import subprocess\nsubprocess.run(x, shell={shell})\n")
    assert bool(audit([str(tmp_path)]).findings) is found


@pytest.mark.parametrize("seconds", [10**400, 1e300, 10**6])
def test_no_number_of_a_trajectory_makes_up_for_another(tmp_path: Path, seconds: float) -> None:
    turns = [{"type": "iteration", "iteration_time": each} for each in (-(10**9), -1e300, seconds)]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in turns))
    report = audit([str(tmp_path)])
    assert not report.not_checked
    assert [each.message.partition(":")[0] for each in report.findings] == ["turn 3 goes over limits.run_seconds"]
