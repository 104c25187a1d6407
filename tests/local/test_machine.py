"""Where a local session cannot be, the sentence says why, and what to do there."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlm_secure.environments.local import machine, report
from rlm_secure.errors import EnforcementError, EnvironmentUnavailable
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.policy import load_policy

ROOT = Path(__file__).parents[2]


def settings(folder: Path, **values: str) -> Path:
    """A copy of /proc/sys that has these settings."""
    for name, value in values.items():
        path = folder.joinpath(*name.split("__"))
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{value}\n")
    return folder


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ({"user__max_user_namespaces": "0"}, "sysctl -w user.max_user_namespaces="),
        ({"user__max_user_namespaces": "9", "kernel__unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        ({"kernel__unprivileged_userns_clone": "1", "kernel__apparmor_restrict_unprivileged_userns": "1"}, "sandboxes/apparmor"),
        ({"kernel__apparmor_restrict_unprivileged_userns": "0"}, "a container or a filter"),
        ({}, "a container or a filter"),
    ],
)
def test_the_advice_is_about_what_refuses(
    values: dict[str, str], advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_SYSCTLS", settings(tmp_path, **values))
    assert advice in machine.allow_namespaces()
    assert "docs/pages" not in machine.allow_namespaces()  # which nobody has who installed the package


@pytest.mark.parametrize("wall", [Wall.USER_NAMESPACE, Wall.MOUNT_NAMESPACE])
def test_a_missing_namespace_is_told_with_it(
    wall: Wall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Ubuntu the user namespace is there, and those in it are refused."""
    restricted = settings(tmp_path, kernel__apparmor_restrict_unprivileged_userns="1")
    monkeypatch.setattr(machine, "_SYSCTLS", restricted)
    found = EnforcementReport("local", (WallStatus(wall, Level.NONE, "EPERM"),), {})
    with pytest.raises(EnforcementError, match="AppArmor refuses them"):
        report.require(load_policy("strict"), found, (wall,))


def test_the_kernel_without_user_namespaces_is_told_by_the_command() -> None:
    """A kernel that refuses for real: in a user namespace of its own, whose limit for further ones is 0."""
    program = 'mount -t proc proc /proc; echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", program, "sh"]
        + [sys.executable, "-m", "rlm_secure", "exec", "-c", "print(1)"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "user-namespace" in done.stderr
    assert "sudo sysctl -w user.max_user_namespaces=" in done.stderr


@pytest.mark.parametrize(
    ("system", "name", "bits", "said"),
    [
        ("linux", "riscv64", 63, "Linux on riscv64, 64 bits"),
        ("linux", "x86_64", 31, "Linux on x86_64, 32 bits"),
        ("darwin", "arm64", 63, "macOS on arm64"),
        ("win32", "AMD64", 63, "Windows on AMD64"),
    ],
)
def test_another_machine_is_refused(
    system: str, name: str, bits: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.sys, "platform", system)
    monkeypatch.setattr(machine.sys, "maxsize", 2**bits - 1)
    monkeypatch.setattr(platform, "machine", lambda: name)
    monkeypatch.setattr(machine.os, "uname", lambda: SimpleNamespace(machine=name))
    with pytest.raises(EnvironmentUnavailable, match=said):
        machine.require()


def test_this_machine_is_not_refused() -> None:
    machine.require()
