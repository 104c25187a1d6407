"""Sessions with numpy, pandas and matplotlib in a container: of an image that has them, behind the same walls."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.environments.docker import DockerEnvironment, build, container
from rlm_secure.environments.registry import create_environment
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.environments.remote.data_image import PACKAGES_BYTES
from rlm_secure.errors import EnforcementError, EnvironmentUnavailable
from rlm_secure.guarantees import Guarantee, Level, Wall
from rlm_secure.policy import load_policy
from tests.clouds.conftest import provided
from tests.docker.conftest import BASE, WHEELS, own, policy, python
from tests.docker.test_command import command
from tests.environments.packages import TABLE, data, table_and_figure


@pytest.fixture(scope="module")
def session(data_image: str) -> Iterator[RemoteSession]:
    with DockerEnvironment(image=data_image).session(data()) as opened:
        yield opened


def test_cells_compute_and_draw_with_the_packages_of_the_image(session: RemoteSession) -> None:
    table_and_figure(session)


def test_the_language_wall_is_partial_and_every_other_is_what_it_is_without_packages(
    session: RemoteSession, shared: RemoteSession
) -> None:
    levels = {wall.wall: wall.level for wall in session.report.walls}
    plain = {wall.wall: wall.level for wall in shared.report.walls}
    assert levels == {**plain, Wall.LANGUAGE: Level.PARTIAL} and plain[Wall.LANGUAGE] is Level.FULL
    assert "C code of matplotlib, numpy, pandas" in session.report[Wall.LANGUAGE].evidence
    assert session.report.guarantee(Guarantee.NO_REFLECTION) is Level.PARTIAL
    for guarantee in (
        Guarantee.NO_HOST_FILES, Guarantee.NO_NETWORK, Guarantee.NO_EXEC, Guarantee.NO_SECRETS, Guarantee.BOUNDED_TIME,
        Guarantee.BOUNDED_MEMORY, Guarantee.BOUNDED_PROCESSES, Guarantee.BOUNDED_OUTPUT, Guarantee.NO_LEFTOVERS,
    ):  # fmt: skip
        assert session.report.guarantee(guarantee) is Level.FULL, guarantee
    assert session.report.details["bundle_sha256"] == shared.report.details["bundle_sha256"]


def test_the_container_has_memory_for_the_packages_and_no_thread_of_theirs(engine: Any, session: RemoteSession) -> None:
    session.execute("import numpy as np\nprint((np.ones((600, 600)) @ np.ones((600, 600))).sum())", None)
    host = engine.api.inspect_container(session._lease._id)["HostConfig"]
    assert host["Memory"] == data().limits.memory_bytes + container.OVERHEAD_BYTES + PACKAGES_BYTES
    assert host["ReadonlyRootfs"] and host["PidsLimit"] == container.PROCESSES + data().limits.processes
    threads = "import glob\nprint({len(glob.glob(f'{each}/task/*')) for each in glob.glob('/proc/[0-9]*')})"
    assert python(session, threads) == "{1}"
    written = "import os\nprint(sorted(os.listdir('/tmp')))"
    assert python(session, written) in ("[]", "['broker']"), "no cache of matplotlib"


def test_the_last_byte_of_the_worker_s_memory_is_a_memory_error_and_not_the_end_of_the_container(data_image: str) -> None:
    fill = "import numpy as np\nkept = []\nwhile True: kept.append(np.ones(4_000_000 // 8))"
    with DockerEnvironment(image=data_image).session(data(memory_bytes=512 << 20)) as opened:
        opened.execute("x = 6 * 7", None)
        result = opened.execute(fill, None)
        assert "MemoryError" in result.stderr, result.stderr
        assert opened.execute("kept = None\nprint(x)", None).stdout == "42\n"
        table_and_figure(opened)  # in the same container


#: Attempts of plain Python in a worker, which reach for what the packages can do, and the error of each.
FILES = [
    "open('/etc/passwd').read()",
    "import os; os.listdir('/usr/local/lib')",
    "import numpy as np; np.fromfile(np.__file__, 'u1')",
    "import numpy as np; np.memmap('/tmp/x', mode='w+', shape=(9,))",
    "import pandas as pd; pd.read_csv('/etc/passwd')",
    "import matplotlib.pyplot as plt; plt.figure().savefig('/tmp/x.png')",
]
THREAD = "import _thread; _thread.start_new_thread(print, ('WON',))"


def test_the_kernel_s_walls_hold_without_the_language_wall(data_image: str) -> None:
    with DockerEnvironment(image=data_image).session(data(), screen=False) as opened:
        for code in FILES:
            assert "PermissionError: [Errno 1]" in opened.execute(code, None).stderr, code
        assert "PNG" in opened.execute(TABLE, None).stdout
        result = opened.execute(THREAD, None)
        assert "WON" not in result.stdout and "forbidden system call (seccomp)" in result.stderr


def test_an_image_without_them_is_refused_in_one_sentence_that_says_what_to_build(engine: Any, image: str) -> None:
    before = own(engine)
    with pytest.raises(EnvironmentUnavailable) as raised:
        DockerEnvironment(image=image).session(data())
    assert str(raised.value) == (
        "the policy gives packages to cells that this docker sandbox cannot import (No module named 'matplotlib'); "
        "build one that can with `rlm-secure sandbox build docker --policy data --base python@sha256:<digest>`"
    )
    assert own(engine) == before


def test_a_policy_that_requires_the_language_wall_gets_no_session_with_packages(data_image: str) -> None:
    loaded = data()
    strict = loaded.isolation.model_copy(update={"best_effort": (), "docker": (*loaded.isolation.docker, Wall.LANGUAGE)})
    with pytest.raises(EnforcementError, match="language.*take the third-party packages out of language.modules"):
        DockerEnvironment(image=data_image, transport="exec").session(loaded.model_copy(update={"isolation": strict}))


def test_sessions_without_packages_run_in_the_same_image(data_image: str) -> None:
    with DockerEnvironment(image=data_image).session(policy()) as opened:
        assert opened.report[Wall.LANGUAGE].level is Level.FULL
        assert "pandas" in opened.execute("import pandas", None).stderr


def test_an_engine_that_lacks_the_image_says_how_to_build_it(engine: Any) -> None:
    from rlm_secure.environments.docker.engine import image as find

    with pytest.raises(EnvironmentUnavailable, match=r"build docker --policy data --base"):
        find(engine, "rlm-secure-nowhere:1", packages=True)
    with pytest.raises(EnvironmentUnavailable, match=r"build docker --base"):
        find(engine, "rlm-secure-nowhere:1")


def test_the_command_builds_it_without_a_network(data_image: str, engine: Any) -> None:
    name = "rlm-secure-command-data:1"
    done = command("build", "docker", "--base", BASE, "--policy", "data", "--wheels", str(WHEELS), "--name", name)
    try:
        assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
        assert engine.images.get(name).id == engine.images.get(data_image).id
    finally:
        engine.images.remove(name)


def test_a_wheel_that_is_not_the_pinned_one_is_not_installed(data_image: str, tmp_path: Path) -> None:
    for each in WHEELS.glob("*.whl"):
        (tmp_path / each.name).symlink_to(each)
    other = next(tmp_path.glob("cycler-*.whl"))
    shutil.copyfile(other.resolve(), copy := tmp_path / "copy")
    with copy.open("ab") as file:
        file.write(b"\0")
    copy.replace(other)
    said: list[str] = []
    with pytest.raises(EnvironmentUnavailable, match="the image could not be built"):
        build(BASE, "rlm-secure-never:1", packages=True, wheels=tmp_path, progress=said.append)
    assert any("HASHES" in line for line in said), said


def test_wheels_are_for_an_image_with_packages_and_have_to_be_there(image: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no wheels in"):
        build(BASE, "rlm-secure-never:1", packages=True, wheels=tmp_path)
    with pytest.raises(ValueError, match="wheels are for an image with packages"):
        build(BASE, "rlm-secure-never:1", wheels=WHEELS)


def test_pods_of_that_image_compute_and_draw_behind_the_same_walls(data_image: str) -> None:
    name = f"registry.example/data@sha256:{'c' * 64}"
    with provided("kubernetes") as cloud:
        cloud.emulator.images[name] = data_image
        environment = create_environment("kubernetes", **{**cloud.options, "image": name})
        with environment.open(data()) as session:
            table_and_figure(session)
            assert session.report[Wall.LANGUAGE].level is Level.PARTIAL
            assert session.report.missing(load_policy("data").isolation.required("kubernetes")) == ()
            for guarantee in (Guarantee.NO_HOST_FILES, Guarantee.NO_EXEC, Guarantee.BOUNDED_TIME, Guarantee.BOUNDED_PROCESSES):
                assert session.report.guarantee(guarantee) is Level.FULL, guarantee
