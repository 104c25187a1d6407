"""Upstream's `rlm.utils.token_utils`."""

from rlm_secure.rlm.compaction import CONTEXT_LIMITS as MODEL_CONTEXT_LIMITS
from rlm_secure.rlm.compaction import DEFAULT_CONTEXT_LIMIT, count_tokens, get_context_limit

__all__ = ["DEFAULT_CONTEXT_LIMIT", "MODEL_CONTEXT_LIMITS", "count_tokens", "get_context_limit"]
