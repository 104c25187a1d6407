"""The distributions as strangers build, install and run them: away from the checkout, in a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rlm_secure import __version__

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).parent / "uv"


def copied(to: Path, *, umask: int, age: float) -> Path:
    """What git has of the checkout, or the unpacked sdist, in another folder, with other modes and times."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    before = os.umask(umask)
    try:
        for name in filter(None, listed.split("\0")):
            source, target = ROOT / name, to / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
                target.chmod((0o777 if source.stat().st_mode & 0o100 else 0o666) & ~umask)
                os.utime(target, (time.time() - age, time.time() - age))
    finally:
        os.umask(before)
    return to


def built(kind: str, tree: Path, into: Path, *, umask: int = 0o022, **variables: str) -> Path:
    """Build a distribution of `tree`, without a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)],
        cwd=tree, check=True, capture_output=True, timeout=120, umask=umask, env={"PATH": os.environ["PATH"], **variables},
    )  # fmt: skip
    (made,) = (path for path in into.iterdir() if path.name.endswith(".whl" if kind == "wheel" else ".tar.gz"))
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_bytes_are_the_same_anywhere(kind: str, tmp_path: Path) -> None:
    """Two folders, masks, time zones, ages of files, and seeds of hashes."""
    one = copied(tmp_path / "one", umask=0o022, age=0)
    two = copied(tmp_path / "another" / "folder", umask=0o077, age=40_000_000)
    epoch = {"SOURCE_DATE_EPOCH": "1700000000"}
    first = built(kind, one, tmp_path / "1", TZ="UTC", PYTHONHASHSEED="1", **epoch)
    second = built(kind, two, tmp_path / "2", umask=0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="2", **epoch)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(tmp_path: Path) -> None:
    tree = copied(tmp_path / "tree", umask=0o022, age=0)
    sdist = built("sdist", tree, tmp_path / "sdist")
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-xzf", sdist, "-C", tmp_path / "out", "--strip-components=1"], check=True)
    assert built("wheel", tmp_path / "out", tmp_path / "1").read_bytes() == built("wheel", tree, tmp_path / "2").read_bytes()


def test_a_tool_of_uv_runs_the_demo_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """`uvx --from WHEEL rlm-secure`: no environment of the user's, no checkout in reach."""
    kept = ("PATH", "UV_", "PIP_", "SSL_", "XDG_CACHE", "HOME")
    env = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    env |= {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_LINK_MODE": "copy", "UV_PYTHON": sys.executable}
    for arguments, said in ((["--version"], f"rlm-secure {__version__}"), (["demo"], "attacks")):
        done = subprocess.run(
            [UV, "tool", "run", "--from", wheel, "rlm-secure", *arguments],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_the_bill_of_materials_is_valid_complete_and_the_same_again(wheel: Path, tmp_path: Path) -> None:
    names = {}
    env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    # Each makes an environment, and a schema takes longer than the rest: the script checks the first bill, and this test the
    # last one, which has all that is in the first. The second folder's are made of a wheel that was built before.
    for folder, bills, more in (
        ("one", ["core"], {}), ("two", ["core", "audit"], {"WHEEL": str(wheel), "UNCHECKED": "1"})
    ):  # fmt: skip
        subprocess.run(
            [ROOT / ".ci" / "sbom", tmp_path / folder, *bills],
            check=True, capture_output=True, timeout=250, env=env | more,
        )  # fmt: skip
    assert (tmp_path / "one" / "core.cdx.json").read_bytes() == (tmp_path / "two" / "core.cdx.json").read_bytes()
    whole = (tmp_path / "two" / "audit.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(whole) is None
    for name in ("core", "audit"):
        text = (tmp_path / "two" / f"{name}.cdx.json").read_text()
        told = json.loads(text)
        assert told["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
        assert [part for part in ("file:", "/tmp/", str(ROOT)) if part in text] == []
        names[name] = {component["name"].lower().replace("_", "-") for component in told["components"]}
        assert told["metadata"]["component"]["name"] == "rlm-secure"
    assert names["core"] >= {"restrictedpython", "pyseccomp", "psutil", "openai", "pydantic", "rich", "typing-extensions"}
    assert names["audit"] - names["core"] == {"pyyaml"}
