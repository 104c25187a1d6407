"""Pages as a real browser shows them: on a phone and on a desk, light and dark, with axe looking as well."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

MODULES = Path(__file__).parents[2] / ".browser"
#: The looks that looks.mjs takes at each page.
EACH = 3


def check(
    address: str, pages: Sequence[str], *, scripts: bool = True, shots: Path | None = None, timeout: float = 100
) -> None:
    """Fail with every one of faults()."""
    found = faults(address, pages, scripts=scripts, shots=shots, timeout=timeout)
    assert not found, "\n".join(map(str, found))


def faults(
    address: str, pages: Sequence[str], *, scripts: bool = True, shots: Path | None = None, timeout: float = 100
) -> list[dict[str, Any]]:
    """The looks at pages below `address` at which something is wrong.

    `scripts` is False for pages that forbid scripts to themselves. Each look is a picture in `shots`. Skips the test
    where there is no browser.
    """
    chromium, node = shutil.which("chromium"), shutil.which("node")
    if chromium is None or node is None or not (MODULES / "node_modules/axe-core").is_dir():
        pytest.skip("there is no browser to show pages in; run .ci/setup-browser")
    told = {
        "modules": str(MODULES), "chromium": chromium, "address": address, "pages": list(pages), "scripts": scripts,
        "shots": None if shots is None else str(shots),
    }  # fmt: skip
    command = [node, str(Path(__file__).with_name("looks.mjs")), json.dumps(told)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    looks = json.loads(done.stdout)
    assert len(looks) == EACH * len(pages) > 0
    return [look for look in looks if wrong(look)]


def wrong(look: dict[str, Any]) -> bool:
    """Whether the page logs, asks for what is not below its address, violates rules of axe, has next to nothing that
    they apply to, or is wider than the screen."""
    found = look["logged"] or look["foreign"] or look["violations"]
    return bool(found) or look["overflow"] > 0 or look["passes"] <= 10
