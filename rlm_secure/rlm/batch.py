"""Several completions at the same time, under one allowance: in threads, or on several machines by another engine."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias

from rlm_secure import registry
from rlm_secure.errors import ResultTooLarge
from rlm_secure.events import tell
from rlm_secure.policy.gate import Gate
from rlm_secure.rlm.budget import Records
from rlm_secure.rlm.slots import ChildSlots
from rlm_secure.rlm.tree import Tree, delivered
from rlm_secure.types import Parsed, RLMChatCompletion, held_bytes

THREADS: Final = "threads"


@dataclass(frozen=True, slots=True)
class Item(Generic[Parsed]):
    """The result of one prompt: exactly one of `completion` and `error` is set."""

    index: int
    """The place of the prompt in the batch, from 0."""
    completion: RLMChatCompletion[Parsed] | None = None
    error: Exception | None = None

    @property
    def response(self) -> str:
        """The answer. Raises the item's error if there is none."""
        if self.completion is None:
            assert self.error is not None
            raise self.error
        return self.completion.response


#: What gets each item as it comes, and a function that completes a batch in a tree and gives its items to that.
OnItem: TypeAlias = Callable[[Item[Parsed]], object]
Work: TypeAlias = Callable[[Tree, OnItem[Parsed]], object]


class Complete(Protocol):
    """One completion inside a tree."""

    def __call__(self, tree: Tree, prompt: Any, root_prompt: str | None) -> RLMChatCompletion:
        """Run it. Raises what a run raises."""
        ...


class Batch:
    """The prompts of one batch, and what is known of their results. Thread-safe.

    `root_prompts` is one question for all, or one for each. Items of an earlier batch that have a completion (`resume`)
    are results already. Answers may take `limits.kept_bytes` in total: one beyond that is a ResultTooLarge in its Item.
    Raises ValueError when the lengths differ, when an index of `resume` is none of the prompts, or when `concurrency`
    is below 1, and Refused for more prompts than there may be calls of models.
    """

    def __init__(
        self,
        tree: Tree,
        prompts: Sequence[Any],
        root_prompts: Sequence[str | None] | str | None = None,
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], Any] | None = None,
        on_item: Callable[[Item[Any]], Any] | None = None,
        resume: Iterable[Item[Any]] = (),
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
        alone = root_prompts is None or isinstance(root_prompts, str)
        questions: Any = [root_prompts] * len(prompts) if alone else root_prompts
        if len(questions) != len(prompts):
            raise ValueError(f"there are {len(prompts)} prompts and {len(questions)} root_prompts; give one for each")
        self.tree = tree
        # As they are now: whoever reads the items as they come may change theirs, and an item is known by its index.
        self.prompts = tuple(prompts[index] for index in range(len(prompts)))
        self.questions: Sequence[str | None] = tuple(questions[index] for index in range(len(prompts)))
        self.concurrency = concurrency
        self._on_progress = on_progress
        self._on_item = on_item
        self._answers = Records(tree.records.limit)
        self._lock = threading.Lock()
        self._items: dict[int, Item[Any]] = {}
        for item in resume:
            if not 0 <= item.index < len(prompts):
                raise ValueError(f"resume has an item of index {item.index}, and there are {len(prompts)} prompts")
            if item.completion is not None:
                self._items[item.index] = self._kept(item)
        #: The indices of the prompts that have no result yet, in order.
        self.todo: list[int] = [index for index in range(len(prompts)) if index not in self._items]
        Gate.runs(len(self.todo), tree.ledger.allowance.calls - tree.ledger.spent.calls).require()

    def finish(self, item: Item[Any]) -> None:
        """Keep a result, the first of its prompt, and tell the caller's functions of it."""
        item = item if item.completion is None else self._kept(item)
        with self._lock:
            self._items[item.index] = item
            done = len(self._items)
        tell(self._on_item, item)
        tell(self._on_progress, done, len(self.prompts))

    def results(self) -> list[Item[Any]]:
        """One Item per prompt, in order."""
        return [self._items[index] for index in range(len(self.prompts))]

    def _kept(self, item: Item[Any]) -> Item[Any]:
        """The item, or one with ResultTooLarge if its answer exceeds what the batch may still keep."""
        assert item.completion is not None
        size = held_bytes(item.completion.response)
        if self._answers.take(size):
            return item
        return Item(item.index, error=ResultTooLarge(size, self._answers.limit))


class Batched(Protocol):
    """What an engine knows of the RLM that it runs prompts with."""

    @property
    def complete_in(self) -> Complete:
        """One completion inside a tree."""
        ...


def run(engine: str, rlm: Batched, batch: Batch) -> list[Item[Any]]:
    """Complete the prompts of `batch` with `rlm`; return one Item per prompt, in order.

    A failure is kept in its Item and stops no other. `concurrency` completions run at a time; all share the ledger of
    the batch's tree. Raises ValueError for an engine that is not known, and what the engine raises.
    """
    if engine == THREADS:
        _in_threads(rlm.complete_in, batch)
    elif engine in registry.ENGINES:
        registry.built_in(registry.ENGINES[engine])(rlm, batch)
    else:
        raise ValueError(f"there is no engine {engine[:80]!r}; there are {', '.join((THREADS, *registry.ENGINES))}")
    return batch.results()


def _in_threads(complete: Complete, batch: Batch) -> None:
    tree = batch.tree

    def one(index: int) -> None:
        try:
            tree.check()  # no session for a prompt whose batch has ended
            item: Item[Any] = Item(index, complete(tree, batch.prompts[index], batch.questions[index]))
        except Exception as error:  # noqa: BLE001  handed to the caller in its item
            item = Item(index, error=error)
        batch.finish(item)

    slots = ChildSlots(batch.concurrency, tree.overdue)
    try:
        slots.map(one, batch.todo)
    except BaseException:  # Ctrl-C: stop the runs in other threads with the tree, and wait for them
        tree.stop("Execution cancelled: its batch was cancelled")
        slots.join(2.0)
        raise


class _Inbox(queue.SimpleQueue[Item[Parsed] | None]):
    """Items that nobody has read: their answers are within `limits.kept_bytes`, so nothing waits for a reader."""

    def end(self) -> None:
        self.put(None)


def as_completed(make: Callable[[], Tree], work: Work[Parsed]) -> Generator[Item[Parsed], None, None]:
    """Yield the items of a batch as they come. Raises what `work` raises, after its items.

    Closing the generator stops the tree that `make` creates, and waits for its end.
    """
    items: _Inbox[Parsed] = _Inbox()
    return delivered(make, lambda tree: work(tree, items.put), items, "its results")


async def as_completed_async(make: Callable[[], Tree], work: Work[Parsed]) -> AsyncGenerator[Item[Parsed], None]:
    """As as_completed(), for an event loop."""
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[Item[Parsed] | None] = asyncio.Queue()

    def put(item: Item[Parsed]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads it
            loop.call_soon_threadsafe(items.put_nowait, item)

    running = asyncio.ensure_future(make().run(lambda tree: work(tree, put)))
    running.add_done_callback(lambda _: items.put_nowait(None))
    try:
        while (item := await items.get()) is not None:
            yield item
        await running
    finally:
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # marks it as retrieved: who leaves early does not want it
