"""Packages in a folder that a link leads to, as in a virtual environment that was moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import packages, pool
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.policy.model import PACKAGES

CELL = """
import io
import matplotlib.pyplot as plt
file = io.BytesIO()
plt.title("x")
plt.savefig(file)
print(file.getvalue()[1:4])
"""


def test_text_is_drawn_where_a_link_leads_to_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = set(packages.folders(PACKAGES))
    link = tmp_path / "site-packages"
    link.symlink_to(folder)
    plan = Plan(packages=PACKAGES)
    pool.drain()
    zygote(plan).retire()
    monkeypatch.setattr(packages, "folders", lambda _names: [str(link)])
    try:
        with Sandbox(policy="data") as sandbox:
            assert sandbox.run(CELL).check().stdout == "b'PNG'\n"
    finally:
        pool.drain()
        zygote(plan).retire()
