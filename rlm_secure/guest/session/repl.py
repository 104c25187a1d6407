"""The names that a cell finds: contexts, model calls, ways to finish, tools.

A cell may assign to any of them. After the cell they are restored, so that it cannot mislead a later cell or a later
turn of the model.
"""

from __future__ import annotations

import binascii
import weakref
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ..language import guards, violations
from ..language.registry import is_instance, title
from . import tagged, values
from .changes import Changes
from .faults import FinalAnswerCalled

#: Sends one call frame and returns the host's reply. Raises HostError where the host refuses.
Ask = Callable[[dict[str, Any]], Any]

#: The limits of the host's decoder for one call (broker/protocol.py). It ends the session for a call that exceeds them.
MAX_PROMPTS = 10_000
MAX_MODEL = 256
MAX_MEDIA = 16
#: Values in all arguments of a tool call. Each counts as at most one bracket and one comma of the decoder's MAX_NODES.
_MAX_VALUES = 190_000

#: Brackets and commas, of which the host's decoder takes 400,000 in one frame (untrusted_json.py): of a value that was
#: asked for; of all whole values of a result together, and of its answer among these; of what describes its variables.
_ASKED_NODES = 390_000
_WHOLE_NODES = 330_000
_ANSWER_NODES = 300_000
_DESCRIBED_NODES = 8_000
#: Most bytes of a variable that a cell only mentions, and brackets and commas of all of them: they are often large, and
#: can be asked for.
_MENTIONED_BYTES = 16_384
_MENTIONED_NODES = 512

#: How often names are restored that the release of what replaced them overwrites again.
_ROUNDS = 8

_MISSING = object()


class Repl:
    """One session's namespace. `ask` sends a call frame and returns the host's reply or raises."""

    def __init__(
        self,
        namespace: dict[str, Any],
        ask: Ask,
        *,
        tools: Iterable[str],
        value_bytes: int,
        result_bytes: int,
        offered: dict[str, Callable[[], Any]] | None = None,
    ) -> None:
        self.namespace = namespace
        self._ask = ask
        self._offered = offered or {}
        self._given: dict[str, Any] = {}
        self._unreleased: list[Any] = []
        self._value_bytes = value_bytes
        self._result_bytes = result_bytes
        self.begin()
        self._scaffold: dict[str, Any] = {
            "llm_query": self._with_media(),
            "llm_query_batched": self._batched("llm_query_batched"),
            "rlm_query": self._single("rlm_query"),
            "rlm_query_batched": self._batched("rlm_query_batched"),
            "SHOW_VARS": self._show_vars(),
            "FINAL_VAR": self._final_var(),
            "final_answer": self._final_answer(),
        }
        for name in tools:
            self._scaffold[name] = self._tool(name)
        self._hidden = frozenset(self._scaffold) | {"answer"}
        namespace["answer"] = {"content": "", "ready": False}
        self.restore()
        self.changes = Changes(namespace)

    def begin(self) -> None:
        """Reset the state of the last cell: its answer, and what its guards refused."""
        violations.forget()
        self.final: dict[str, Any] | None = None
        self._answered = self._taken = 0
        self._ended: weakref.ref[FinalAnswerCalled] | None = None

    def ended_by(self, raised: BaseException) -> bool:
        """Whether `raised` is the exception that final_answer() raised in this cell, compared by identity.

        Its class proves nothing: a cell can keep it and raise it again.
        """
        return self._ended is not None and self._ended() is raised

    def assign(self, name: str, value: Any, *, kept: bool = True) -> None:
        """Bind `name`. If it is `kept`, as a context is, it is restored after a cell that overwrites it."""
        self.namespace[name] = value
        self.changes.assigned(name)
        if kept and name != "answer":
            self._scaffold[name] = value

    def provide(self, mentioned: frozenset[str]) -> None:
        """Bind what is offered, and that a cell mentions, unless a cell has a variable of that name."""
        for name in self._offered.keys() & mentioned if self._offered else ():
            if name not in self.namespace:
                if name not in self._given:
                    self._given[name] = self._offered[name]()
                self.namespace[name] = self._given[name]

    def take(self, name: str) -> Any:
        """The value of `name`, which is bound no longer."""
        self._scaffold.pop(name, None)
        return self.namespace.pop(name)

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object that the name `target` is bound to."""
        self.assign(name, self.namespace[target])

    def restore(self) -> bool:
        """Restore every overwritten name. Returns whether there was one.

        An `answer` that is no longer a dict is replaced by a new one. Releasing what was there may close a generator of
        the cell, whose `finally` may overwrite names again. What does so time after time is not released.
        """
        for number in range(_ROUNDS):
            replaced = self._replace()
            if not replaced:
                return number > 0
            replaced.clear()
        self._unreleased.append(self._replace())
        return True

    def _replace(self) -> list[Any]:
        """Restore every overwritten name, and return what was there."""
        names = self.namespace
        replaced = [names.get(name) for name, value in self._scaffold.items() if names.get(name, _MISSING) is not value]
        names.update(self._scaffold)
        answer = names.get("answer")
        if type(answer) is not dict:
            replaced.append(answer)
            names["answer"] = {"content": "", "ready": False}
        return replaced

    def variables(self, mentioned: Collection[str] = ()) -> tuple[dict[str, dict[str, Any]], frozenset[str]]:
        """name -> description of the variables that a cell bound or can have changed, and which of them it bound.

        `mentioned` are the names in its code. Guards and functions of the REPL are no variables.
        """
        described: dict[str, dict[str, Any]] = {}
        room, nodes = self._result_bytes // 4, _DESCRIBED_NODES
        names, bound = self.changes.of_cell(mentioned)
        for name in names:
            value = self.namespace.get(name, _MISSING)
            if name in self._hidden or guards.is_internal(name) or len(name) > 128:
                continue
            if value is _MISSING or self._given.get(name, _MISSING) is value:
                continue
            if not self.changes.has_room(name):
                continue
            try:
                entry = values.describe(value, self._value_bytes, nodes)
            except MemoryError:
                raise  # the caller builds the whole result again, with more memory
            except Exception:
                entry = {"type": title(type(value)), "repr": "<it cannot be shown>"}
            text = entry.get("value")
            room -= 200 + (6 * len(text) if type(text) is str else 0)
            nodes -= 4 + values.size(text)
            if room < 0:
                entry = {"type": entry["type"]}
            elif nodes < 0 and "value" in entry:
                entry = {"type": entry["type"], "repr": entry.get("repr", values.shown(value))}
            described[name] = entry
        return described, bound

    def last(self) -> dict[str, Any] | None:
        """The description of the value of the cell's last expression; None if it ended on none.

        Its text comes from its own method, which is code of the cell.
        """
        if guards.VALUE not in self.namespace:
            return None
        entry, self._taken = self._described(self.namespace[guards.VALUE], _WHOLE_NODES - self._answered)
        return entry

    def whole(self, described: dict[str, Any], bound: frozenset[str], mentioned: frozenset[str]) -> None:
        """Add to the variables `described` the values that a cell bound, whole, and the small ones that it mentioned.

        Others can be asked for.
        """
        room, nodes = self._result_bytes // 8, _WHOLE_NODES - self._answered - self._taken
        small = _MENTIONED_NODES
        for name, about in described.items():
            value = self.namespace.get(name, _MISSING)
            if name in self._scaffold or not (name in bound or name in mentioned):
                continue
            if name in bound:
                limit = self._value_bytes
                found, taken, held = values.whole(value, min(limit, room), nodes)
            else:
                limit = min(_MENTIONED_BYTES, self._value_bytes)
                found, taken, held = values.whole(value, min(limit, room), min(small, nodes))
                small -= held
            # What is too large for the rest of the result only can be asked for, as can what was only mentioned.
            if "size" not in found or (
                name in bound and (found["size"] > limit or values.length(value) > _ASKED_NODES)
            ):
                about.update(found)
            room, nodes = room - taken, nodes - held

    def forget_value(self) -> None:
        """Release the value of the last expression, which may run code of the cell."""
        self.namespace.pop(guards.VALUE, None)

    def described(self, value: Any) -> dict[str, Any]:
        """`value` as one entry: its type, its repr by its own method, and itself or why not."""
        return self._described(value, _ASKED_NODES)[0]

    def _described(self, value: Any, nodes: int) -> tuple[dict[str, Any], int]:
        """`value` as one entry, which takes `nodes` brackets and commas at most, and how many it takes."""
        found, _, held = values.whole(value, self._value_bytes, nodes)
        text = values.shown(value)
        if "size" not in found:
            try:
                whole = str.__str__(repr(value))
            except BaseException:  # its method is the cell's own code, and can raise anything
                whole = ""
            text = whole if 0 < len(whole) <= self._value_bytes // 6 else text
        return {"type": values.name_of(value), "repr": text[: self._value_bytes // 6], **found}, held

    def answer(self) -> dict[str, Any] | None:
        """The cell's final answer as {"text", "whole"?}, or None. Runs no code of the cell. Raises tagged.TooLarge."""
        if self.final is not None:
            return self.final
        answer = self.namespace.get("answer", _MISSING)
        # Iterate over the stored items: a look-up could call `__eq__` of a key whose class the cell has defined.
        if not is_instance(answer, dict):
            return None
        given = {key: value for key, value in dict.items(answer) if type(key) is str and key in ("ready", "content")}
        ready = given.get("ready", False)
        if type(ready) not in (bool, int, str) or not ready:
            return None
        return self._finish(given.get("content", ""), None)

    def _finish(self, value: Any, text_of: Callable[[Any], str] | None) -> dict[str, Any]:
        """The answer `value`; `text_of` makes the text, which may run code of the cell. Raises tagged.TooLarge."""
        if type(value) is str:
            return {"text": value}
        # The text and the value are in one frame, in which a character takes three times its bytes of UTF-8 at most.
        found, _, held = values.whole(value, self._result_bytes // 8, _ANSWER_NODES)
        if "size" in found:
            raise tagged.TooLarge(found["size"])
        self._answered = max(self._answered, held)
        if tagged.simplifies() and "whole" in found:
            value = tagged.untag(found["whole"])  # its text says 3, not np.int64(3)
        if text_of is not None:
            text = str.__str__(text_of(value))  # a cell's __str__ may return a subclass of str
        else:
            try:
                text = str(value) if "whole" in found else values.shown(value)
            except ValueError:  # an int with more digits than the interpreter converts to text
                text = values.shown(value)
        return {"text": text, "whole": found["whole"]} if "whole" in found else {"text": text}

    def _single(self, kind: str) -> Callable[..., Any]:
        def query(prompt: str, model: str | None = None) -> Any:
            if not _is_text(prompt):
                raise TypeError(f"{kind} takes one string, not {title(type(prompt))}; build a str first")
            return self._ask({"call": kind, "prompts": [str.__str__(prompt)], "model": _model(model)})

        query.__name__ = query.__qualname__ = kind
        return query

    def _with_media(self) -> Callable[..., Any]:
        def llm_query(prompt: str, model: str | None = None, media: Iterable[bytes] = ()) -> Any:
            if not _is_text(prompt):
                raise TypeError(f"llm_query takes one string, not {title(type(prompt))}; build a str first")
            question = {"call": "llm_query", "prompts": [str.__str__(prompt)], "model": _model(model)}
            encoded = _media(media)
            return self._ask(question | {"media": encoded} if encoded else question)

        return llm_query

    def _batched(self, kind: str) -> Callable[..., Any]:
        def query(prompts: Iterable[str], model: str | None = None) -> Any:
            if _is_text(prompts):
                raise TypeError(f"{kind} takes a list of strings, not one string; use {kind[:-8]} for one prompt")
            prompts = list(prompts)
            for prompt in prompts:
                if not _is_text(prompt):
                    raise TypeError(f"{kind} takes a list of strings; one of them is {title(type(prompt))}")
            if not prompts:
                return []
            if len(prompts) > MAX_PROMPTS:
                raise ValueError(
                    f"{kind} takes at most {MAX_PROMPTS} prompts in one call, not {len(prompts)}; split the list"
                )
            return self._ask({"call": kind, "prompts": [str.__str__(p) for p in prompts], "model": _model(model)})

        query.__name__ = query.__qualname__ = kind
        return query

    def _tool(self, name: str) -> Callable[..., Any]:
        limit = self._result_bytes // 8

        def tool(*args: Any, **kwargs: Any) -> Any:
            share = min(100_000, _MAX_VALUES // max(1, len(args) + len(kwargs)))
            keywords = {str.__str__(key): values.plain(arg, limit, share) for key, arg in kwargs.items()}
            if tagged.alike(keywords):
                raise TypeError(f"{name} takes keywords that differ as UTF-8; lone surrogates are spelled out there")
            plain = [values.plain(arg, limit, share) for arg in args]
            return self._ask({"call": "tool", "tool": name, "args": plain, "kwargs": keywords})

        tool.__name__ = tool.__qualname__ = name
        return tool

    def _show_vars(self) -> Callable[[], str]:
        def SHOW_VARS() -> str:
            names = {
                name: title(type(value))
                for name, value in list(self.namespace.items())
                if name not in self._hidden and not name.startswith("_") and not guards.is_internal(name)
            }
            if not names:
                return "No variables created yet. Use ```repl``` blocks to create variables."
            return f"Available variables: {names}"

        return SHOW_VARS

    def _final_var(self) -> Callable[[Any], str]:
        def FINAL_VAR(name: Any) -> str:
            value = name
            if not _is_text(name):
                text = str(name)
            else:
                key = str.__str__(name).strip().strip("\"'")
                if key not in self.namespace or guards.is_internal(key):
                    return f"Error: Variable '{key[:100]}' not found. {self._scaffold['SHOW_VARS']()}"
                value = self.namespace[key]
                text = str(value)
            text = str.__str__(text)  # a cell's __str__ may return a subclass of str
            self.final = {"text": text, "whole": None} if value is None else {"text": text}
            return text

        return FINAL_VAR

    def _final_answer(self) -> Callable[[Any], None]:
        def final_answer(value: Any) -> None:
            try:
                final = self._finish(value, str)
            except tagged.TooLarge as large:
                raise ValueError(too_large(large.size, self._result_bytes)) from None
            ended = FinalAnswerCalled()
            self.final, self._ended = final, weakref.ref(ended)
            raise ended

        return final_answer


def too_large(size: int, result_bytes: int) -> str:
    """What a cell is told about an answer of `size` bytes or more."""
    most = result_bytes // 8
    if size <= most:
        return f"the answer has more values than the {_ANSWER_NODES:,} that a result carries; give less, or text"
    return f"the answer takes {size} bytes or more, and may take {most}, an eighth of limits.result_bytes; give less"


def _model(model: str | None) -> str | None:
    if model is None:
        return None
    if not _is_text(model):
        raise TypeError(f"model is a name, not {title(type(model))}")
    name = str.__str__(model)
    if len(name.encode("utf-8", "backslashreplace").decode()) > MAX_MODEL:
        raise ValueError(f"a model name has at most {MAX_MODEL} characters, not {len(name)}; give the name alone")
    return name


def _media(media: Iterable[bytes]) -> list[str]:
    """Images and sound in base64. The host looks at what they are."""
    given = list(media)
    for item in given:
        if type(item) is not bytes:
            raise TypeError(f"media is a list of images and sounds as bytes; one of them is {title(type(item))}")
    if len(given) > MAX_MEDIA:
        raise ValueError(f"llm_query takes at most {MAX_MEDIA} media in one call, not {len(given)}; ask in parts")
    return [binascii.b2a_base64(item, newline=False).decode() for item in given]


def _is_text(value: object) -> bool:
    """Whether `value` is a str. Not isinstance(), which believes the object's own `__class__`."""
    return is_instance(value, str)
