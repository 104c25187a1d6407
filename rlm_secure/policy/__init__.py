"""The policy: what a run may do, loaded from TOML, applied by the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlm_secure.late import importer

if TYPE_CHECKING:
    from rlm_secure.policy.gate import Decision, Gate
    from rlm_secure.policy.load import Loaded, Origin, load_policy, problems, trace
    from rlm_secure.policy.model import Policy

#: Imported on first use: the model needs pydantic, without which a session of a shipped policy starts (shipped.py).
_FROM: Final = {
    **dict.fromkeys(("Decision", "Gate"), "rlm_secure.policy.gate"),
    **dict.fromkeys(("Loaded", "Origin", "load_policy", "problems", "trace"), "rlm_secure.policy.load"),
    "Policy": "rlm_secure.policy.model",
}
__getattr__ = importer(__name__, _FROM)

__all__ = ["Decision", "Gate", "Loaded", "Origin", "Policy", "load_policy", "problems", "trace"]
