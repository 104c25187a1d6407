"""What is said of an image that has not the packages of a policy."""

from __future__ import annotations

import pytest

from rlm_secure.environments.remote.data_image import unfit


@pytest.mark.parametrize(("environment", "build", "end"), [
    ("docker", "build docker", "sha256:<digest>`"),
    ("e2b", "build e2b", "sha256:<digest>`"),
    ("kubernetes", "build docker", "push it, and name it by its digest"),
    ("somebody-elses", "build somebody-elses", "sha256:<digest>`"),
])  # fmt: skip
def test_an_image_without_the_packages_names_the_command_that_builds_one(environment: str, build: str, end: str) -> None:
    said = unfit(environment, "No module named 'numpy'")
    assert said.startswith(f"the policy gives packages to cells that this {environment} sandbox cannot import (No module")
    assert f"`rlm-secure sandbox {build} --policy data" in said
    assert said.endswith(end)
