"""No code of the package that nobody uses: what vulture does not see used is named here, with who uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

vulture = pytest.importorskip("vulture")

ROOT = Path(__file__).parents[1]
#: What cells use: the standard library's names and parameters, which no code of ours calls.
FOR_CELLS = ("rlm_secure/guest/language/library/", "rlm_secure/guest/language/facades/")

#: Names that are used where vulture does not look, by file.
USED: dict[str, dict[str, str]] = {
    "rlm_secure/__init__.py": {"__dir__": "Python"},
    "rlm_secure/agents/tables/child.py": {
        "_get_size": "openpyxl",
        "read_chartsheet": "openpyxl",
        "rel": "openpyxl",
        "read_string_table": "openpyxl",
        "StartElementHandler": "expat",
        "StartDoctypeDeclHandler": "expat",
    },
    "rlm_secure/broker/transports/http1.py": {"Fetching": "a cast, in quotes"},
    "rlm_secure/clients/litellm.py": {
        "LiteLLMClient": "the table of clients, by its name",
        "disable_aiohttp_transport": "litellm",
    },
    "rlm_secure/compat/utils/rlm_utils.py": {"filter_sensitive_keys": "programs of upstream"},
    "rlm_secure/environments/cloud/cluster.py": {"trace_configs": "aiohttp", "client_session_kwargs": "kubernetes"},
    "rlm_secure/environments/cloud/kubernetes.py": {"KubernetesEnvironment": "the registry, by its name"},
    "rlm_secure/environments/cloud/prime.py": {
        "follow_redirects": "httpx",
        "event_hooks": "httpx",
        "_reconnect": "Prime's SDK",
    },
    "rlm_secure/environments/docker/image.py": {"mtime": "tarfile", "gname": "tarfile"},
    "rlm_secure/files.py": {"filename2": "OSError"},
    "rlm_secure/guest/image.py": {"has_location": "importlib"},
    "rlm_secure/guest/language/classes.py": {
        "__instancecheck__": "Python",
        "__subclasscheck__": "Python",
        "__class_getitem__": "Python",
    },
    "rlm_secure/guest/packages/__init__.py": {"_get_plot_backend": "pandas", "_usetex": "matplotlib"},
    "rlm_secure/guest/packages/figures.py": {"draw_idle": "matplotlib", "flush_events": "matplotlib"},
    "rlm_secure/policy/model.py": {"model_config": "pydantic", "_names_what_there_is": "pydantic"},
    "rlm_secure/scale/node.py": {
        f"_on_{kind}": "a message of the driver, by its kind"
        for kind in ("run", "lease", "refusal", "recall", "share", "spent", "unknown", "stop")
    },
    "rlm_secure/scale/ray.py": {
        f"_on_{kind}": "a message of a node, by its kind" for kind in ("need", "unknown", "call", "dropped", "audit")
    },
    "rlm_secure/testing/plugin.py": {
        "pytest_addoption": "pytest",
        "pytest_configure": "pytest",
        "pytest_generate_tests": "pytest",
    },
}


def unused(package: Path, *users: Path) -> set[tuple[str, str]]:
    """What vulture finds in `package` that neither it nor `users` use: file and name."""
    found = vulture.Vulture()
    found.scavenge([str(package)])
    left = {each.name for each in found.get_unused_code(min_confidence=60)}
    for path in users:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            text = file.read_text(encoding="utf-8")
            if not left.isdisjoint(re.findall(r"\w+", text)):  # to look at all takes three times as long
                found.scan(text, filename=file)
                left -= found.used_names
    return {
        (each.filename.relative_to(package.parent).as_posix(), each.name)
        for each in found.get_unused_code(min_confidence=60)
        if each.filename.is_relative_to(package)
    }


def test_all_code_is_used_or_named_here_with_its_user() -> None:
    users = [ROOT / name for name in ("tests", "benchmarks", "examples", "docs", "sandboxes") if (ROOT / name).is_dir()]
    found = {each for each in unused(ROOT / "rlm_secure", *users) if not each[0].startswith(FOR_CELLS)}
    named = {(file, name) for file, names in USED.items() for name in names}
    assert found - named == set()
    assert named - found == set(), "used now, or gone"


def test_what_nobody_uses_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text("def used(): ...\ndef dead(): ...\n")
    (tmp_path / "user.py").write_text("from package.one import used\nused()\n")
    assert unused(package, tmp_path / "user.py") == {("package/one.py", "dead")}
