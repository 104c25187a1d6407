"""Leaves litellm's tests out where litellm is not: it cannot be installed beside the newest openai."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("litellm") else ["test_litellm.py"]
