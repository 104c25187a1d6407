"""The prompts of the pipeline's stages: one file, of which a caller may replace any stage."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final

from rlm_secure.policy import toml

#: The text that is put into every system prompt.
SKILL: Final = "skill"
_PARTS: Final = ("system", "user")
_PLACE: Final = re.compile(r"\{([a-z_]++)\}")


class PromptMap:
    """The system and user prompts of each stage. `given` is a TOML file, or a mapping, of the stages that differ.

    A stage is a mapping with `system`, `user` or both; a plain text is its system prompt. `skill` is one text. What is
    replaced must keep the placeholders that it had. Raises ValueError for anything else, and OSError for the file.
    """

    def __init__(self, given: str | Path | Mapping[str, Any] | None = None) -> None:
        own = toml.loads(resources("rlm_secure.agents.codegen").joinpath("prompts.toml").read_text(encoding="utf-8"))
        self.skill: str = own.pop(SKILL).strip()
        self._stages: dict[str, dict[str, str]] = own
        if isinstance(given, str | Path):
            given = toml.loads(Path(given).read_text(encoding="utf-8"))
        if not isinstance(given, Mapping | None):
            raise ValueError("prompts are a TOML file or a mapping of stages")  # noqa: TRY004
        for stage, texts in (given or {}).items():
            self._replace(stage, texts)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages."""
        return tuple(self._stages)

    def messages(self, stage: str, values: Mapping[str, str]) -> list[dict[str, Any]]:
        """The messages of `stage`, each placeholder replaced by its text of `values`, which is not looked at again."""
        texts, known = self._stages[stage], {SKILL: self.skill, **values}
        return [
            {"role": role, "content": _PLACE.sub(lambda place: known.get(place[1], place[0]), texts[role]).strip()}
            for role in _PARTS
        ]

    def _replace(self, stage: str, texts: Any) -> None:
        if stage == SKILL:
            self.skill = _text(texts, SKILL)
            return
        if stage not in self._stages:
            raise ValueError(f"{stage!r} is no stage of the prompts{_nearest(stage, [*self._stages, SKILL])}")
        if isinstance(texts, str):
            texts = {"system": texts}
        if not isinstance(texts, Mapping):
            raise ValueError(f"the prompt {stage!r} is neither a text nor a mapping with `system` and `user`")  # noqa: TRY004
        for part, text in texts.items():
            if part not in _PARTS:
                raise ValueError(f"the prompt {stage!r} has no part {part!r}{_nearest(str(part), _PARTS)}")
            text = _text(text, f"{stage}.{part}")
            places = set(_PLACE.findall(text))
            for place in _PLACE.findall(self._stages[stage][part]):
                if place not in places:
                    said = f"the prompt {stage}.{part} lacks the placeholder {{{place}}}"
                    raise ValueError(said + _nearest(place, sorted(places)))
            self._stages[stage][part] = text


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"the prompt {name} is no text; write one, or leave it out to keep the default")
    return value.strip()


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(str(name)[:100], list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; it knows {', '.join(known)}" if known else ""
