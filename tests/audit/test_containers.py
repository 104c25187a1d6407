"""Containers as `docker inspect` prints them, in each of its forms, and what their settings say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.audit import Report, audit
from rlm_secure.audit.read import document

PROFILE = json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["bpf"], "action": "SCMP_ACT_ALLOW"}]})
MASKED = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware", "/proc/acpi"]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
HOST = {
    "NetworkMode": "none", "CapDrop": ["ALL"], "ReadonlyRootfs": True, "PidsLimit": 64, "Memory": 1 << 29,
    "SecurityOpt": ["no-new-privileges:true", f"seccomp={PROFILE}"], "CgroupnsMode": "private",
    "MaskedPaths": MASKED, "ReadonlyPaths": READONLY, "Ulimits": [{"Name": "fsize", "Hard": 1 << 20, "Soft": 1 << 20}],
}  # fmt: skip


def container(name: str = "/cells", *, without: str = "", **host: Any) -> dict[str, Any]:
    """What `docker inspect` prints, in its order."""
    settings = {key: value for key, value in (HOST | host).items() if key != without}
    found = {"Id": "a1" * 32, "Path": "sleep", "Name": name, "AppArmorProfile": "", "HostConfig": settings}
    return found | {"Mounts": [], "Config": {"User": "65534:65534"}}


def of(folder: Path, text: str, name: str = "inspect.json") -> Report:
    (folder / name.rpartition(":")[2]).write_text(text, encoding="utf-8")
    return audit([name.replace("container:", f"container:{folder}/") if ":" in name else str(folder / name)])


def rules(report: Report) -> list[str]:
    assert report.not_checked == ()
    return [finding.rule for finding in report.findings]


FORMS = {
    "a list": lambda each: json.dumps([each], indent=4),
    "one object": lambda each: json.dumps(each, indent=4),
    "one object in a line": json.dumps,
    "one a line": lambda each: f"{json.dumps(each)}\n\n{json.dumps(each)}\n",
}


@pytest.mark.parametrize("name", ["inspect.json", "inspect.jsonl", "inspect.yaml", "container:inspect.txt", "container:inspect"])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_docker_inspect_is_read_as_what_it_is(tmp_path: Path, form: str, name: str) -> None:
    if (form, name) == ("one a line", "inspect.yaml"):
        return  # which is not YAML
    times = 2 if form == "one a line" else 1
    assert rules(of(tmp_path, FORMS[form](container()), name)) == []
    report = of(tmp_path, FORMS[form](container(PidMode="host")), name)
    assert rules(report) == ["container-host-namespace"] * times
    assert [finding.location.line for finding in report.findings][-1] == (3 if times == 2 else report.findings[0].location.line)


def test_a_container_with_a_profile_in_it_is_no_profile(tmp_path: Path) -> None:
    # The profile allows bpf(2), which is a finding of the profile's own file.
    assert rules(of(tmp_path, json.dumps(container()))) == []
    assert "seccomp-dangerous-call" in rules(of(tmp_path, PROFILE, "profile.json"))


def test_much_that_comes_before_its_settings_does_not_hide_a_container(tmp_path: Path) -> None:
    each = {"Id": "a1" * 32, "Args": ["x" * 100_000], **container()}
    assert rules(of(tmp_path, json.dumps(each))) == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (json.dumps(container()) + "\n{]", 2, "not JSON"),
        (json.dumps(container()) + "\n\n" + "[" * 100 + "]" * 100, 3, "deep"),
        (json.dumps(container()) + "\n[1, 2] 3", 2, "not JSON"),
    ],
)
def test_a_line_that_is_no_json_is_told_by_its_number(tmp_path: Path, text: str, line: int, said: str) -> None:
    (not_checked,) = of(tmp_path, text, "inspect.jsonl").not_checked
    assert said in str(not_checked)
    assert f":{line}:" in str(not_checked)


def test_lines_together_have_the_bounds_of_one(tmp_path: Path) -> None:
    line = json.dumps(container() | {"x": [0] * 50_000}) + "\n"
    (not_checked,) = of(tmp_path, line * 8, "inspect.jsonl").not_checked
    assert "too large" in str(not_checked)


def test_lines_keep_the_places_of_what_is_in_them() -> None:
    found = document.read_json_lines('{"a": 1}\n\n  {"b": [2, 3]}\n', "x")
    assert found.value == [{"a": 1}, {"b": [2, 3]}]
    assert (str(found.at(0, "a")), str(found.at(1, "b", 1))) == ("x:1:2", "x:3:13")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({"CgroupnsMode": "host"}, ["container-cgroup-namespace"]),
        ({"CgroupnsMode": ""}, []),  # an engine that has none
        ({"MaskedPaths": []}, ["container-unmasked"]),
        ({"MaskedPaths": None}, ["container-unmasked"]),
        ({"MaskedPaths": ["/proc/kcore", 7, {}]}, ["container-unmasked"]),
        ({"ReadonlyPaths": []}, ["container-unmasked"]),
        ({"MaskedPaths": None, "ReadonlyPaths": None, "Privileged": True}, ["container-privileged"]),
        ({"SecurityOpt": ["no-new-privileges", "systempaths=unconfined"], "MaskedPaths": []}, ["container-unmasked"]),
        ({"without": "MaskedPaths"}, []),  # an old engine, which does not say
        ({"Ulimits": None}, ["container-file-size"]),
        ({"Ulimits": [{"Name": "nofile", "Hard": 5}]}, ["container-file-size"]),
        ({"Ulimits": [{"Name": "fsize", "Hard": -1}]}, ["container-file-size"]),
        ({"Ulimits": ["fsize"]}, ["container-file-size"]),
        ({"Devices": [{"PathOnHost": "/dev/kvm", "PathInContainer": "/dev/kvm"}]}, ["container-devices"]),
    ],
)
def test_what_a_container_was_asked_for(tmp_path: Path, host: dict[str, Any], expected: list[str]) -> None:
    assert rules(of(tmp_path, json.dumps(container(**host)))) == expected


@pytest.mark.parametrize(
    ("profile", "options", "expected"),
    [
        ("docker-default", [], []),
        ("", [], []),  # the engine has no AppArmor
        ("unconfined", [], ["container-unconfined"]),
        ("unconfined", ["apparmor=unconfined"], ["container-unconfined"]),
    ],
)
def test_a_container_without_apparmor_where_the_engine_has_it(
    tmp_path: Path, profile: str, options: list[str], expected: list[str]
) -> None:
    each = container(SecurityOpt=["no-new-privileges", *options]) | {"AppArmorProfile": profile}
    assert rules(of(tmp_path, json.dumps(each))) == expected


def test_what_was_mounted_in_the_long_form_is_a_mount(tmp_path: Path) -> None:
    mounts = [
        {"Type": "bind", "Source": "/srv/in", "Destination": "/in"},
        {"Type": "bind", "Source": "/var/run/docker.sock", "Destination": "/sock"},
    ]
    report = of(tmp_path, json.dumps(container() | {"Mounts": mounts}, indent=1))
    assert rules(report) == ["container-engine-socket"]
    assert "/var/run/docker.sock" in report.findings[0].message


@pytest.mark.parametrize(
    ("limits", "held"),
    [("{fsize: 1000}", True), ("{fsize: {soft: 5, hard: 9}}", True), ("{fsize: -1}", False), ("{nofile: 9}", False), ("7", False)],
)
def test_the_size_of_files_in_a_compose_file(tmp_path: Path, limits: str, held: bool) -> None:
    text = f"services:\n  cells:\n    image: worker\n    ulimits: {limits}\n"
    assert ("container-file-size" in rules(of(tmp_path, text, "compose.yaml"))) is not held


@pytest.mark.parametrize("true", ["true", '"true"', "'Yes'", "y", '"1"', "on"])
def test_a_truth_in_a_compose_file_may_be_text(tmp_path: Path, true: str) -> None:
    found = rules(of(tmp_path, f"services:\n  a:\n    privileged: {true}\n    read_only: {true}\n", "compose.yaml"))
    assert "container-privileged" in found and "container-writable-root" not in found
    found = rules(of(tmp_path, 'services:\n  a:\n    privileged: "false"\n    read_only: "no"\n', "compose.yaml"))
    assert "container-privileged" not in found and "container-writable-root" in found
