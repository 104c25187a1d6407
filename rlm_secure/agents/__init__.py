"""The ReAct agent, behind the same policy, sandboxes, budgets, logs and audit as RLM."""

from rlm_secure.agents.react.agent import ReActAgent, ReActCompletion, ReActStep
from rlm_secure.agents.react.tool import FinalAnswerCalled, Tool

__all__ = ["FinalAnswerCalled", "ReActAgent", "ReActCompletion", "ReActStep", "Tool"]
