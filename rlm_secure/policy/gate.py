"""Every "no" of the host, in one place. Each is a Decision: what was asked, which rule answered, and why.

The gate is asked before anything happens: before an environment starts, before a cell leaves the host, before a
model or a tool is called. What it is asked about comes from untrusted code, so it looks at types and sizes and
at nothing else, and repeats at most 80 characters of it, made inert.

Guards: every "no" of the host
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rlm_secure.errors import Refused
from rlm_secure.policy.model import Policy

#: What keys and tokens of well-known services look like: text that starts so is never repeated.
_SECRET = re.compile(
    r"(?i)\b(sk|pk|rk|gh[opsu]|xox[abpr]|akia|asia|aiza|ya29|eyj|hf|glpat|bearer)[-_. ]?[\w./+=-]{12,}"
)
_SHOWN = 80
_TOOL_NAME = 128


@dataclass(frozen=True, slots=True)
class Decision:
    """One answer of the gate.

    `rule` is the id of the rule that decided ("lm-models"), `reason` one sentence that ends with what to do; it is
    empty where `allowed`.
    """

    allowed: bool
    rule: str
    reason: str = ""

    def require(self) -> None:
        """Raise Refused unless allowed."""
        if not self.allowed:
            raise Refused(self)


class Gate:
    """Decides under one policy. Holds no state: asking twice gives the same answer. Thread-safe.

    `run_models` are the models that the run itself was given, which its cells may always name. `tools` are the
    host callables that cells may call; without it only their names are checked, not whether they exist.
    """

    def __init__(
        self,
        policy: Policy,
        run_models: frozenset[str] = frozenset(),
        tools: frozenset[str] | None = None,
    ) -> None:
        self.policy = policy
        self.run_models = run_models
        self.tools = tools

    def environment(self, name: str) -> Decision:
        """Whether sessions may run in the environment `name`."""
        allowed = self.policy.isolation.environments
        if name in allowed:
            return Decision(True, "environment")
        return Decision(
            False,
            "environment",
            f"the policy {self.policy.name} does not allow the environment {shown(name)}; use "
            f"{_either(allowed)}, or add it to isolation.environments",
        )

    def model(self, name: object) -> Decision:
        """Whether a cell may ask for the model `name`; None is the run's own."""
        if name is None:
            return Decision(True, "lm-models")
        if not isinstance(name, str):
            return Decision(False, "lm-models", f"a model is named by a str, not by {_kind(name)}")
        allowed = (*self.policy.lm.models, *sorted(self.run_models))
        if name in allowed:
            return Decision(True, "lm-models")
        close = difflib.get_close_matches(name[:200], allowed, 1)
        instead = f"use {close[0]!r}" if close else "leave model= out to use the run's own"
        return Decision(
            False,
            "lm-models",
            f"the model {shown(name)} is not one that cells may use; {instead}, or have it added to lm.models",
        )

    def batch(self, size: int) -> Decision:
        """Whether one call may carry `size` prompts."""
        limit = self.policy.lm.batch
        if size <= limit:
            return Decision(True, "lm-batch")
        return Decision(
            False, "lm-batch", f"a batch of {size:,} prompts is more than lm.batch = {limit:,}; send smaller ones"
        )

    def prompts(self, prompts: Sequence[object]) -> Decision:
        """Whether the prompts are text, and each is short enough."""
        limit = self.policy.lm.prompt_bytes
        for number, prompt in enumerate(prompts):
            which = "the prompt" if len(prompts) == 1 else f"prompt {number}"
            if not isinstance(prompt, str):
                return Decision(False, "lm-prompt-type", f"{which} is {_kind(prompt)}, not a str; use str()")
            if (size := _excess(prompt, limit)) is not None:
                return Decision(
                    False,
                    "lm-prompt-bytes",
                    f"{which} takes {size:,} bytes, more than lm.prompt_bytes = {limit:,}; split it and ask in parts",
                )
        return Decision(True, "lm-prompts")

    def reply(self, text: object) -> Decision:
        """Whether a model's reply may enter the guest."""
        if not isinstance(text, str):
            return Decision(False, "lm-reply-type", f"the model's client answered with {_kind(text)}, not with a str")
        limit = self.policy.lm.reply_bytes
        if (size := _excess(text, limit)) is not None:
            return Decision(
                False,
                "lm-reply-bytes",
                f"the model's reply takes {size:,} bytes, more than lm.reply_bytes = {limit:,}; ask for a shorter one",
            )
        return Decision(True, "lm-reply-bytes")

    def depth(self, depth: int) -> Decision:
        """Whether a child run may exist at recursion depth `depth`; the root run is at 0."""
        limit = self.policy.lm.depth
        if depth <= limit:
            return Decision(True, "lm-depth")
        return Decision(
            False, "lm-depth", f"a recursion at depth {depth} is deeper than lm.depth = {limit}; use llm_query instead"
        )

    def cell_source(self, code: object) -> Decision:
        """Whether a cell is short enough to be sent. The host never looks further into it."""
        if not isinstance(code, str):
            return Decision(False, "cell-type", f"a cell is a str of Python source, not {_kind(code)}")
        limit = self.policy.language.source_bytes
        if (size := _excess(code, limit)) is not None:
            return Decision(
                False,
                "cell-source-bytes",
                f"the cell takes {size:,} bytes, more than language.source_bytes = {limit:,}; move data to the context",
            )
        return Decision(True, "cell-source-bytes")

    def context(self, size: int) -> Decision:
        """Whether a context of `size` bytes, as it is stored for the guest, may be loaded."""
        limit = self.policy.limits.context_bytes
        if size <= limit:
            return Decision(True, "context-bytes")
        return Decision(
            False,
            "context-bytes",
            f"the context takes {size:,} bytes, more than limits.context_bytes = {limit:,}; raise it or send less",
        )

    def cells(self, count: int) -> Decision:
        """Whether a session may run its cell number `count`, counted from 1."""
        limit = self.policy.limits.cells
        if count <= limit:
            return Decision(True, "cells")
        return Decision(False, "cells", f"the session has run limits.cells = {limit:,} cells; start a new session")

    def tool(self, name: object) -> Decision:
        """Whether a cell may call the host callable `name`."""
        if not isinstance(name, str) or len(name) > _TOOL_NAME or not name.isidentifier() or name.startswith("__"):
            return Decision(False, "tool-name", f"{shown(name)} is no name of a tool; a name looks like search_notes")
        if self.tools is not None and name not in self.tools:
            known = f"there are {_either(sorted(self.tools))}" if self.tools else "this run has none"
            return Decision(False, "tool-unknown", f"there is no tool {shown(name)}; {known}")
        return Decision(True, "tool-name")

    def ingress(self) -> Decision:
        """Whether the host may reach a cloud broker through the provider's ingress."""
        if self.policy.network.ingress:
            return Decision(True, "ingress")
        return Decision(
            False,
            "ingress",
            f"the policy {self.policy.name} opens no port of a sandbox; use the exec transport, or set network.ingress",
        )


def shown(value: object) -> str:
    """Untrusted text for a message: quoted, ASCII, inert, at most 80 characters of it, and never a key."""
    if not isinstance(value, str):
        return f"<{_kind(value)}>"
    if _SECRET.search(value[:4096]):
        return "<looks like a secret>"
    return ascii(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else "")


def _excess(text: str, limit: int) -> int | None:
    """The size of `text` in UTF-8 bytes where it is over `limit`, else None; without encoding what cannot be."""
    if len(text) * 4 <= limit:
        return None
    if len(text) > limit:
        return len(text)  # at least; enough to refuse without a copy
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if size > limit else None


def _kind(value: object) -> str:
    name = type(value).__name__
    return ascii(name[:40])[1:-1]


def _either(names: Sequence[str]) -> str:
    listed = [name[:40] for name in names[:12]] + ([f"{len(names) - 12} more"] if len(names) > 12 else [])
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}" if listed else "none"
