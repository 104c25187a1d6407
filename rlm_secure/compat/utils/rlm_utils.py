"""Upstream's `rlm.utils.rlm_utils`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlm_secure.logger.redact import names_a_secret


def filter_sensitive_keys(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """`kwargs` without entries whose names suggest a secret; upstream removes only API keys."""
    return {key: value for key, value in kwargs.items() if not names_a_secret(key)}
