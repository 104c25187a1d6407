"""A provider that does to a client what it can, over each SDK's real wire: bounded in memory and time, and typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests.clients.hostile import FITS, LARGE, SLOW, HostileProvider
from tests.clients.victim import LARGE_SECONDS, SLOW_SECONDS

MIB = 1024 * 1024
#: The default of lm.reply_bytes, four times; and what the allocator and the SDK hold besides.
MEMORY = 4 * 4 * MIB + MIB
#: Every block of some size is mapped by itself and given back at once, so that the process is as large as what it holds.
MEASURABLE = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


def suffered(address: str, how_much: str, *backends: str) -> list[dict[str, Any]]:
    """What victim.py says. It may take 3 GB of address space: who takes more gets a MemoryError, and the machine lives."""
    program = (
        f"ulimit -v 3000000; exec {sys.executable} -m tests.clients.victim {address} {how_much} {' '.join(backends)}"
    )
    run = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=280, env={**os.environ, **MEASURABLE}
    )
    assert run.returncode == 0, run.stderr[-2000:]
    # litellm prints lines of its own.
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"backend"')]


@pytest.mark.parametrize(
    ("how_much", "backends"),
    [
        ("all", ["openai"]),
        ("all", ["gemini"]),
        ("few", ["anthropic", "azure_openai", "portkey"]),
        # It is installed apart: see conftest.py.
        *([("few", ["litellm", "litellm-anthropic"])] if find_spec("litellm") else []),
    ],
    ids=lambda value: "-and-".join(value) if isinstance(value, list) else value,
)
def test_a_hostile_provider_costs_no_more_than_the_policy_says(how_much: str, backends: list[str]) -> None:
    with HostileProvider() as server:
        said = suffered(server.address, how_much, *backends)
    wrong = []
    for each in said:
        deed, error = each["deed"], each["error"]
        limit = SLOW_SECONDS if deed in SLOW else LARGE_SECONDS
        typed = error is None or not error.startswith("untyped")
        as_told = error is None if deed == "ok" else deed in FITS or error is not None
        if not typed or not as_told or each["seconds"] > limit + 5 or each.get("memory", 0) > MEMORY:
            wrong.append(each)
        if deed in SLOW and not each["retryable"]:
            wrong.append(each)
    assert wrong == []
    kinds = {"all": 1 + len(LARGE) + len(FITS) + len(SLOW), "few": 7}[how_much]
    assert len({(each["backend"], each["deed"], each["way"]) for each in said}) == kinds * 2 * len(backends)
