"""How many examples a property is tried with: a fifth of what `python -m tests --all` tries."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

EXHAUSTIVE = os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1"


def examples(count: int) -> int:
    """`count` examples, or a fifth of them."""
    return count if EXHAUSTIVE else max(count // 5, 10)


# Time says nothing here: the parts of the suite share the machine.
settings.register_profile(
    "rlm_secure", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rlm_secure")
