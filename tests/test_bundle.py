"""The guest's zip: its sources are the same bytes everywhere, and bytecode is only ever what they compile to."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rlm_secure.environments import bundle as bundles

ROOT = Path(__file__).parents[1]
BUILD = """
import json, sys
from rlm_secure.environments.bundle import bundle
made = bundle()
open(sys.argv[1], 'wb').write(made.data)
print(made.sha256)
"""
LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
import guest.session.values as module
print(module.__file__, module.plain.__code__.co_filename)
"""


def build(target: Path, *, cache: Path | None, **variables: str) -> str:
    """Build it in a process of its own, its bytecode under `cache` or nowhere; the sha256 it gives."""
    keep = {"PYTHONPYCACHEPREFIX": str(cache or target.parent)} | ({} if cache else {"PYTHONDONTWRITEBYTECODE": "1"})
    kept_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "RLM_SECURE_COVERAGE")  # the bundle that users have
    environment = {name: value for name, value in os.environ.items() if name not in kept_out} | keep | variables
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(target)], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def load(bundle: Path) -> list[str]:
    """The file that a module of the bundle is loaded from, and the one its code names."""
    command = [sys.executable, "-I", "-S", "-B", "-c", LOAD, str(bundle)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def made(cache: Path) -> tuple[Path, str]:
    target = cache / "bundle.zip"
    return target, build(target, cache=cache)


def kept(cache: Path) -> Path:
    (found,) = cache.rglob("guest.*.zip")
    return found


def test_the_sources_are_the_same_bytes_whatever_the_process(made: tuple[Path, str], tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert build(one, cache=None, PYTHONHASHSEED="1") == build(other, cache=None, PYTHONHASHSEED="2") == made[1]
    assert one.read_bytes() == other.read_bytes()
    assert all(name.endswith(".py") for name in zipfile.ZipFile(one).namelist())


def test_bytecode_lies_beside_every_source_and_names_no_place_of_the_host(made: tuple[Path, str]) -> None:
    with zipfile.ZipFile(made[0]) as archive:
        names = set(archive.namelist())
        assert {name for name in names if name.endswith(".py")} == {name[:-1] for name in names if name.endswith("c")}
        everything = b"".join(archive.read(name) for name in names)
    for place in (str(ROOT), str(Path.home()), sys.prefix):
        assert place.encode() not in everything


def test_a_sandbox_runs_the_bytecode(made: tuple[Path, str]) -> None:
    assert load(made[0]) == [f"{made[0]}/guest/session/values.pyc", "guest/session/values.py"]


def test_another_version_of_python_takes_the_sources(made: tuple[Path, str], tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(made[0]) as archive, zipfile.ZipFile(other, "w") as changed:
        for name in archive.namelist():
            data = archive.read(name)
            changed.writestr(name, b"\0\0\r\n" + data[4:] if name.endswith(".pyc") else data)
    assert load(other) == [f"{other}/guest/session/values.py"] * 2


def test_it_is_compiled_once_and_then_taken_from_beside_the_package_s_bytecode(
    made: tuple[Path, str], cache: Path, tmp_path: Path
) -> None:
    before = kept(cache).stat()
    assert build(tmp_path / "again", cache=cache) == made[1]
    assert (tmp_path / "again").read_bytes() == made[0].read_bytes() == kept(cache).read_bytes()
    after = kept(cache).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert oct(after.st_mode & 0o022) == "0o0"  # nobody else may change what the host will run


@pytest.mark.parametrize("broken", ["garbage", "cut short", "of other sources", "empty"])
def test_what_is_kept_and_wrong_is_made_anew(made: tuple[Path, str], cache: Path, tmp_path: Path, broken: str) -> None:
    path, good = kept(cache), made[0].read_bytes()
    other = good.removesuffix(made[1].encode()) + b"0" * 64
    path.write_bytes({"garbage": b"PK" * 100, "cut short": good[:-100], "of other sources": other, "empty": b""}[broken])
    assert build(tmp_path / "again", cache=cache) == made[1]
    assert load(tmp_path / "again")[1] == "guest/session/values.py"
    with zipfile.ZipFile(path) as archive:
        assert archive.comment[64:].decode() == made[1]
        assert archive.testzip() is None


def test_the_same_sources_with_other_states_are_not_compiled_again(
    made: tuple[Path, str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a copy, or in an image."""
    before = kept(cache).read_bytes()
    monkeypatch.setattr(bundles.importlib.util, "cache_from_source", lambda _path: str(kept(cache).with_suffix(".pyc")))
    monkeypatch.setattr(bundles.sys, "dont_write_bytecode", False)
    monkeypatch.setattr(bundles, "states", lambda _folders: b"another")
    monkeypatch.delattr(bundles, "_bytecode")
    found = bundles.bundle.__wrapped__()
    assert found.data == kept(cache).read_bytes() != before
    assert found.data[:-128] == before[:-128]
    monkeypatch.delattr(bundles, "_sources")
    assert bundles.bundle.__wrapped__() == found


@pytest.mark.parametrize("changed", ["of one size, at one time", "another name"])
def test_a_source_that_has_changed_is_read_whatever_its_size_and_time(tmp_path: Path, changed: str) -> None:
    """An installer may give every version of a file one time."""
    root = tmp_path / "guest"
    (root / "inner").mkdir(parents=True)
    source = root / "inner" / "one.py"
    source.write_text("x = 1\n")
    os.utime(source, ns=(10**18, 10**18))
    before = bundles.states({"guest": root})
    assert before == bundles.states({"guest": root})
    (root / "inner" / "notes.txt").write_text("no source")
    assert before == bundles.states({"guest": root})
    if changed == "another name":
        source.rename(root / "one.py")
    else:
        other = tmp_path / "other.py"
        other.write_text("x = 2\n")
        os.utime(other, ns=(10**18, 10**18))
        other.replace(source)
    assert before != bundles.states({"guest": root})


@pytest.mark.parametrize("step", ["_bytecode", "keep"])
def test_a_full_disk_costs_the_bytecode_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "__pycache__").mkdir()
    kept = str(tmp_path / "__pycache__" / "guest.pyc")
    monkeypatch.setattr(bundles.importlib.util, "cache_from_source", lambda _path: kept)
    monkeypatch.setattr(bundles.sys, "dont_write_bytecode", False)
    monkeypatch.setattr(bundles, step, full)
    found = bundles.bundle.__wrapped__()
    assert found.sha256 == hashlib.sha256(found.data).hexdigest()  # what the sources of this process are
    with zipfile.ZipFile(io.BytesIO(found.data)) as archive:
        assert {Path(name).suffix for name in archive.namelist()} == {".py"}
    assert list((tmp_path / "__pycache__").iterdir()) == []


def test_a_directory_that_is_not_ours_to_write_gets_nothing(tmp_path: Path) -> None:
    sources = tmp_path / "sources.zip"
    assert len(build(sources, cache=None)) == 64
    assert json.dumps(load(sources)) == json.dumps([f"{sources}/guest/session/values.py"] * 2)
