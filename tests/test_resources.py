"""The data files are found beside the package in a checkout, and inside it in a wheel."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from rlm_secure import resources

REPOSITORY = Path(__file__).parents[1]


def imported_from(folder: Path) -> ModuleType:
    """resources.py as another installation would have it."""
    package = folder / "rlm_secure"
    package.mkdir(parents=True)
    shutil.copy(resources.__file__, package / "resources.py")
    spec = importlib.util.spec_from_file_location("installed_resources", package / "resources.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_installation_has_its_files() -> None:
    assert resources.policy_names() == ("data", "research", "standard", "strict")
    assert {"worker", "worker-checkpoint"} <= set(resources.seccomp_names())
    for name in resources.policy_names():
        assert resources.policy_file(name).read_text(encoding="utf-8")
    for name in resources.seccomp_names():
        assert resources.seccomp_profile(name).suffix == ".json"
    assert resources.sandboxes_dir().is_dir()


def test_a_wheel_has_them_in_data(tmp_path: Path) -> None:
    module = imported_from(tmp_path)
    shutil.copytree(REPOSITORY / "policies", tmp_path / "rlm_secure" / "_data" / "policies")
    shutil.copytree(REPOSITORY / "policies", tmp_path / "policies")
    assert module.policies_dir() == tmp_path / "rlm_secure" / "_data" / "policies"
    assert module.policy_file("strict").parent == module.policies_dir()


def test_a_checkout_has_them_beside_the_package(tmp_path: Path) -> None:
    module = imported_from(tmp_path)
    shutil.copytree(REPOSITORY / "policies", tmp_path / "policies")
    assert module.policies_dir() == tmp_path / "policies"
    assert module.seccomp_profile("worker") == tmp_path / "policies" / "seccomp" / "worker.json"


def test_an_installation_without_them_says_so(tmp_path: Path) -> None:
    module = imported_from(tmp_path)
    with pytest.raises(FileNotFoundError, match="without its policies folder; reinstall it"):
        module.policies_dir()
    with pytest.raises(FileNotFoundError, match="without its sandboxes folder"):
        module.sandboxes_dir()


@pytest.mark.parametrize(
    "name", ["strct", "TEMPLATE", "../policies/strict", "seccomp/worker", "", "\x1b[31m", "x" * 500]
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        resources.policy_file(name)
    assert str(caught.value).endswith("the shipped ones are data, research, standard, strict")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250
    with pytest.raises(FileNotFoundError, match="worker-checkpoint"):
        resources.seccomp_profile(name)
