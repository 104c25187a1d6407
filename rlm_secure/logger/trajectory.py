"""What a run did, turn by turn: in memory for `RLMChatCompletion.metadata`, and as JSON lines on disk.

The lines are those of upstream's logger, one `metadata` line and then one `iteration` line per turn, but each message
is written once: see rlm_secure.turns. `rlm-secure log export` and read_trajectory() give upstream's lines, for its
visualizer. All are strict JSON in ASCII, without secrets, and by default without the context.
"""

from __future__ import annotations

import math
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rlm_secure.errors import LogError
from rlm_secure.logger.file import LogFile
from rlm_secure.logger.redact import Redactor
from rlm_secure.loggers import logger
from rlm_secure.policy.model import Data
from rlm_secure.turns import FORMAT, SAME, Messages, Trajectory, common
from rlm_secure.types import (
    Action,
    AskedIteration,
    CodeBlock,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    held_bytes,
    json_safe,
    not_kept,
)

_log = logger("rlm_secure")

#: The content of a turn for which there was no memory or no time; upstream's visualizer can read it.
_STUB: Final[dict[str, Any]] = {
    "prompt": [],
    "response": "[not logged]",
    "code_blocks": [],
    "final_answer": None,
    "iteration_time": None,
}

_CONTEXT: Final = re.compile(r"(?:context|history)(?:_\d+)?")


class _NoTime(Exception):
    """The run's time is over: nothing more is logged."""


class RLMLogger:
    """Keeps the turns of a run in memory and, if `log_dir` is given, appends them to a file there.

    The file is created at the first line, readable by its owner only, under a name that did not exist before.
    `data` is a policy's section on what may be logged. One logger records one run at a time; its methods may be
    called from any thread. Raises ValueError for a `file_name` that is a path.

    If the file cannot be written, exceeds `data.log_bytes`, or takes longer than the run has time, it ends there: it
    has whole lines only, `incomplete` says why there are no more, and the run continues. If the policy sets
    `data.log_optional = false`, log_metadata() and log() raise LogError instead.
    """

    def __init__(self, log_dir: str | Path | None = None, file_name: str = "rlm", *, data: Data | None = None) -> None:
        if Path(file_name).name != file_name:
            raise ValueError(f"file_name {file_name!r} is a path; give the folder as log_dir")
        self.file_name = file_name
        self.log_dir = None if log_dir is None else str(log_dir)
        self.log_file_path = None if log_dir is None else str(Path(log_dir) / _unique(file_name))
        """The file; None without `log_dir`."""
        #: The first keeps the lines of the file in the order of the turns, the second guards the data in memory, so
        #: that reading it never waits for a disk.
        self._order = threading.Lock()
        self._lock = threading.Lock()
        self._file = None if self.log_file_path is None else LogFile(self.log_file_path)
        self._metadata: dict[str, Any] | None = None
        self._iterations: list[dict[str, Any]] = []
        #: The prompt of the last turn: its messages as they were given, copied or immutable, and as they are logged.
        self._given: list[Any] | Messages = []
        self._prompt: list[Any] = []
        #: Whether the last turn in memory has its prompt, so that the next one may refer to it.
        self._kept = True
        self._withheld: frozenset[str] = frozenset()
        self._data = data or Data()
        self._redactor = Redactor(self._data.redact)
        self._incomplete: str | None = None
        self._keep: Callable[[int], bool] = _always
        self._seconds_left: Callable[[], float] = _forever
        self._notice: Callable[[str], None] = _log.warning

    @property
    def incomplete(self) -> str | None:
        """Why the file, or the trajectory in memory, lacks a part of the current run; None while it is complete."""
        return self._incomplete

    def begin_run(
        self,
        *,
        keep: Callable[[int], bool],
        seconds_left: Callable[[], float],
        notice: Callable[[str], None],
    ) -> None:
        """Start a run: forget the turns and the failures of the previous one.

        `keep(size)` says whether the run may keep that many bytes more, `seconds_left()` how long it may still take,
        and `notice` is called once with the reason when the log is incomplete. Raises LogError if the file is required
        and cannot be opened.
        """
        self.clear_iterations()
        self._keep, self._seconds_left, self._notice = keep, seconds_left, notice
        self._incomplete = None
        if self._file is not None:
            self._file.begin(self._data.log_bytes)
            if not self._data.log_optional:
                self._append([])

    def end_run(self) -> None:
        """End a run: its time and memory limits no longer apply."""
        self._keep, self._seconds_left, self._notice = _always, _forever, _log.warning

    def restrict(self, data: Data, withhold: Iterable[str] = ()) -> None:
        """From now on, also log no more than `data` allows, and no value of the variables named in `withhold`."""
        with self._lock:
            self._forget()  # what is logged from now on follows the new rules
            redact = tuple(dict.fromkeys((*self._data.redact, *data.redact)))
            if redact != self._data.redact:
                self._redactor = self._redactor.extended(redact)
            self._data = Data(
                redact=redact,
                log_context=self._data.log_context and data.log_context,
                log_prompts=self._data.log_prompts and data.log_prompts,
                log_bytes=min(self._data.log_bytes, data.log_bytes),
                log_optional=self._data.log_optional and data.log_optional,
            )
            self._withheld |= frozenset(withhold)

    def __reduce__(self) -> tuple[Callable[..., RLMLogger], tuple[Any, ...]]:
        """A fresh logger: the same folder and the same rules, a file of its own, and no turns."""
        return _again, (type(self), self.log_dir, self.file_name, self._data, self._redactor, self._withheld)

    def fresh(self, *, on_disk: bool = False, folder: str | None = None) -> RLMLogger:
        """An empty logger with the same rules, for a child or for a run beside this one.

        In memory only, or with a file of its own in the same folder or in another one.
        """
        folder = folder or (self.log_dir if on_disk else None)
        return _again(RLMLogger, folder, self.file_name, self._data, self._redactor, self._withheld)

    @property
    def iteration_count(self) -> int:
        """Turns logged since the last clear_iterations()."""
        with self._lock:
            return len(self._iterations)

    def log_metadata(self, metadata: RLMMetadata) -> None:
        """Record how the run is configured. Only the first call counts, also when a logger serves several runs."""
        with self._order:
            if self._metadata is not None:
                return
            with self._lock:
                masked: dict[str, Any] = self._redactor.configuration(metadata.to_dict())
                self._metadata = masked
            self._append([{"type": "metadata", "format": FORMAT, "timestamp": _now(), **masked}])

    def log(self, iteration: RLMIteration) -> None:
        """Record one turn as it is now; later changes to `iteration` have no effect."""
        with self._order:
            try:
                with self._lock:
                    entry = self._recorded(iteration)
                self._append([entry])
            except BaseException:  # Ctrl-C as well: the next turn must not refer to one that was not written
                with self._lock:
                    self._forget()
                raise

    def _forget(self) -> None:
        """Write the next prompt whole."""
        self._given, self._prompt = [], []

    def _recorded(self, iteration: RLMIteration) -> dict[str, Any]:
        """The entry of a turn; it is also kept in memory if there is room for it."""
        head = {"type": "iteration", "iteration": len(self._iterations) + 1, "timestamp": _now()}
        try:
            entry = kept = head | self._entry(iteration)
        except _NoTime:
            entry = kept = head | _STUB
            self._forget()
            self._miss("the run's time was over before its last turn was written down")
        if SAME in entry and not self._kept:
            kept = {name: value for name, value in entry.items() if name != SAME} | {"prompt": [*self._prompt]}
        size = held_bytes(kept)
        self._kept = self._keep(size)
        if not self._kept:
            kept = head | _STUB | {"response": not_kept(size)}
            self._miss("a turn was not kept in memory: limits.kept_bytes leaves no room for it")
        self._iterations.append(kept)
        return entry

    def _entry(self, iteration: RLMIteration) -> dict[str, Any]:
        return {
            **self._asked(iteration.asked if isinstance(iteration, AskedIteration) else iteration.prompt),
            "response": self._said(iteration.response),
            "code_blocks": [self._block(block) for block in iteration.code_blocks],
            "final_answer": self._said(iteration.final_answer),
            "iteration_time": json_safe(iteration.iteration_time),
            **({} if iteration.label is None else {"label": self._said(iteration.label)}),
            **({"actions": [self._action(each) for each in iteration.actions]} if iteration.actions else {}),
        }

    def _action(self, action: Action) -> dict[str, Any]:
        return {name: self._said(value) for name, value in action.to_dict().items()}

    def clear_iterations(self) -> None:
        """Forget the turns in memory; the next one is number 1 again. The file keeps everything."""
        with self._lock:
            self._iterations = []
            self._kept = True
            self._forget()

    def get_trajectory(self) -> dict[str, Any] | None:
        """A copy of the run: `run_metadata` and `iterations`, as upstream has them. None before log_metadata()."""
        kept = self.trajectory()
        return None if kept is None else kept.whole()

    def trajectory(self) -> Trajectory | None:
        """The run so far, each message once; None before log_metadata(). It takes no memory beside the logger's."""
        with self._lock:
            return None if self._metadata is None else Trajectory(self._metadata, self._iterations)

    def _asked(self, prompt: Any) -> dict[str, Any]:
        """A prompt as it is logged: the messages after those with which the prompt of the last turn begins as well."""
        if not isinstance(prompt, list | Messages):
            self._forget()
            return {"prompt": self._said(json_safe(prompt))}
        same = common(prompt, self._given)
        given = [*self._given[:same]] if isinstance(prompt, list) else []
        del self._prompt[same:]
        for message in prompt[same:]:
            copied, logged = self._message(message)
            given.append(copied)
            self._prompt.append(logged)
        self._given = given if isinstance(prompt, list) else prompt
        return ({SAME: same} if same else {}) | {"prompt": self._prompt[same:]}

    def _message(self, message: Any) -> tuple[Any, Any]:
        """A copy of a message as it is given, and the message as it is logged; one object where they are equal."""
        plain = isinstance(message, Mapping) and set(message) == {"role", "content"}
        if not plain or type(message["role"]) is not str or type(message["content"]) is not str:
            given = json_safe(message)
            return given, self._said(given)
        given = {"role": message["role"], "content": message["content"]}
        content = self._said(given["content"])
        return given, given if content is given["content"] else {**given, "content": content}

    def _block(self, block: CodeBlock) -> dict[str, Any]:
        self._in_time()
        result = block.result.own_dict()
        calls = [self._call(call) for call in block.result.rlm_calls]
        del result["rlm_calls"]
        variables = self._variables(result.pop("locals"))
        if "values" in result:
            result["values"] = self._variables(result["values"])
        return {
            "code": self._said(block.code),
            "result": {
                **{name: self._said(value) for name, value in result.items() if name != "error"},
                "locals": self._redactor.content(variables),
                "rlm_calls": calls,
                **({"error": self._redactor.content(result["error"])} if "error" in result else {}),
            },
        }

    def _variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._variable(name, value) for name, value in values.items()}

    def _variable(self, name: str, value: Any) -> Any:
        hidden = name in self._withheld or (not self._data.log_context and bool(_CONTEXT.fullmatch(name)))
        return _placeholder(value) if hidden or not self._data.log_prompts else value

    def _call(self, call: RLMChatCompletion) -> dict[str, Any]:
        """A call as upstream's visualizer shows it: with its tokens, which upstream's logger does not write."""
        self._in_time()
        entry: dict[str, Any] = call.short_dict()
        for name in ("prompt", "response"):
            entry[name] = self._said(entry[name])
        # Includes a child's trajectory: it was logged under the same rules, but its secrets may be known only here.
        entry = self._redactor.content(entry)
        entry["prompt_tokens"] = call.usage_summary.total_input_tokens
        entry["completion_tokens"] = call.usage_summary.total_output_tokens
        return entry

    def _said(self, value: Any) -> Any:
        """Text of a model, a user or a cell, as far as it may be logged. Raises _NoTime."""
        self._in_time()
        if self._data.log_prompts or not isinstance(value, str | list | dict):
            return self._redactor.content(value)
        return _placeholder(value)

    def _in_time(self) -> None:
        if self._seconds_left() <= 0:
            raise _NoTime

    def _append(self, entries: list[dict[str, Any]]) -> None:
        """Add lines to the file. Raises LogError if that fails and the policy requires the file."""
        if self._file is None:
            return
        problem = self._file.append(entries, self._seconds_left)
        if problem is None:
            return
        if not self._data.log_optional:
            raise LogError(f"{problem}; mend it, or set data.log_optional = true to go on without the file")
        self._miss(problem)

    def _miss(self, problem: str) -> None:
        """Report once that the log is incomplete."""
        if self._incomplete is None:
            self._incomplete = f"the log is incomplete: {problem}"
            self._notice(self._incomplete)


def _again(
    kind: type[RLMLogger],
    log_dir: str | None,
    file_name: str,
    data: Data,
    redactor: Redactor,
    withheld: frozenset[str],
) -> RLMLogger:
    logger = kind(log_dir, file_name, data=data)
    logger._redactor, logger._withheld = redactor, withheld
    return logger


def _unique(file_name: str) -> str:
    return f"{file_name}_{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}_{uuid.uuid4().hex[:8]}.jsonl"


def _now() -> str:
    return datetime.now().astimezone().isoformat()


def _placeholder(value: Any) -> str:
    size = f" of {len(value):,}" if isinstance(value, str | list | dict) else ""
    return f"[not logged: {type(value).__name__}{size}]"


def _always(_size: int) -> bool:
    return True


def _forever() -> float:
    return math.inf
