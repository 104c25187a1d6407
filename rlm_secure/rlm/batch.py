"""Several completions at the same time, under one allowance."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from rlm_secure.errors import ResultTooLarge
from rlm_secure.events import tell
from rlm_secure.policy.gate import Gate
from rlm_secure.rlm.budget import Records
from rlm_secure.rlm.slots import ChildSlots
from rlm_secure.rlm.tree import Tree
from rlm_secure.types import Parsed, RLMChatCompletion, held_bytes


@dataclass(frozen=True, slots=True)
class Item(Generic[Parsed]):
    """The result of one prompt: exactly one of `completion` and `error` is set."""

    index: int
    completion: RLMChatCompletion[Parsed] | None = None
    error: Exception | None = None

    @property
    def response(self) -> str:
        """The answer. Raises the item's error if there is none."""
        if self.completion is None:
            assert self.error is not None
            raise self.error
        return self.completion.response


class Complete(Protocol):
    """One completion inside a tree."""

    def __call__(self, tree: Tree, prompt: Any, root_prompt: str | None) -> RLMChatCompletion:
        """Run it. Raises what a run raises."""
        ...


def run(
    complete: Complete,
    tree: Tree,
    prompts: Sequence[Any],
    root_prompts: Sequence[str | None] | str | None,
    concurrency: int,
    on_progress: Callable[[int, int], Any] | None,
) -> list[Item]:
    """Complete all prompts; return one Item per prompt, in order. A failure is kept in its Item and stops no other.

    `root_prompts` is one question for all, or one for each. `concurrency` completions run at a time; all share
    the ledger of `tree`. Answers may take `limits.kept_bytes` in total: one beyond that is a ResultTooLarge in its
    Item. `on_progress(done, of)` is called after each. Raises ValueError when the lengths differ, or when
    `concurrency` is below 1, and Refused for more prompts than there may be calls of models.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
    questions = [root_prompts] * len(prompts) if root_prompts is None or isinstance(root_prompts, str) else root_prompts
    if len(questions) != len(prompts):
        raise ValueError(f"there are {len(prompts)} prompts and {len(questions)} root_prompts; give one for each")
    Gate.runs(len(prompts), tree.ledger.allowance.calls - tree.ledger.spent.calls).require()
    done = 0
    lock = threading.Lock()
    answers = Records(tree.records.limit)

    def one(index: int) -> Item:
        nonlocal done
        try:
            item = _kept(answers, Item(index, complete(tree, prompts[index], questions[index])))
        except Exception as error:  # noqa: BLE001  handed to the caller in its item
            item = Item(index, error=error)
        with lock:
            done += 1
            now = done
        tell(on_progress, now, len(prompts))
        return item

    slots = ChildSlots(concurrency, tree.overdue)
    try:
        return slots.map(one, range(len(prompts)))
    except BaseException:  # Ctrl-C: stop the runs in other threads with the tree, and wait for them
        tree.stop("Execution cancelled: its batch was cancelled")
        slots.join(2.0)
        raise


def _kept(answers: Records, item: Item) -> Item:
    """The item, or one with ResultTooLarge if its answer exceeds what the batch may still keep."""
    assert item.completion is not None
    size = held_bytes(item.completion.response)
    if answers.take(size):
        return item
    return Item(item.index, error=ResultTooLarge(size, answers.limit))
