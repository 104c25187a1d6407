"""What a run did, turn by turn: in memory for `RLMChatCompletion.metadata`, and as JSON lines on disk.

The lines are those of upstream's logger, so that its visualizer reads them: one `metadata` line, then one
`iteration` line per turn. They are strict JSON in ASCII, and hold neither secrets nor the context.
"""

from __future__ import annotations

import copy
import json
import os
import re
import threading
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rlm_secure.logger.redact import Redactor
from rlm_secure.policy.model import Data
from rlm_secure.types import CodeBlock, RLMChatCompletion, RLMIteration, RLMMetadata, json_safe

_CONTEXT: Final = re.compile(r"(?:context|history)(?:_\d+)?")


class RLMLogger:
    """Keeps the turns of a run in memory and, where `log_dir` is given, appends them to a file there.

    The file is created at the first line, readable by its owner only, under a name that did not exist before.
    `data` is a policy's section on what may be logged. One logger records one run at a time; its methods may be
    called from any thread. Raises ValueError for a `file_name` that is a path, and OSError when the file cannot
    be written.
    """

    def __init__(self, log_dir: str | Path | None = None, file_name: str = "rlm", *, data: Data | None = None) -> None:
        if Path(file_name).name != file_name:
            raise ValueError(f"file_name {file_name!r} is a path; give the folder as log_dir")
        self.file_name = file_name
        self.log_dir = None if log_dir is None else str(log_dir)
        self.log_file_path = None if log_dir is None else str(Path(log_dir) / _unique(file_name))
        self._lock = threading.Lock()
        self._created = False
        self._metadata: dict[str, Any] | None = None
        self._iterations: list[dict[str, Any]] = []
        self._messages: dict[tuple[str, str], dict[str, Any]] = {}
        self._withheld: frozenset[str] = frozenset()
        self._data = data or Data()
        self._redactor = Redactor(self._data.redact)

    def restrict(self, data: Data, withhold: Iterable[str] = ()) -> None:
        """Log no more than `data` allows as well; and no value of the variables named in `withhold`."""
        with self._lock:
            redact = tuple(dict.fromkeys((*self._data.redact, *data.redact)))
            if redact != self._data.redact:
                self._redactor = self._redactor.extended(redact)
            self._data = Data(
                redact=redact,
                log_context=self._data.log_context and data.log_context,
                log_prompts=self._data.log_prompts and data.log_prompts,
            )
            self._withheld |= frozenset(withhold)

    def fresh(self, *, on_disk: bool = False) -> RLMLogger:
        """An empty logger with the same rules, for a child or for a run beside this one.

        In memory only, or with a file of its own in the same folder.
        """
        logger = RLMLogger(self.log_dir if on_disk else None, self.file_name, data=self._data)
        logger._redactor = self._redactor
        logger._withheld = self._withheld
        return logger

    @property
    def iteration_count(self) -> int:
        """Turns logged since the last clear_iterations()."""
        with self._lock:
            return len(self._iterations)

    def log_metadata(self, metadata: RLMMetadata) -> None:
        """Record how the run is configured. The first call counts, as for a logger that serves several runs."""
        with self._lock:
            if self._metadata is None:
                self._metadata = self._redactor.configuration(metadata.to_dict())
                self._write({"type": "metadata", "timestamp": _now(), **self._metadata})

    def log(self, iteration: RLMIteration) -> None:
        """Record one turn as it is now; what the caller does to `iteration` afterwards changes nothing here."""
        with self._lock:
            entry = {
                "type": "iteration",
                "iteration": len(self._iterations) + 1,
                "timestamp": _now(),
                "prompt": self._prompt(iteration.prompt),
                "response": self._said(iteration.response),
                "code_blocks": [self._block(block) for block in iteration.code_blocks],
                "final_answer": self._said(iteration.final_answer),
                "iteration_time": json_safe(iteration.iteration_time),
            }
            self._iterations.append(entry)
            self._write(entry)

    def clear_iterations(self) -> None:
        """Forget the turns in memory; the next one is number 1 again. The file keeps everything."""
        with self._lock:
            self._iterations = []
            self._messages = {}

    def get_trajectory(self) -> dict[str, Any] | None:
        """A copy of the run: `run_metadata` and `iterations`. None before log_metadata()."""
        with self._lock:
            if self._metadata is None:
                return None
            return copy.deepcopy({"run_metadata": self._metadata, "iterations": self._iterations})

    def _prompt(self, prompt: Any) -> Any:
        if not isinstance(prompt, list):
            return self._said(json_safe(prompt))
        return [self._message(message) for message in prompt]

    def _message(self, message: Any) -> Any:
        """A message as it is logged. Every turn repeats those before it: equal ones are kept once."""
        plain = isinstance(message, Mapping) and set(message) == {"role", "content"}
        if not plain or type(message["role"]) is not str or type(message["content"]) is not str:
            return self._said(json_safe(message))
        key = (message["role"], message["content"])
        if key not in self._messages:
            self._messages[key] = {"role": key[0], "content": self._said(key[1])}
        return self._messages[key]

    def _block(self, block: CodeBlock) -> dict[str, Any]:
        result = block.result.to_dict()
        calls = [self._call(call) for call in block.result.rlm_calls]
        del result["rlm_calls"]
        variables = {name: self._variable(name, value) for name, value in result.pop("locals").items()}
        return {
            "code": self._said(block.code),
            "result": {
                **{name: self._said(value) for name, value in result.items() if name != "error"},
                "locals": self._redactor.content(variables),
                "rlm_calls": calls,
                **({"error": self._redactor.content(result["error"])} if "error" in result else {}),
            },
        }

    def _variable(self, name: str, value: Any) -> Any:
        hidden = name in self._withheld or (not self._data.log_context and bool(_CONTEXT.fullmatch(name)))
        return _placeholder(value) if hidden or not self._data.log_prompts else value

    def _call(self, call: RLMChatCompletion) -> dict[str, Any]:
        """A call as upstream's visualizer shows it: with its tokens, which upstream forgets to write."""
        entry: dict[str, Any] = call.to_dict()
        for name in ("prompt", "response"):
            entry[name] = self._said(entry[name])
        # With a child's trajectory: it was logged under the same rules, but its secrets may be known only here.
        entry = self._redactor.content(entry)
        entry["prompt_tokens"] = call.usage_summary.total_input_tokens
        entry["completion_tokens"] = call.usage_summary.total_output_tokens
        return entry

    def _said(self, value: Any) -> Any:
        """What a model, a user or a cell said, as far as it may be logged."""
        if self._data.log_prompts or not isinstance(value, str | list | dict):
            return self._redactor.content(value)
        return _placeholder(value)

    def _write(self, entry: dict[str, Any]) -> None:
        if self.log_file_path is None:
            return
        line = json.dumps(entry, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        if not self._created:
            Path(self.log_file_path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags |= os.O_CREAT | os.O_EXCL
        descriptor = os.open(self.log_file_path, flags, 0o600)
        self._created = True
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        finally:
            os.close(descriptor)


def _unique(file_name: str) -> str:
    return f"{file_name}_{datetime.now().astimezone():%Y-%m-%d_%H-%M-%S}_{uuid.uuid4().hex[:8]}.jsonl"


def _now() -> str:
    return datetime.now().astimezone().isoformat()


def _placeholder(value: Any) -> str:
    size = f" of {len(value):,}" if isinstance(value, str | list | dict) else ""
    return f"[not logged: {type(value).__name__}{size}]"
