"""concurrent, which only has futures."""

from __future__ import annotations

import concurrent.futures as futures

__all__ = ["futures"]
LEFT_OUT: dict[str, str] = {}
