"""Sessions with numpy, pandas and matplotlib in each cloud: of its image with packages, and of no other."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import Guarantee, Level, Wall
from rlm_secure.policy import load_policy
from tests.clouds.conftest import BUILDERS, Cloud, provided
from tests.emulators.base import Sandbox
from tests.emulators.gvisor import GVisor
from tests.environments.packages import data, table_and_figure

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")
#: What an emulator calls its only image.
NAMES: dict[str, tuple[str, Any]] = {
    "e2b": ("template", "rlm-secure-sandbox-data-1"),
    "daytona": ("snapshot", "rlm-secure-sandbox-data-1"),
    "modal": ("image", "rlm-secure-sandbox-data:1"),
    "prime": ("image", ("rlm-secure-sandbox-data", "1")),
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an image with packages: a prefix of its own, whose site-packages are those of the tests."""
    folder = tmp_path_factory.mktemp("image")
    folder.chmod(0o755)
    library = f"lib/python3.{sys.version_info.minor}"
    own = folder / "bin" / "python3"
    for each in (folder / library, own.parent):
        each.mkdir(parents=True)
    for each in Path(sys.base_prefix, library).iterdir():
        if not each.name.endswith("-packages"):
            (folder / library / each.name).symlink_to(each)
    own.write_bytes(Path(sys.base_exec_prefix, "bin", f"python3.{sys.version_info.minor}").resolve().read_bytes())
    own.chmod(0o755)
    where = "import site; print(site.getsitepackages()[0])"
    said = subprocess.run([own, "-I", "-S", "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    assert Path(said).is_relative_to(folder)
    Path(said).parent.mkdir(parents=True, exist_ok=True)
    Path(said).symlink_to(sysconfig.get_path("purelib"))
    return own


@pytest.fixture
def made(cloud: Cloud) -> Cloud:
    """The provider, which has the image with packages alone."""
    if cloud.name in NAMES:
        setattr(cloud.emulator, *NAMES[cloud.name])
    return cloud


@pytest.mark.parametrize("cloud", BUILDERS, indirect=True)
def test_a_policy_with_packages_gets_the_image_with_them(made: Cloud, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "python", python)
    with made.session(data(memory_bytes=1 << 30)) as session:
        table_and_figure(session)
        assert session.report[Wall.LANGUAGE].level is Level.PARTIAL
        assert session.report.guarantee(Guarantee.NO_REFLECTION) is Level.PARTIAL
        assert session.report.missing(load_policy("data").isolation.required(made.name)) == ()
        for guarantee in (Guarantee.NO_HOST_FILES, Guarantee.NO_EXEC, Guarantee.BOUNDED_TIME, Guarantee.BOUNDED_PROCESSES):
            assert session.report.guarantee(guarantee) is Level.FULL, guarantee


def test_an_image_without_them_is_refused_once_with_what_to_build(made: Cloud) -> None:
    built, more = ("docker", ", push it, and name it by its digest") if made.name == "kubernetes" else (made.name, "")
    with pytest.raises(EnvironmentUnavailable) as raised:
        made.session(data(memory_bytes=1 << 30))
    assert str(raised.value) == (
        f"the policy gives packages to cells that this {made.name} sandbox cannot import (No module named 'matplotlib'); "
        f"build one that can with `rlm-secure sandbox build {built} --policy data --base python@sha256:<digest>`{more}"
    )
    assert len(made.emulator.made) == 1, "another sandbox would be the same"
    assert made.emulator.live == []


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("runsc") is None, reason="needs gVisor's runsc, which .ci/engine installs")
def test_they_are_imported_in_gvisor_as_well(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "python", python)
    with provided("modal") as cloud:
        setattr(cloud.emulator, *NAMES["modal"])
        cloud.emulator.kind = GVisor
        with cloud.session(data(memory_bytes=1 << 30, start_seconds=60.0)) as session:
            assert session.report.details["kernel"] == "4.4.0"
            table_and_figure(session)
