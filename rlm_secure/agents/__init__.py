"""Agents behind the policy, sandboxes, budgets, logs and audit of RLM: ReAct, and code for questions over tables."""

from rlm_secure.agents.codegen.evidence import Evidence
from rlm_secure.agents.codegen.pipeline import Attempt, CodegenCompletion, CodegenPipeline
from rlm_secure.agents.codegen.prompts import PromptMap
from rlm_secure.agents.codegen.sandbox_repl import SandboxREPL, SandboxRun
from rlm_secure.agents.react.agent import ReActAgent, ReActCompletion, ReActStep
from rlm_secure.agents.react.tool import FinalAnswerCalled, Tool
from rlm_secure.agents.tables import CellChange, Table, TableDiff

__all__ = [
    "Attempt",
    "CellChange",
    "CodegenCompletion",
    "CodegenPipeline",
    "Evidence",
    "FinalAnswerCalled",
    "PromptMap",
    "ReActAgent",
    "ReActCompletion",
    "ReActStep",
    "SandboxREPL",
    "SandboxRun",
    "Table",
    "TableDiff",
    "Tool",
]
