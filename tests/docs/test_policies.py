"""The table of the shipped policies says what they say."""

from __future__ import annotations

import re

from rlm_secure.policy import load_policy
from tests.docs.blocks import SITE

PAGE = SITE / "policies" / "index.md"


def shown(value: object, key: str) -> str:
    """A policy's value as the page writes it."""
    if isinstance(value, tuple):
        return str(len(value))
    assert isinstance(value, int | float)
    if not key.endswith("_bytes"):
        return f"{value:,.0f}"
    return f"{value // 2**30} GiB" if value >= 2**30 else f"{value // 2**20} MiB"


def test_the_policy_table_says_what_the_policies_say() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)`[^|]*\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 8
    policies = [load_policy(name) for name in ("strict", "standard", "data", "research")]
    for key, *written in rows:
        section, name = key.split(".")
        assert [key, *written] == [key, *(shown(getattr(getattr(each, section), name), key) for each in policies)]
