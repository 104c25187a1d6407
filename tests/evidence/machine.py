"""The machine and the commit, as JSON: `python -m tests.evidence.machine`."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
#: Programs beside Python that the walls, the tests or the benchmarks use.
PROGRAMS = {
    "docker": ("docker", "--version"),
    "git": ("git", "--version"),
    "gcc": ("gcc", "-dumpfullversion"),
    "chromium": ("chromium", "--version"),
}


def commit() -> dict[str, Any] | None:
    """The commit, and what differs from it; None where this is no checkout of git."""
    head = _said("git", "rev-parse", "HEAD")
    if head is None:
        return None
    changed = (_said("git", "status", "--porcelain") or "").splitlines()
    return {"id": head, "clean": not changed, "changed": changed, "when": _said("git", "log", "-1", "--format=%cI")}


def machine() -> dict[str, Any]:
    """What the figures of a report depend on."""
    distribution = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return {
        "commit": commit(),
        "kernel": platform.release(),
        "kernel_build": platform.version(),
        "architecture": platform.machine(),
        "distribution": distribution.get("PRETTY_NAME", ""),
        "libc": " ".join(platform.libc_ver()),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "load": list(os.getloadavg()),
        "memory_bytes": psutil.virtual_memory().total,
        "uid": os.getuid(),
        "security_modules": _read("/sys/kernel/security/lsm"),
        "python": sys.version,
        "python_path": sys.executable,
        "programs": {name: _said(*command) for name, command in PROGRAMS.items()},
        "packages": {
            name: each.version for each in importlib.metadata.distributions() if (name := each.metadata["Name"])
        },
    }


def _processor() -> str:
    text = _read("/proc/cpuinfo")
    found = re.search(r"^(?:model name|Model|Processor)\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _said(*command: str) -> str | None:
    """What a program says of itself; None where it is not there, or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


if __name__ == "__main__":
    print(json.dumps(machine(), indent=2))
