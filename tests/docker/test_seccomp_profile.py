"""The shipped container profile, read by the real engine: Python starts under it, and what it refuses is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rlm_secure.resources import seccomp_profile

IMAGE = "rlm-secure-test-base"

SCRIPT = """
import ctypes, json, subprocess, sys, threading
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
libc = ctypes.CDLL(None, use_errno=True)
def tried(call):
    ctypes.set_errno(0)
    return [call(), ctypes.get_errno()]
print(json.dumps({
    "child": subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout,
    "filtered": open("/proc/self/status").read().split("Seccomp:")[1].split()[0],
    "user namespace": tried(lambda: libc.unshare(0x10000000)),
    "mount": tried(lambda: libc.mount(None, b"/", None, 0, None)),
    "ptrace": tried(lambda: libc.ptrace(0, 0, None, None)),
    "netlink": tried(lambda: libc.socket(16, 3, 0)),
}))
"""


@pytest.fixture(scope="module")
def image() -> str:
    subprocess.run([Path(__file__).parent / "base_image.sh", IMAGE], check=True)
    return IMAGE


@pytest.mark.docker
@pytest.mark.parametrize(
    "hardening", [(), ("--cap-drop=ALL", "--user=65534:65534", "--security-opt=no-new-privileges")]
)
def test_the_engine_enforces_the_profile(image: str, hardening: tuple[str, ...]) -> None:
    profile = f"--security-opt=seccomp={seccomp_profile('docker')}"
    command = ["docker", "run", "--rm", "--network=none", "--read-only", *hardening, profile, image]
    done = subprocess.run([*command, "python3", "-I", "-c", SCRIPT], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "child": "1\n",
        "filtered": "2",
        "user namespace": [-1, 1],
        "mount": [-1, 1],
        "ptrace": [-1, 1],
        "netlink": [-1, 1],
    }


@pytest.mark.docker
def test_without_a_profile_the_same_calls_reach_the_kernel(image: str) -> None:
    command = ["docker", "run", "--rm", "--network=none", "--security-opt=seccomp=unconfined", image]
    done = subprocess.run([*command, "python3", "-I", "-c", SCRIPT], capture_output=True, text=True, timeout=150)
    tried = json.loads(done.stdout)
    assert tried["filtered"] == "0"
    assert tried["netlink"][0] >= 0
    assert tried["ptrace"][0] == 0
