"""What a long run costs: bytes of its trajectory and CPU time of its turns, beside a log with whole prompts.

The turns have no cells and the model takes no time: what is measured is the loop and its records. "sent" is the same
with prompts that are copied and encoded, as for a provider: what that adds is what has to be sent, and grows with it.
Bytes are shown as seconds, a byte as a nanosecond: 1 MB is 1 ms.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import Case, benchmark
from rlm_secure import RLM, Policy, RLMLogger
from rlm_secure.removal import Scratch, remove
from rlm_secure.types import RLMIteration

logging.getLogger("rlm_secure").addHandler(logging.NullHandler())  # each run says that its cells gave no answer
TURNS = (50, 500, 2_000)
#: 2,000 whole prompts would take 2 GB.
MOST_WHOLE = 500
#: A reply of some 600 characters without a cell; the loop adds two messages to each turn.
REPLY = "a thought about the question " * 20
#: The window that makes a conversation compact: a summary after every 60 turns.
WINDOW = 20_000


class Whole(RLMLogger):
    """The log as it would be with whole prompts, upstream's way: each turn encodes and writes all its messages."""

    def log(self, iteration: RLMIteration) -> None:
        """Append the turn."""
        assert self.log_file_path is not None
        Path(self.log_file_path).parent.mkdir(exist_ok=True)
        with Path(self.log_file_path).open("a") as file:
            file.write(json.dumps({"type": "iteration", **iteration.to_dict()}) + "\n")


def sent(messages: list[dict[str, Any]]) -> str:
    """The model's line, after the prompt was encoded as it would be for a provider."""
    json.dumps(messages).encode()
    return REPLY


#: A log, the model's line, and how they are called.
Kind = tuple[type[RLMLogger], str | Callable[..., str], str]
PLAIN: Kind = (RLMLogger, REPLY, "")
SENT: Kind = (RLMLogger, sent, ", sent")
WHOLE: Kind = (Whole, REPLY, ", whole prompts")


class Long:
    """A run of `turns` turns, and what it took."""

    def __init__(
        self,
        folder: Path,
        turns: int,
        log: type[RLMLogger],
        *,
        compaction: bool,
        line: str | Callable[..., str] = REPLY,
    ) -> None:
        self.turns = turns
        self.compaction = compaction
        self.line = line
        self._folder = folder
        self._log = log
        self.seconds = 0.0
        self.bytes = 0

    def small(self) -> None:
        """Make a run of a few turns instead."""
        self.turns = 5
        self()

    def __call__(self) -> None:
        """Make the run."""
        if self._folder.exists():
            remove(self._folder)
        lm = {"iterations": self.turns, "calls": 2 * self.turns, "tokens": 10**12, "prompt_bytes": 1 << 26}
        policy = Policy.model_validate({"name": "long", "lm": lm, "limits": {"run_seconds": 3_600}})
        rlm = RLM(
            backend="scripted",
            backend_kwargs={"turns": [self.line] * (2 * self.turns), "model_name": "scripted"},
            policy=policy,
            max_iterations=self.turns,
            logger=self._log(self._folder, data=policy.data),
            compaction=self.compaction,
            windows={"scripted": WINDOW} if self.compaction else {"scripted": None},
        )
        begun = time.process_time()
        with rlm:
            assert rlm.completion("a context").response == REPLY
        self.seconds = time.process_time() - begun
        self.bytes = sum(file.stat().st_size for file in self._folder.iterdir())


def cases(value: Callable[[Long], float], *kinds: Kind) -> Iterator[Sequence[Case]]:
    """A case for each number of turns and each kind, with and without compaction; whole prompts up to MOST_WHOLE."""
    with Scratch("rlm-secure-bench-") as folder:
        made = []
        for number, turns in enumerate(TURNS):
            for log, line, name in kinds:
                for compaction in (False, True):
                    if log is Whole and turns > MOST_WHOLE:
                        continue
                    run = Long(folder / f"{number}{name}{compaction}", turns, log, compaction=compaction, line=line)
                    title = f"{turns:,} turns{', compaction' if compaction else ''}{name}"
                    made.append(Case(title, run, turns, value=lambda run=run: value(run), slow=True, small=run.small))
        yield made


@benchmark("log-bytes", "bytes of a trajectory for each turn, as nanoseconds")
def log_bytes() -> Iterator[Sequence[Case]]:
    yield from cases(lambda run: run.bytes / 1e9, PLAIN, WHOLE)


@benchmark("long-run", "CPU time of a turn without a cell, with its log")
def long_run() -> Iterator[Sequence[Case]]:
    yield from cases(lambda run: run.seconds, PLAIN, SENT, WHOLE)
