"""The pins of the image with packages: python -m tests.docker.pins NAME==VERSION... >sandboxes/data/requirements.txt

Each wheel of each package, and of what it needs, by its hash on PyPI: for CPython 3.11 to 3.14 with glibc, on x86_64 and
aarch64. Nothing is installed, and settings of pip for other indexes are not used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
_HEAD = """\
# The wheels of the image for policies with numpy, pandas and matplotlib: of CPython 3.11 to 3.14 with glibc, on x86_64
# and aarch64. Made by `python -m tests.docker.pins`; pip installs no other file, and runs none.
"""


def found(packages: list[str], python: str, machine: str) -> list[dict]:
    """What pip would install."""
    command = [sys.executable, "-m", "pip", "--isolated", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--ignore-installed"]
    command += ["--report", "-", "--target", "nowhere", "--only-binary", ":all:", "--index-url", "https://pypi.org/simple"]
    command += ["--implementation", "cp", "--python-version", python]
    command += [word for tag in _TAGS for word in ("--platform", f"{tag}_{machine}")]
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run([*command, *packages], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["install"]


def main() -> None:
    pins: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for machine in MACHINES:
            for each in found(sys.argv[1:], python, machine):
                about = each["metadata"]
                digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
                pins[f"{about['name'].lower()}=={about['version']}"].add(digest)
    print(_HEAD, end="")
    for pin, digests in sorted(pins.items()):
        print(" \\\n    ".join([pin, *(f"--hash=sha256:{each}" for each in sorted(digests))]))


if __name__ == "__main__":
    main()
