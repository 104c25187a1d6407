"""The package as users get it: what is in it, that it is reproducible, and that it works away from the checkout."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(kind: str, into: Path) -> Path:
    """Build a wheel or an sdist of the checkout, without a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def test_the_wheel_carries_package_policies_and_attacks_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "rlm_secure", "policies", "sandboxes"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split("\0")
    expected = {name if name.startswith("rlm_secure/") else f"rlm_secure/_data/{name}" for name in tracked if name}
    if expected:  # not in an unpacked sdist
        assert expected <= names
    assert {name.split("/")[0] for name in names} == {"rlm_secure"}
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".env"))] == []
    assert {
        "rlm_secure/py.typed",
        "rlm_secure/_data/policies/strict.toml",
        "rlm_secure/guest/kernel/seal.py",
        "rlm_secure/agents/tables/child.py",
        "rlm_secure/agents/codegen/prompts.toml",
    } <= names


def test_two_builds_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = build("wheel", tmp_path)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


def test_the_sdist_has_what_a_packager_needs(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    assert {
        "rlm_secure",
        "policies",
        "sandboxes",
        "tests",
        "benchmarks",
        "README.md",
        "LICENSE",
        "threat-model.md",
    } <= top
    assert not top & {".venv", ".git", "dist"}


def test_the_installed_package_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target), str(wheel)],
        check=True,
        timeout=120,
    )
    program = (
        "import rlm_secure, sys\n"
        "from rlm_secure.resources import policies_dir, sandboxes_dir\n"
        "for path in (rlm_secure.__file__, policies_dir(), sandboxes_dir()):\n"
        "    assert str(path).startswith(sys.argv[1]), path\n"
        "with rlm_secure.Sandbox(policy='strict', context='abc') as sandbox:\n"
        "    print(sandbox.run('print(len(context))').check().stdout, end='')\n"
        "from rlm_secure.agents.tables import Table, write\n"
        "table = Table({'a': [1, 2], 'b': ['x', None]})\n"
        "import pyarrow.parquet\n"
        "pyarrow.parquet.write_table(pyarrow.table(table.to_dict()), 'a.parquet')\n"
        "for name in ('a.csv', 'a.xlsx'):\n"
        "    write(table, name)\n"
        "print([Table.read(name) == table for name in ('a.csv', 'a.xlsx', 'a.parquet')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(target)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stderr, done.stdout) == ("", "3\n[True, True, True]\n")
