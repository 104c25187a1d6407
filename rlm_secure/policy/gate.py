"""Every refusal of the host, in one place. Each is a Decision: whether it is allowed, which rule decided, and why.

The gate is asked first: before an environment starts, before a cell leaves the host, before a model or a tool is
called. Its input comes from untrusted code, so it checks only types, sizes and names, and messages quote at most 80
characters of it (400 of a tool's problem), escaped.

Guards: every refusal of the host
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlm_secure.errors import CallRefused, CellRefused, EnforcementError, PromptTooLarge, Refused
from rlm_secure.guarantees import EnforcementReport, Wall
from rlm_secure.registry import environment_names

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

#: The formats of keys and tokens of well-known services: text that contains one is never quoted.
_SECRET = re.compile(
    r"(?i)\b(sk|pk|rk|gh[opsu]|xox[abpr]|akia|asia|aiza|ya29|eyj|hf|glpat|bearer)[-_. ]?[\w./+=-]{12,}"
)
_SHOWN = 80
#: Abandoned calls that one RLM, and one process, may have, in multiples of a session's limit. Beyond that, up to twice
#: as many, only a session without abandoned calls may call: sessions that fill the first half cannot block others.
ABANDONED_OF_OWNER, ABANDONED_OF_PROCESS = 8, 32
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

    def require(self, error: type[Refused | CallRefused] = Refused) -> None:
        """Raise `error`, Refused by default, unless allowed."""
        if not self.allowed:
            raise error(self)

    @property
    def cell_error(self) -> CellRefused:
        """The refusal as the error in a cell's result."""
        return CellRefused(f"{self.rule}: {self.reason}", rule=self.rule, wall="language")


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
        """The policy under which it decides."""
        self.run_models = run_models
        self.tools = tools

    def environment(self, name: str) -> Decision:
        """Whether sessions may run in the environment `name`."""
        allowed = self.policy.isolation.environments
        if name in allowed:
            return Decision(True, "environment")
        said = f"the policy {self.policy.name} does not allow the environment {shown(name)}; use {_either(allowed)}"
        # A policy may name only what is installed.
        install = "" if name in environment_names() else "install the distribution that offers it, and "
        return Decision(False, "environment", f"{said}, or {install}add it to isolation.environments")

    def walls(self, missing: Sequence[str], evidence: str, advice: str) -> Decision:
        """Whether a session may start: only if no required wall is `missing`."""
        return _unless(
            "walls",
            bool(missing),
            f"policy {self.policy.name!r} requires walls that do not hold here: {', '.join(missing)} ({evidence}); "
            f"{advice}, or name them in isolation.best_effort with a reason",
        )

    def require_walls(self, report: EnforcementReport, required: Iterable[Wall], place: str, advice: str) -> None:
        """Raise EnforcementError unless `report`, of a session at `place`, shows every wall of `required`."""
        if missing := report.missing(required):
            names = tuple(wall.value for wall in missing)
            refused = self.walls(names, f"{place}: {report[missing[0]].evidence}", advice)
            raise EnforcementError(refused.reason, missing=names)

    def ingress(self) -> Decision:
        """Whether the host may reach a cloud broker through the provider's ingress."""
        return _unless(
            "ingress",
            not self.policy.network.ingress,
            f"the policy {self.policy.name} opens no port of a sandbox; "
            "use the exec transport, or set network.ingress = true",
        )

    # -- who may use a session --------------------------------------------------------------------

    @staticmethod
    def process(owner: int) -> Decision:
        """Whether this process may use what the process `owner` made: a fork of it may not."""
        if (pid := os.getpid()) == owner:
            return _OWN
        return Decision(
            False, "session-process", f"this belongs to process {owner}, and this is its fork {pid}; make one here"
        )

    @staticmethod
    def reentrant(serving: bool) -> Decision:
        """Whether a session may be used by a call that its own cell waits for (`serving`)."""
        return _unless(
            "session-reentrant",
            serving,
            "a cell of this session waits for this very call; return first, or use another session",
        )

    # -- models -----------------------------------------------------------------------------------

    def model(self, name: object) -> Decision:
        """Whether a cell may ask for the model `name`; None is the run's own."""
        if name is None:
            return Decision(True, "lm-models")
        if not isinstance(name, str):
            return Decision(False, "lm-models", f"a model is named by a str, not by {_kind(name)}")
        allowed = (*self.policy.lm.models, *sorted(self.run_models))
        if name in allowed:
            return Decision(True, "lm-models")
        import difflib  # for this sentence alone

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
        said = f"a batch of {size:,} prompts is more than lm.batch = {limit:,}; send smaller ones"
        return _unless("lm-batch", size > limit, said)

    @staticmethod
    def runs(count: int, calls: int) -> Decision:
        """Whether a batch of `count` runs may begin, for which there are `calls` model calls."""
        said = f"a batch of {count:,} prompts takes at least as many calls of models, and lm.calls leaves {calls:,}"
        return _unless("lm-calls", count > calls, f"{said}; allow more, or send fewer prompts")

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

    def media(self, kinds: Sequence[str | None], size: int) -> Decision:
        """Whether media of these types (None: it is none of ours) may be sent; `size` counts the prompt as well."""
        if None in kinds:
            return Decision(
                False,
                "lm-media",
                f"media {kinds.index(None)} is no PNG, JPEG, GIF or WebP image and no WAV or MP3 sound; convert it",
            )
        limit = self.policy.lm.prompt_bytes
        said = f"the prompt and its media take {size:,} bytes, more than lm.prompt_bytes = {limit:,}; send smaller ones"
        return _unless("lm-prompt-bytes", size > limit, said)

    @staticmethod
    def require_window(model: str, characters: int, tokens: int, window: int, *, conversation: bool = False) -> None:
        """Raise PromptTooLarge if a prompt of `characters`, which are at least so many `tokens`, is not to be sent."""
        what, advice = "prompt", "split it and ask about the parts with llm_query_batched"
        if conversation:
            what, advice = "conversation", "print less of what is long, or set compaction=True"
        decision = _unless(
            "lm-window",
            tokens > window,
            f"the {what} has {characters:,} characters, at least {tokens:,} tokens, and the model {shown(model)} takes "
            f"{window:,}; {advice}",
        )
        if not decision.allowed:
            raise PromptTooLarge(decision, characters=characters, window=window)

    def subcalls(self, prompts: Sequence[object], model: object) -> Decision:
        """Whether a cell may send these prompts to that model; None is the run's own."""
        # The batch size first: a refusal is returned once per prompt, and only this one limits how many there are.
        for decision in (self.batch(len(prompts)), self.model(model)):
            if not decision.allowed:
                return decision
        return self.prompts(prompts)

    def reply(self, text: object) -> Decision:
        """Whether a model's reply may enter the guest."""
        if not isinstance(text, str):
            return Decision(False, "lm-reply-type", f"the model's client answered with {_kind(text)}, not with a str")
        limit = self.policy.lm.reply_bytes
        size = _excess(text, limit)
        said = f"the model's reply takes {size or 0:,} bytes, more than lm.reply_bytes = {limit:,}; "
        return _unless("lm-reply-bytes", size is not None, said + "ask for a shorter one")

    def refusals(self, count: int) -> Decision:
        """Whether a cell may go on after its run's refused call number `count`, counted from 1."""
        limit = self.policy.lm.refusals
        if count <= limit:
            return Decision(True, "lm-refusals")
        return Decision(
            False,
            "lm-refusals",
            f"the cell was ended: it went on calling after lm.refusals = {limit:,} calls of this run were refused; "
            "make no more calls, and answer with what there is",
        )

    def results(self, size: int) -> Decision:
        """Whether a turn whose results take `size` bytes of memory may run another cell."""
        limit = self.policy.limits.kept_bytes
        if size <= limit:
            return Decision(True, "kept-bytes")
        return Decision(
            False,
            "kept-bytes",
            f"the results of this turn's cells take more than limits.kept_bytes = {limit:,} bytes; this cell and those "
            "after it were not run",
        )

    def depth(self, depth: int) -> Decision:
        """Whether a child run may exist at recursion depth `depth`; the root run is at 0."""
        limit = self.policy.lm.depth
        said = f"a recursion at depth {depth} is deeper than lm.depth = {limit}; use llm_query instead"
        return _unless("lm-depth", depth > limit, said)

    # -- cells ------------------------------------------------------------------------------------

    def cell_source(self, code: object) -> Decision:
        """Whether a cell is short enough to be sent. The host never looks further into it."""
        if not isinstance(code, str):
            return Decision(False, "cell-type", f"a cell is a str of Python source, not {_kind(code)}")
        limit = self.policy.language.source_bytes
        size = _excess(code, limit)
        if size is None:
            return _SHORT
        said = f"the cell takes {size:,} bytes, more than language.source_bytes = {limit:,}; move data to the context"
        return Decision(False, "source-bytes", said)

    def context(self, size: int) -> Decision:
        """Whether a context of `size` bytes, as it is stored for the guest, may be loaded."""
        limit = self.policy.limits.context_bytes
        said = f"the context takes {size:,} bytes, more than limits.context_bytes = {limit:,}; raise it or send less"
        return _unless("context-bytes", size > limit, said)

    def edits(self) -> Decision:
        """Whether questions that change a table are served."""
        said = "this policy serves no questions that edit a table (guardrails.edit = false); ask one that only reads"
        return _unless("edits", not self.policy.guardrails.edit, said)

    def files(self) -> Decision:
        """Whether a session may have files."""
        said = "this policy grants no files (limits.files = 0); give the data as a context, or use the policy standard"
        return _unless("files", self.policy.limits.files == 0, said)

    def file_bytes(self, size: int) -> Decision:
        """Whether the host may put a file of `size` bytes into a session."""
        limit = self.policy.limits.file_bytes
        said = f"the file has {size:,} bytes, more than limits.file_bytes = {limit:,}; raise it or send less"
        return _unless("file-bytes", size > limit, said)

    def cells(self, count: int) -> Decision:
        """Whether a session may run its cell number `count`, counted from 1."""
        limit = self.policy.limits.cells
        if count <= limit:
            return _FEW
        return Decision(False, "cells", f"the session has run limits.cells = {limit:,} cells; start a new session")

    def resumes(self, count: int) -> Decision:
        """Whether a session, or a run's sessions, may be resumed for time number `count`, counted from 1."""
        limit = self.policy.limits.resumes
        said = f"it was brought back limits.resumes = {limit:,} times; start a new session"
        return _unless("resumes", count > limit, said)

    def forks(self, count: int) -> Decision:
        """Whether a session of which `count` copies and snapshots live, itself included, may be copied once more."""
        limit = self.policy.limits.forks
        said = f"there are limits.forks = {limit:,} copies and snapshots of the session already; close one first"
        return _unless("forks", count > limit, said)

    # -- tools, and other calls -------------------------------------------------------------------

    @staticmethod
    def tool_name(name: object) -> Decision:
        """Whether a host callable may have the name `name`."""
        good = isinstance(name, str) and len(name) <= _TOOL_NAME and name.isascii() and name.isidentifier()
        good = good and not str(name).startswith("_")
        return _unless("tool-name", not good, f"{shown(name)} is no name of a tool; a name looks like search_notes")

    def tool(self, name: object) -> Decision:
        """Whether a cell may call the host callable `name`."""
        named = self.tool_name(name)
        if not named.allowed or self.tools is None or name in self.tools:
            return named
        known = f"there are {_either(sorted(self.tools))}" if self.tools else "this run has none"
        return Decision(False, "tool-unknown", f"there is no tool {shown(name)}; {known}")

    def tool_calls(self, count: int) -> Decision:
        """Whether a session may make its tool call number `count`, counted from 1."""
        limit = self.policy.limits.tool_calls
        said = f"the session has made limits.tool_calls = {limit:,} tool calls, and may make no more; go on without"
        return _unless("tool-calls", count > limit, said)

    def tool_arguments(self, name: str, size: int, problem: str | None) -> Decision:
        """Whether a tool may be given `size` bytes of arguments; `problem` says how they violate its signature."""
        limit = self.policy.lm.reply_bytes
        if size > limit:
            said = f"{name} was given {size:,} bytes, more than lm.reply_bytes = {limit:,}; pass less"
            return Decision(False, "tool-argument-bytes", said)
        return _unless("tool-arguments", problem is not None, _inert(problem or ""))

    def tool_result(self, name: str, size: int, problem: str | None) -> Decision:
        """Whether `size` bytes that a tool returned may enter the guest; `problem`: why they are not a JSON value."""
        limit = self.policy.lm.reply_bytes
        if size > limit:
            said = f"{name} returned at least {size:,} bytes, more than lm.reply_bytes = {limit:,}; ask for less"
            return Decision(False, "tool-result-bytes", said)
        return _unless("tool-result", problem is not None, _inert(f"{name} returned {problem}"))

    def tool_seconds(self, name: str, seconds: float) -> Decision:
        """Whether a cell may go on waiting for a tool that has taken `seconds`."""
        limit = self.policy.limits.tool_seconds
        said = f"the tool {name} did not return within limits.tool_seconds = {limit:g} s and was left behind; "
        return _unless("tool-seconds", seconds >= limit, said + "ask for less at a time")

    def abandoned(self, count: int, owner: int = 0, everywhere: int = 0) -> Decision:
        """Whether a session may begin another call, while `count` abandoned calls of its own still run, `owner` of all
        its owner's sessions, and `everywhere` in the process."""
        limit = self.policy.limits.abandoned_calls
        said = f"limits.abandoned_calls = {limit:,} calls were left behind and still run; try again later"
        if count >= limit:
            return Decision(False, "abandoned-calls", said)
        shares = ((owner, ABANDONED_OF_OWNER, "this RLM"), (everywhere, ABANDONED_OF_PROCESS, "this process"))
        for left, sessions, whose in shares:
            most = sessions * limit * (1 if count else 2)
            if left >= most:
                said = f"{left:,} calls of all sessions of {whose} were left behind and still run, {most:,} may"
                return Decision(False, "abandoned-calls", f"{said}; try again later")
        return Decision(True, "abandoned-calls")


def _unless(rule: str, refused: bool, reason: str) -> Decision:
    return Decision(False, rule, reason) if refused else Decision(True, rule)


#: What is decided for every cell.
_OWN = Decision(True, "session-process")
_SHORT = Decision(True, "source-bytes")
_FEW = Decision(True, "cells")


def shown(value: object) -> str:
    """Untrusted text for a message: quoted, ASCII, inert, at most 80 characters of it, and never a key."""
    if not isinstance(value, str):
        return f"<{_kind(value)}>"
    if _SECRET.search(value[:4096]):
        return "<looks like a secret>"
    return ascii(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else "")


def _inert(text: str) -> str:
    """A sentence that may repeat untrusted text: ASCII, printable, at most 400 characters of it, and never a key."""
    if _SECRET.search(text[:4096]):
        return "<looks like a secret>"
    plain = text[:400].encode("ascii", "backslashreplace").decode("ascii")
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in plain)


def _excess(text: str, limit: int) -> int | None:
    """The size of `text` in UTF-8 bytes if it is over `limit`, else None; encodes only what may be over it."""
    if len(text) * 4 <= limit:
        return None
    if len(text) > limit:
        return len(text)  # a lower bound; enough to refuse without a copy
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if size > limit else None


def _kind(value: object) -> str:
    name = type(value).__name__
    return ascii(name[:40])[1:-1]


def _either(names: Sequence[str]) -> str:
    listed = [name[:40] for name in names[:12]] + ([f"{len(names) - 12} more"] if len(names) > 12 else [])
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}" if listed else "none"
