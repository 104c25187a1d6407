"""The messages of a run, in one of three sets of prompts.

"ours" ends a run with `final_answer(...)` or `answer`, "final" with FINAL(...) in the text; "rlms" takes the prompts
of an installed `rlms` package, for models that were trained on them.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, ClassVar, Final, TypeAlias

from rlm_secure.errors import MissingExtra
from rlm_secure.inert import excerpt
from rlm_secure.rlm.prompts import texts
from rlm_secure.tools import ToolInfo, parse_custom_tools
from rlm_secure.types import QueryMetadata

Message: TypeAlias = dict[str, str]

_PACKAGE: Final = "rlms>=0.1.3"
_BRACES = re.compile(r"\{\{|\}\}")


class PromptSet:
    """One set of prompts. Every method returns new messages and depends only on its arguments."""

    name: ClassVar[str] = "ours"
    system_prompt: ClassVar[str] = texts.SYSTEM
    #: Whether the prompts describe the sandbox by default.
    describes_session: ClassVar[bool] = True
    #: Whether the one Python block of a reply without a `repl` block is run: see rlm_secure.rlm.parsing.find_cells.
    runs_unmarked: ClassVar[bool] = True
    #: How a reply ends the run, as the end of a sentence.
    finish: ClassVar[str] = "hand the answer over in such a block, with `final_answer(...)`"

    def opening(
        self,
        metadata: QueryMetadata,
        *,
        system_prompt: str | None = None,
        root_prompt: str | None = None,
        custom_tools: Mapping[str, Any] | None = None,
        orchestrator: bool = True,
        session: str | None = None,
        answer_schema: str | None = None,
        compaction: bool = False,
        user_prologue: str | None = None,
    ) -> list[Message]:
        """The messages before the first turn: the system message, the one on the material, and the user's prologue.

        `system_prompt` replaces the set's own text; `session` is what describe_session() wrote;
        `answer_schema` is a JSON Schema on one line. They stay the same for the whole run.
        """
        messages = self._opening(metadata, system_prompt, root_prompt, custom_tools, orchestrator)
        messages[0]["content"] += "".join(
            section
            for section in (
                session,
                _schema_section(answer_schema) if answer_schema else None,
                texts.COMPACTION if compaction else None,
            )
            if section
        )
        if user_prologue:
            messages.append({"role": "user", "content": user_prologue})
        return messages

    def _opening(
        self,
        metadata: QueryMetadata,
        system_prompt: str | None,
        root_prompt: str | None,
        custom_tools: Mapping[str, Any] | None,
        orchestrator: bool,
    ) -> list[Message]:
        system = fill(self.system_prompt if system_prompt is None else system_prompt, tools_section(custom_tools))
        return [
            {"role": "system", "content": system + (texts.ADDENDUM if orchestrator else "")},
            {"role": "user", "content": _material(metadata, root_prompt)},
        ]

    def turn(
        self,
        root_prompt: str | None = None,  # noqa: ARG002  a slot of upstream's; the question is in the opening
        iteration: int = 0,
        context_count: int = 1,
        history_count: int = 0,
        max_iterations: int = 30,
    ) -> Message:
        """The message that opens turn `iteration`, counted from 0. It is appended, and never changed later."""
        parts = [texts.FIRST_TURN] if iteration == 0 else []
        parts.append(f"Turn {iteration + 1} of {max_iterations}.")
        if iteration == max_iterations - 1 and iteration > 0:
            parts.append(texts.LAST_TURN)
        if context_count > 1:
            parts.append(f"There are {context_count} contexts, `context_0` to `context_{context_count - 1}`.")
        if history_count == 1:
            parts.append("The variable `history` holds the messages of the conversation before this one.")
        elif history_count > 1:
            parts.append(
                f"The variables `history_0` to `history_{history_count - 1}` hold the messages of the "
                f"{history_count} conversations before this one."
            )
        return {"role": "user", "content": "\n\n".join(parts)}

    def default_answer(self) -> Message:
        """Asks for an answer in plain text when the turns are used up."""
        return {"role": "user", "content": texts.DEFAULT_ANSWER}

    def nothing_ran(self, why: str | None) -> Message | None:
        """Says that nothing of a reply was run: `why` (None: it has no block), and what to write. None: not said."""
        return {
            "role": "user",
            "content": (
                f"Nothing of your reply was run: {why or 'it has no block of code'}. Put the code that is to run "
                f"between a line that says ```repl and a line that says ```, or {self.finish}."
            ),
        }

    def unknown_variable(self, name: str, known: Iterable[str] = ()) -> Message:
        """Says that FINAL_VAR names an unknown variable, and which variables exist."""
        names = ", ".join(f"`{excerpt(each, 80)}`" for each in list(known)[:50])
        return {
            "role": "user",
            "content": (
                f"FINAL_VAR names `{excerpt(name, 80)}`, and there is no such variable, so the run goes on. "
                + (f"The variables are: {names}. " if names else "`SHOW_VARS()` lists those that there are. ")
                + "Assign the answer to a variable in a `repl` block first, and name it in a later turn."
            ),
        }

    def answer_rejected(self, problem: str) -> Message:
        """Says why an answer does not fit the schema."""
        return {
            "role": "user",
            "content": f"The answer was not accepted: {excerpt(problem, 600)}. Correct it and finish again.",
        }


class FinalPrompts(PromptSet):
    """The same prompts, with FINAL(...) and FINAL_VAR(...) in the text as the way to finish."""

    name = "final"
    system_prompt = texts.SYSTEM_FINAL
    finish = "end with FINAL(the answer)"


class InstalledPrompts(PromptSet):
    """The prompts of the `rlms` package, imported when needed. Raises MissingExtra if it is not installed."""

    name = "rlms"
    describes_session = False
    #: The models that were trained on these prompts know no other block, and no word on a reply without one.
    runs_unmarked = False
    finish = 'set `answer["ready"] = True` in such a block'

    def _opening(
        self,
        metadata: QueryMetadata,
        system_prompt: str | None,
        root_prompt: str | None,
        custom_tools: Mapping[str, Any] | None,
        orchestrator: bool,
    ) -> list[Message]:
        module = _installed()
        tools = {
            name: {"tool": tool.value} | ({"description": tool.description} if tool.description else {})
            for name, tool in parse_custom_tools(custom_tools).items()
        }
        messages = module.build_rlm_system_prompt(
            system_prompt=(
                module.RLM_SYSTEM_PROMPT if system_prompt is None else _formattable(system_prompt, bool(tools))
            ),
            query_metadata=metadata,
            custom_tools=tools or None,
            root_prompt=root_prompt,
            orchestrator=orchestrator,
        )
        return [{"role": str(each["role"]), "content": str(each["content"])} for each in messages]

    def nothing_ran(self, why: str | None) -> Message | None:
        """As the other sets, but silent on a reply without a block, as the package is."""
        return None if why is None else super().nothing_ran(why)

    def turn(
        self,
        root_prompt: str | None = None,
        iteration: int = 0,
        context_count: int = 1,
        history_count: int = 0,
        max_iterations: int = 30,
    ) -> Message:
        """The user message of one turn, as the package writes it."""
        message = _installed().build_user_prompt(
            root_prompt=root_prompt,
            iteration=iteration,
            context_count=context_count,
            history_count=history_count,
            max_iterations=max_iterations,
        )
        return {"role": str(message["role"]), "content": str(message["content"])}


SETS: Final[Mapping[str, PromptSet]] = {each.name: each for each in (PromptSet(), FinalPrompts(), InstalledPrompts())}


def prompt_set(name: str) -> PromptSet:
    """The set of that name. Raises ValueError for an unknown one, MissingExtra for "rlms" without its package."""
    if name not in SETS:
        raise ValueError(f"unknown prompt_set {name!r}; choose one of {', '.join(sorted(SETS))}")
    if name == InstalledPrompts.name:
        _installed()
    return SETS[name]


def fill(system_prompt: str, section: str | None) -> str:
    """`system_prompt` with the tools' section at its placeholder, or at its end if it has none.

    Braces are plain text, except when every brace is doubled, as upstream's str.format requires: then they are
    halved, as upstream does. Never raises because of the text.
    """
    parts = _around_slot(system_prompt)
    if len(parts) == 1:
        return parts[0] + (f"\n{section}" if section else "")
    return (section or "").join(parts)


def _around_slot(system_prompt: str) -> list[str]:
    parts = system_prompt.split(texts.SLOT)
    if any(set("{}") & set(_BRACES.sub("", part)) for part in parts):
        return parts
    return [part.replace("{{", "{").replace("}}", "}") for part in parts]


def _formattable(system_prompt: str, has_tools: bool) -> str:
    """`system_prompt` for upstream's builder, which formats it: all braces doubled except the placeholder's."""
    parts = [part.replace("{", "{{").replace("}", "}}") for part in _around_slot(system_prompt)]
    return texts.SLOT.join(parts) if len(parts) > 1 or not has_tools else f"{parts[0]}\n{texts.SLOT}"


def tools_section(custom_tools: Mapping[str, Any] | None) -> str | None:
    """The numbered item of the system prompt that lists the custom tools; None if there are none."""
    tools = parse_custom_tools(custom_tools)
    if not tools:
        return None
    return "6. Tools and data of this run:\n" + "\n".join(_tool_line(tool) for tool in tools.values()) + "\n"


def _tool_line(tool: ToolInfo) -> str:
    if tool.is_callable or tool.is_code:
        shown, what = f"{tool.name}{_parameters(tool.value)}", "a function"
    else:
        shown, what = tool.name, f"a value of type {type(tool.value).__name__}"
    return f"   - `{shown}`: {tool.description or what}"


def _parameters(function: Any) -> str:
    """Names only: an annotation may be long, and a default may be a secret."""
    try:
        return f"({', '.join(inspect.signature(function).parameters)})"
    except (TypeError, ValueError):
        return "(...)"


def _material(metadata: QueryMetadata, root_prompt: str | None) -> str:
    lengths = metadata.context_lengths
    parts = ""
    if metadata.context_type != "str":
        parts = f", in {len(lengths):,} parts of which the longest has {max(lengths, default=0):,}"
    question = (
        f"The question:\n\n{root_prompt}\n\n"
        if root_prompt
        else "The question, or the task, is in the material itself. "
    )
    return (
        f"{question}The material in `context` is a {metadata.context_type} of "
        f"{metadata.context_total_length:,} characters{parts}."
    )


def _schema_section(schema: str) -> str:
    return f"""
# The form of the answer

The answer has to be JSON that fits this schema, and is checked against it; `final_answer` also takes a dict or list:

{schema}
"""


def _installed() -> ModuleType:
    """The module of the `rlms` package that holds its prompts.

    Importing it loads a `.env` file of the working directory into the environment; new variables are removed again.
    """
    before = set(os.environ)
    try:
        module = importlib.import_module("rlm.utils.prompts")
    except ImportError as error:
        raise MissingExtra('prompt_set="rlms"', package=_PACKAGE) from error
    finally:
        for name in set(os.environ) - before:
            del os.environ[name]
    builders = [getattr(module, name, None) for name in ("build_rlm_system_prompt", "build_user_prompt")]
    theirs = module.__name__ == "rlm.utils.prompts"  # rlm_secure.compat serves our prompts under that name
    # Older releases have the same names with other parameters.
    slots = all(callable(each) and "root_prompt" in inspect.signature(each).parameters for each in builders)
    if not (theirs and slots):
        raise MissingExtra('prompt_set="rlms"', package=_PACKAGE)
    return module
