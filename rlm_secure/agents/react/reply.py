"""Reads one reply of a model: its thought, its one action, and the action's JSON input. What follows is cut off."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.agents.replies import first_json, without_thoughts

#: What ends a line, for some reader at least, and what may stand before a label on its own line.
_BREAK: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_BEFORE: Final = rf"(?:_|[^\w{_BREAK}\[\]{{}}()<\"',;:!?/\\])*+"
#: A label at the beginning of a line: also indented, in bold, as a heading, in a list or with a number. The longest
#: name comes first.
_LABEL: Final = re.compile(
    rf"(?:^|(?<=[{_BREAK}])){_BEFORE}(?:[0-9]{{1,3}}+[.)]{_BEFORE})?"
    r"(Thought|Action Input|Action|Observation|Final Answer)"
    r"[ \t]{0,4}+(?:[0-9]{1,3}+[ \t]{0,4}+)?[*_`]{0,8}+[ \t]{0,4}+[:\uff1a][*_]{0,2}",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"\s*(?:```[a-zA-Z]{0,12})?\s*")
#: What may be left behind the input without being text of its own.
_NOTHING: Final = re.compile(r"[\s`]*")
#: Longest name of an action that is shown or looked up.
_NAME: Final = 200

NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Step:
    """What a reply says: `action` with `arguments` (a JSON value), or `problem`, which says why nothing is called.

    `kept` is the part of the reply that goes into the scratchpad, `notes` say what was cut off. `text` is the input
    where it is no JSON; `arguments` is then NOTHING.
    """

    thought: str
    kept: str
    action: str | None = None
    arguments: Any = NOTHING
    text: str = ""
    problem: str | None = None
    notes: tuple[str, ...] = ()


def read(reply: str) -> Step:
    """The first action of a reply. Takes time linear in its length."""
    text = without_thoughts(reply).strip()
    labels = [(match.group(1).lower(), match.start(), match.end()) for match in _LABEL.finditer(text)]
    action = next((index for index, (name, _, _) in enumerate(labels) if name == "action"), None)
    invented = next((index for index, (name, _, _) in enumerate(labels) if name == "observation"), None)
    if action is None or (invented is not None and invented < action):
        return _without_action(text, labels, invented)
    _, begins, after = labels[action]
    thought = _thought(text[:begins])
    if action + 1 == len(labels) or labels[action + 1][0] != "action input":
        until = labels[action + 1][1] if action + 1 < len(labels) else len(text)
        name = _name(text[after:until])
        return Step(
            thought,
            text[:until].rstrip(),
            problem=f"the action {name!r} has no input; write a line `Action Input:` with a JSON object below it",
        )
    _, input_begins, input_after = labels[action + 1]
    name = _name(text[after:input_begins])
    begin = _FENCE.match(text, input_after)
    assert begin is not None  # it matches the empty text
    found = first_json(text, at=begin.end())
    # `[1] is the source` and `34 apples` are text; behind an object, text is what the model should not have written.
    if found is None or found.begin != begin.end() or not (isinstance(found.value, dict) or _ends(text, found.end)):
        until = next((start for _, start, _ in labels[action + 2 :]), len(text))
        raw = text[input_after:until].strip().strip("`").strip()
        notes = _notes(text[until:], labels[action + 2 :])
        return Step(thought, text[:until].rstrip(), name, NOTHING, raw, notes=notes)
    rest = text[found.end :]
    later = [each for each in labels[action + 2 :] if each[1] >= found.end]
    # Written anew: a comment, or a line break in a string, could hold a line that looks like an observation.
    kept = f"{text[:input_after]} {_json(found.value)}"
    return Step(thought, kept, name, found.value, notes=_notes(rest, later))


def native(arguments: str) -> tuple[Any, str, tuple[str, ...]]:
    """The arguments of a native call: their JSON value or NOTHING, the JSON object that is kept, and what was cut."""
    begin = _FENCE.match(arguments)
    assert begin is not None  # as above
    at = begin.end()
    found = first_json(arguments, at=at)
    if found is None or found.begin != at or not (isinstance(found.value, dict) or _ends(arguments, found.end)):
        text, notes = spoken(arguments)
        return NOTHING, _json({"input": text}) if text else "{}", notes
    rest = arguments[found.end :]
    labels = [(match.group(1).lower(), match.start(), match.end()) for match in _LABEL.finditer(rest)]
    kept = found.value if isinstance(found.value, dict) else {"input": found.value}
    return found.value, _json(kept), _notes(rest, labels)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _ends(text: str, at: int) -> bool:
    """Whether nothing else is on the line."""
    end = text.find("\n", at)
    return not text[at : len(text) if end < 0 else end].strip("` \t\r")


def spoken(reply: str) -> tuple[str, tuple[str, ...]]:
    """The text beside a native call, up to an observation or an action that the model wrote there, and what was cut."""
    text = without_thoughts(reply).strip()
    labels = [(match.group(1).lower(), match.start(), match.end()) for match in _LABEL.finditer(text)]
    written = [each for each in labels if each[0] in ("observation", "action", "action input")]
    if not written:
        return text, ()
    begins = written[0][1]
    return text[:begins].rstrip(), _notes(text[begins:], written)


def _without_action(text: str, labels: list[tuple[str, int, int]], invented: int | None) -> Step:
    """A reply in which nothing can be called."""
    if invented is not None:
        begins = labels[invented][1]
        return Step(
            _thought(text[:begins]),
            text[:begins].rstrip(),
            problem="you wrote an observation before any action, and it was removed: observations come from the tools",
        )
    answers = any(name == "final answer" for name, _, _ in labels)
    how = "to give your answer, call the tool final_answer" if answers else "a reply has one action"
    said = f"there was no action; {how}: a line `Action: NAME`, then a line `Action Input:` with JSON"
    return Step(_thought(text), text, problem=said)


def _notes(rest: str, labels: list[tuple[str, int, int]]) -> tuple[str, ...]:
    """What is said of the text behind the first action, which was cut off."""
    nothing = _NOTHING.match(rest)
    if nothing is not None and nothing.end() == len(rest):
        return ()
    names = {name for name, _, _ in labels}
    notes = []
    if "observation" in names:
        notes.append("the observation that you wrote was removed: observations come from the tools")
    if "action" in names:
        notes.append("only the first action was run: write one action in a reply")
    return tuple(notes) or ("what you wrote after the action was removed: end your reply with the action's input",)


def _name(text: str) -> str:
    """The name of an action, without the quotes and brackets that models put around it."""
    name = text.strip().strip("`*\"'").strip()
    return (name[1:-1] if name[:1] + name[-1:] in ("[]", "<>") else name).strip()[:_NAME]


def _thought(text: str) -> str:
    """The thought without its label."""
    match = _LABEL.match(text)
    return text[match.end() :].strip() if match and match.group(1).lower() == "thought" else text.strip()
