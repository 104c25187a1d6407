"""For tests and audits: a session without the language layer, and the attack corpus.

What is named here is imported when it is used: pytest loads the plugin in this package into every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlm_secure.testing.bare import Unscreened, unscreened

__all__ = ["Unscreened", "unscreened"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rlm_secure.testing import bare

    return getattr(bare, name)
