"""The policy: what a run may do, loaded from TOML, applied by the gate."""

from rlm_secure.policy.gate import Decision, Gate
from rlm_secure.policy.load import Loaded, Origin, load_policy, problems, trace
from rlm_secure.policy.model import Policy

__all__ = ["Decision", "Gate", "Loaded", "Origin", "Policy", "load_policy", "problems", "trace"]
