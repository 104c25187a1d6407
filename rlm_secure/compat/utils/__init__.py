"""Upstream's `rlm.utils`."""

from rlm_secure.compat.utils import exceptions, parsing, prompts, rlm_utils, token_utils

__all__ = ["exceptions", "parsing", "prompts", "rlm_utils", "token_utils"]
