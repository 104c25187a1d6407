"""Values, files and output of a session in a container, as of a local one."""

from __future__ import annotations

from rlm_secure import Sandbox
from tests.docker.conftest import tightened
from tests.environments.test_values import values_files_and_output


def test_values_files_and_output_cross_as_they_do_locally(image: str) -> None:
    with Sandbox(tightened(files=9), environment="docker", environment_kwargs={"image": image}) as sandbox:
        values_files_and_output(sandbox)
