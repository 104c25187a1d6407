"""The configuration of one run: the arguments of RLM, parsed and validated once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rlm_secure.clients import model_of
from rlm_secure.clients.prices import Prices
from rlm_secure.clients.windows import Windows
from rlm_secure.environments import AuditSink
from rlm_secure.events import Listener
from rlm_secure.logger import RLMLogger, VerbosePrinter
from rlm_secure.policy import Policy
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.rlm.prompts import PromptSet
from rlm_secure.tools import ToolInfo
from rlm_secure.types import RLMMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The configuration of a run. Its fields are attributes of RLM, where they are explained, under the same names.

    Sampling arguments are part of `backend_kwargs` and `other_backend_kwargs`.
    """

    backend: str
    backend_kwargs: dict[str, Any]
    environment_type: str
    environment_kwargs: dict[str, Any]
    depth: int
    max_depth: int
    max_iterations: int
    max_budget: float | None
    max_timeout: float | None
    max_tokens: int | None
    max_errors: int | None
    custom_system_prompt: str | None
    other_backends: list[str] | None
    other_backend_kwargs: list[dict[str, Any]] | None
    logger: RLMLogger | None
    verbose: VerbosePrinter
    persistent: bool
    custom_tools: dict[str, ToolInfo]
    custom_sub_tools: dict[str, ToolInfo]
    compaction: bool
    compaction_threshold_pct: float
    max_concurrent_subcalls: int
    on_subcall_start: Callable[[int, str, str], Any] | None
    on_subcall_complete: Callable[[int, str, float, str | None], Any] | None
    on_iteration_start: Callable[[int, int], Any] | None
    on_iteration_complete: Callable[[int, int, float], Any] | None
    orchestrator: bool
    user_prologue: str | None
    policy: Policy
    on_event: Listener | None
    answer_schema: AnswerSchema | None
    audit: AuditSink | None
    prompt_set: str
    describe_session: bool
    files: dict[str, bytes | bytearray | str | Path]
    prices: Prices
    windows: Windows
    words: PromptSet

    @property
    def root_model(self) -> str:
        """The name of the run's own model: as it was given, or the default of its client; see clients.model_of."""
        return model_of(self.backend, self.backend_kwargs)

    @property
    def models(self) -> frozenset[str]:
        """The models named in the run's own arguments; its cells may always name them."""
        named = [self.backend_kwargs, *(self.other_backend_kwargs or ())]
        return frozenset(kwargs["model_name"] for kwargs in named if kwargs.get("model_name"))

    @property
    def metadata(self) -> RLMMetadata:
        """The configuration as the first record of a trajectory."""
        return RLMMetadata(
            root_model=self.root_model,
            max_depth=self.max_depth,
            max_iterations=self.max_iterations,
            backend=self.backend,
            backend_kwargs=self.backend_kwargs,
            environment_type=self.environment_type,
            environment_kwargs=self.environment_kwargs,
            other_backends=self.other_backends,
        )

    def arguments(self) -> dict[str, Any]:
        """The arguments that make RLM produce this configuration again."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        del said["words"]  # derived from prompt_set
        said["environment"] = said.pop("environment_type")
        said["verbose"] = self.verbose.enabled
        said["prices"] = self.prices.given
        said["windows"] = self.windows.given
        said["answer_schema"] = None if self.answer_schema is None else self.answer_schema.given
        return said
