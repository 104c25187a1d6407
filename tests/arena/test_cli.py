"""`rlm-secure arena`."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from rlm_secure.cli import main
from tests.arena import scene


def test_it_says_what_is_shared_and_exits_as_the_command(capfd):
    assert (
        main(
            [
                "arena",
                "--share",
                "/usr",
                "--share-network",
                "--share-variable",
                "PATH",
                "--",
                "sh",
                "-c",
                "echo hi; exit 4",
            ]
        )
        == 4
    )
    out, err = capfd.readouterr()
    assert out == "hi\n"
    said = " ".join(err.split())
    assert said.startswith("arena: shared with it: /usr, the host's network, the variable PATH")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--share", "/"], 2, "--share '/': name one directory, file or socket, not everything"),
        (["--share", "/run"], 2, "an arena has a /run of its own"),
        (["--share", "/no/such"], 125, "--share /no/such: there is no such path"),
        (["--share", "/no/such/new:rw"], 125, "it cannot be made"),
    ],
)
def test_a_share_that_cannot_be_is_refused(capfd, options, status, said):
    assert main(["arena", *options, "--", "echo", "started"]) == status
    out, err = capfd.readouterr()
    assert out == "" and said in " ".join(err.split()) and err.startswith("rlm-secure arena: error: ")


def test_it_reads_the_callers_input():
    found = subprocess.run(scene.cli("--", "cat"), input=b"given", capture_output=True, cwd=scene.ROOT)
    assert (found.stdout, found.returncode) == (b"given", 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_it_runs_its_command_where_standard_streams_are_closed(closed):
    """The builder of the arena once took a descriptor of its own for its input, and died."""
    command = ["sh", "-c", f'"$@" {closed}', "sh", *scene.cli("--", "sh", "-c", "exit 4")]
    assert subprocess.run(command, cwd=scene.ROOT, stderr=subprocess.DEVNULL).returncode == 4


def test_a_command_is_needed():
    with pytest.raises(SystemExit):
        main(["arena"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_the_commands_to_answer(number):
    line = "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done"
    command = scene.cli("--", "sh", "-c", line)
    # A shell that starts us in the background has SIGINT ignored, and Python then leaves it so.
    process = subprocess.Popen(
        command, cwd=scene.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == b"ready\n"
        assert process.stderr.readline().startswith(b"arena: ")
        time.sleep(0.3)  # it waits for the command by now
        os.kill(process.pid, number)
        assert process.stdout.read() == b"caught\n"
        assert process.wait(10) == 3
    assert scene.groups(process.pid) == []


@pytest.mark.root
def test_nobody_gets_one_too():
    found = subprocess.run(
        scene.cli("--", "sh", "-c", "id -u; exit 5", nobody=True), cwd=scene.ROOT, capture_output=True, text=True
    )
    assert (found.stdout, found.returncode) == ("65534\n", 5)
    assert "without a cgroup" in found.stderr
