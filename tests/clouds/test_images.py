"""What sandboxes are made from: pinned, without setuid programs, and built through the real SDKs."""

from __future__ import annotations

import io
import re
import tarfile
from typing import Any

import pytest

from rlm_secure.environments.cloud.images import DOCKERFILES, build, dockerfile
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guest.packages.finder import NEEDS
from rlm_secure.resources import sandboxes_dir
from tests.clouds.conftest import BUILDERS, Cloud

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")
BASE = "python@sha256:" + "b" * 64
BUILT = pytest.mark.parametrize("cloud", BUILDERS, indirect=True)


@pytest.mark.parametrize("provider", sorted(DOCKERFILES))
def test_a_dockerfile_is_on_its_digest_and_keeps_no_setuid_program(provider: str) -> None:
    text = dockerfile(provider, BASE)
    assert text.startswith(f"FROM {BASE}\n") and "BASE" not in text
    assert "chmod a-s" in text
    for word in ("pip", "apt", "curl", "COPY", "ADD", "ENV", "EXPOSE"):
        assert word not in text.split(), word
    assert "USER root" not in text and "USER" in text


@pytest.mark.parametrize("base", ["python", "python:3.12", "python@sha256:123", "python@sha256:" + "B" * 64])
def test_a_base_without_a_digest_is_refused(base: str) -> None:
    with pytest.raises(ValueError, match="not named by its digest"):
        dockerfile("e2b", base)


@pytest.mark.parametrize("provider", sorted(DOCKERFILES))
def test_packages_are_wheels_by_hash_installed_before_the_image_is_its_user_s(provider: str) -> None:
    text = dockerfile(provider, BASE, packages=True)
    first, _, *rest = text.splitlines()
    assert first == f"FROM {BASE}" and rest[0].startswith("RUN printf '%s\\n' 'contourpy==")
    plain = dockerfile(provider, BASE).splitlines()
    assert [line for line in rest[1:] if line] == [line for line in plain[1:] if line], "the rest is what it is without"
    assert "--require-hashes" in rest[0] and "--only-binary :all:" in rest[0] and "--no-deps" in rest[0]
    pins = re.findall(r"'([a-z-]+)==[0-9.]+((?: --hash=sha256:[0-9a-f]{64})+)'", rest[0])
    assert all(hashes.count("sha256") in (1, 8) for _, hashes in pins), "of four Pythons on two machines"
    needs = {{"PIL": "pillow", "dateutil": "python-dateutil"}.get(name, name.lower()) for names in NEEDS.values() for name in names}
    unpinned = {"mpl_toolkits", "six", "pytz", "_cyutility"}  # a part of another, and of older versions
    assert {name for name, _ in pins} == needs - unpinned


def test_every_dockerfile_is_shipped() -> None:
    assert all((sandboxes_dir() / path).is_file() for path in DOCKERFILES.values())


def _built(cloud: Cloud, name: str) -> tuple[str, dict[str, Any]]:
    """The Dockerfile as it arrived, in one text, and the size that was asked for."""
    if cloud.name == "e2b":
        (asked,) = cloud.emulator.recorded("POST /v3/templates$")
        (given,) = cloud.emulator.recorded("POST /v2/templates/tpl/builds/bld$")
        steps = [f"{step['type']} {' '.join(step['args'])}" for step in given.json["steps"]]
        return "\n".join([f"FROM {given.json['fromImage']}", *steps]), asked.json
    if cloud.name == "modal":
        base, own = (each.json["image"] for each in cloud.emulator.recorded("POST .*/ImageGetOrCreate$"))
        (named,) = cloud.emulator.recorded("POST .*/ImagePublish$")
        assert own["dockerfile_commands"][0] == "FROM base" and own["base_images"] == [{"docker_tag": "base", "image_id": "im-built"}]
        assert named.json == {"image_id": "im-built", "tag": name}, "named, and not public"
        return "\n".join([*base["dockerfile_commands"], *own["dockerfile_commands"][1:]]), {}
    if cloud.name == "prime":
        (asked,) = cloud.emulator.recorded("POST /api/v1/images/build$")
        (context,) = cloud.emulator.contexts
        with tarfile.open(fileobj=io.BytesIO(context)) as archive:
            (member,) = archive.getmembers()
            assert member.name == asked.json["dockerfile_path"]
            content = archive.extractfile(member)
            assert content is not None and asked.json["visibility"] == "PRIVATE"
            return content.read().decode(), {}  # a sandbox's size is asked for when it is made
    (asked,) = cloud.emulator.recorded("POST /api/snapshots$")
    return asked.json["buildInfo"]["dockerfileContent"], asked.json


@BUILT
def test_an_image_is_built_with_a_size(cloud: Cloud) -> None:
    said: list[str] = []
    name = build(cloud.name, BASE, cpus=2, memory_mib=3072, progress=said.append, **cloud.options)
    assert name == dict.fromkeys(("modal", "prime"), "rlm-secure-sandbox:1").get(cloud.name, "rlm-secure-sandbox-1") and said
    text, size = _built(cloud, name)
    assert text.startswith(f"FROM {BASE}") and "chmod a-s" in text
    if size:
        assert (size.get("cpuCount") or size["cpu"], size.get("memoryMB") or size["memory"]) in ((2, 3072), (2, 3))


@BUILT
def test_an_image_with_packages_has_a_name_and_a_size_of_its_own(cloud: Cloud) -> None:
    name = build(cloud.name, BASE, packages=True, **cloud.options)
    assert name == dict.fromkeys(("modal", "prime"), "rlm-secure-sandbox-data:1").get(cloud.name, "rlm-secure-sandbox-data-1")
    text, size = _built(cloud, name)
    assert "'pandas==3" in text and "pip install" in text and "chmod a-s" in text
    if size:
        assert (size.get("memoryMB") or size["memory"]) in (5120, 5)


@BUILT
def test_a_build_that_fails_says_what_the_provider_said(cloud: Cloud) -> None:
    cloud.emulator.build_status = {"modal": "FAILURE", "prime": "FAILED"}.get(cloud.name, "error")
    cloud.emulator.snapshot_state = "build_failed"
    with pytest.raises(EnvironmentUnavailable, match=f"{cloud.name} could not build .*as told"):
        build(cloud.name, BASE, **cloud.options)
