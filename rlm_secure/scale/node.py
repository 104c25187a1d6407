"""What runs on one machine of a batch: its own zygote and walls, a tree of runs, and a channel to the driver.

The driver tells (prompts, leases, an end) and polls; the node answers each poll with what happened since the last one
that arrived. A message is kept until the driver has confirmed it, so a connection that breaks loses nothing.
Nothing here knows how the messages travel: rlm_secure.scale.ray does.
"""

from __future__ import annotations

import builtins
import copy
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from rlm_secure import __version__, threads
from rlm_secure.environments.context import Flat, share
from rlm_secure.environments.examine import examined
from rlm_secure.environments.interface import AuditSink
from rlm_secure.errors import RLMSecureError
from rlm_secure.guarantees import EnforcementReport, Wall
from rlm_secure.loggers import logger
from rlm_secure.pickling import require_picklable
from rlm_secure.policy import Gate
from rlm_secure.registry import ENVIRONMENTS, RunsIn
from rlm_secure.removal import Scratch, remove
from rlm_secure.rlm.assembly import new_tree
from rlm_secure.rlm.batch import Item
from rlm_secure.rlm.budget import Allowance
from rlm_secure.rlm.rlm import RLM
from rlm_secure.rlm.tree import Tree
from rlm_secure.scale.leases import Account, LeasedLedger

#: A message: what it is, and its content.
Message: TypeAlias = tuple[str, Any]

#: What a poll returns; see Node.poll().
Answer: TypeAlias = tuple[list[tuple[int, Message]], int, Account]

#: Seconds without a poll after which the driver is gone, and the node ends its runs.
SILENCE: Final = 60.0
#: Most events that wait for a poll; more are counted and not sent.
_EVENTS: Final = 10_000
#: Most messages in the answer to one poll.
_AT_ONCE: Final = 256
#: Contexts shared by several prompts that a node keeps.
_CONTEXTS: Final = 4
#: What the driver writes to the caller's audit log for a node.
AUDITED: Final = frozenset({"session_start", "session_end", "refusal", "violation", "limit"})
_log = logger("rlm_secure")

_GONE: Final = "Execution cancelled: nothing was heard of the program that runs the batch"


@dataclass(frozen=True, slots=True)
class NodeOrder:
    """What a node is told beside the RLM. `deadline` is wall time; `heard` are the callbacks to be forwarded.

    `slots` prompts run at a time, with `calls` model calls in flight and `children` child runs. `version` is the
    driver's.
    """

    allowance: Allowance
    deadline: float
    slots: int
    calls: int
    children: int
    heard: tuple[str, ...] = ()
    audited: bool = False
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Examined:
    """What the doctor says of a node: its report, and the walls that the policy requires and the node lacks.

    `problem` is why there is no report.
    """

    report: EnforcementReport | None = None
    missing: tuple[Wall, ...] = ()
    problem: str = ""


class Node:
    """One machine's part of a batch. `fetch` gets a context that several prompts share from where the driver put it."""

    def __init__(self, fetch: Callable[[Any], Any] = lambda place: place) -> None:
        self._fetch = fetch
        self._outbox = _Outbox()
        self._work: queue.SimpleQueue[tuple[int, Any, Any, str | None] | None] = queue.SimpleQueue()
        self._contexts: dict[int, Any] = {}
        self._fetching = threading.Lock()
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._slots = 0
        self._running = 0
        #: Every message up to this number was heard, and these after it.
        self._heard = 0
        self._ahead: set[int] = set()
        self._heard_at = time.monotonic()
        self._begun = False
        self._ended = threading.Event()

    def begin(self, rlm: RLM, order: NodeOrder) -> Examined:
        """Examine the walls, and get ready if none is missing. Never raises for what this machine lacks."""
        if order.version != __version__:
            said = f"it has rlm-secure {__version__}, and the program {order.version}; install the same"
            return Examined(problem=said)
        try:
            found = self._examined(rlm)
        except (RLMSecureError, ValueError, OSError) as error:
            return Examined(problem=f"{type(error).__name__}: {error}")
        if found.missing or found.problem:
            return found
        for name in order.heard:
            setattr(rlm, name, _Forward(self._outbox.event, name))
        if order.audited:
            rlm.audit = cast(AuditSink, _Audit(self._outbox.put))  # it has the methods of one, by name
        self._rlm = rlm
        self._logs = self._stack.enter_context(Scratch("rlm-secure-node-")) if _on_disk(rlm) else None
        self._ledger = LeasedLedger(
            order.allowance,
            deadline=order.deadline,
            ask=lambda need: self._outbox.put(("need", need)),
            changed=self._outbox.changed,
            most=order.calls,
            connected=self._connected,
        )
        self._tree = self._stack.enter_context(self._tree_of(rlm, order))
        self._start(order.slots)
        self._heard_at, self._begun = time.monotonic(), True
        threads.start(self._watch, "rlm-secure-node-watch")
        return found

    def tell(self, messages: list[tuple[int, Message]]) -> None:
        """Take what the driver says, each number once: it may be told again, and in any order."""
        for number, (kind, content) in messages:
            with self._lock:
                if number <= self._heard or number in self._ahead:
                    continue
                self._ahead.add(number)
                while self._heard + 1 in self._ahead:
                    self._heard += 1
                    self._ahead.discard(self._heard)
            getattr(self, f"_on_{kind}")(*content)

    def poll(self, confirmed: int, seconds: float) -> Answer:
        """What happened after message `confirmed`, numbered; up to which number the driver was heard; and an account
        that is no older than these messages. Waits up to `seconds` for something."""
        self.hear()
        messages = self._outbox.get(confirmed, seconds)
        self.hear()
        return messages, self._heard, self._ledger.account

    def hear(self) -> None:
        """The driver lives, also where it does not poll, because it waits for a callback of its caller's."""
        away, self._heard_at = not self._connected(), time.monotonic()
        if away and self._begun:
            self._tree.wake()

    def end(self, confirmed: int) -> Answer:
        """End what still runs; then as poll()."""
        self._ended.set()
        for _ in range(self._slots):
            self._work.put(None)
        self._stack.close()
        self._ledger.give_back()
        return self.poll(confirmed, 0.0)

    def _start(self, slots: int) -> None:
        """Have threads for so many prompts at a time. None is ended before the node is."""
        with self._lock:
            for number in range(self._slots, slots):
                threads.start(self._runs, f"rlm-secure-node-{number}")
            self._slots = max(self._slots, slots)

    # -- what the driver says ------------------------------------------------------------------------

    def _on_run(self, index: int, prompt: Any, shared: Any, question: str | None) -> None:
        self._work.put((index, prompt, shared, question))

    def _on_lease(self, kind: Any, amount: Any, others: Any) -> None:
        self._ledger.given(kind, amount, others)
        self._tree.wake()

    def _on_refusal(self, kind: Any, error: Exception, others: Any) -> None:
        self._ledger.refused(kind, error, others)
        self._tree.wake()

    def _on_recall(self) -> None:
        self._ledger.give_back()

    def _on_share(self, slots: int, calls: int) -> None:
        self._start(slots)
        self._ledger.resize(calls)
        self._tree.wake()

    def _on_spent(self, others: Any) -> None:
        self._ledger.told(others)
        self._tree.wake()

    def _on_unknown(self, error: Any) -> None:
        self._ledger.refuse_unknown(error)
        self._tree.wake()

    def _on_stop(self, reason: str) -> None:
        self._tree.stop(reason)

    # -- runs ----------------------------------------------------------------------------------------

    def _examined(self, rlm: RLM) -> Examined:
        spec = ENVIRONMENTS.get(rlm.environment_type)
        if spec is not None and spec.runs_in is RunsIn.CLOUD:
            return Examined()  # a sandbox costs money, and each session examines its own
        report, required = examined(rlm.environment_type, rlm.policy, rlm.environment_kwargs)
        return Examined(report, report.missing(required))

    def _tree_of(self, rlm: RLM, order: NodeOrder) -> Tree:
        return new_tree(
            rlm.policy,
            max_budget=rlm.max_budget,
            max_tokens=rlm.max_tokens,
            max_timeout=rlm.max_timeout,
            listeners=(rlm.on_event,),
            prices=rlm.prices,
            windows=rlm.windows,
            whose=rlm,
            children=order.children,
            ledger=self._ledger,
        )

    def _runs(self) -> None:
        """Run one prompt after another, until the end."""
        while (work := self._work.get()) is not None:
            with self._lock:
                self._running += 1
            try:
                item, logs = self._run(*work)
            except BaseException as error:  # noqa: BLE001  without this thread, the prompt has no end
                item, logs = Item(work[0], error=RLMSecureError(f"the run raised {type(error).__name__}")), {}
            with self._lock:
                self._running -= 1
                idle = not self._running and self._work.empty()
            if (unknown := self._ledger.unknown) is not None:
                self._outbox.put(("unknown", unknown))
            self._outbox.put(("item", (item, logs)))
            if idle:
                self._ledger.give_back()

    def _run(self, index: int, prompt: Any, shared: Any, question: str | None) -> tuple[Item[Any], dict[str, bytes]]:
        """The result of one prompt, and its log files by name. Never raises."""
        folder = None if self._logs is None else self._logs / str(index)
        try:
            rlm = self._rlm
            if folder is not None and rlm.logger is not None:
                rlm = rlm.changed(logger=rlm.logger.fresh(folder=str(folder)))
            asked = prompt if shared is None else self._context(prompt, shared)
            completion = copy.copy(rlm.complete_in(self._tree, asked, question))  # the event of its end has the other
            completion.prompt = ""  # the driver has it
            item = _sendable(Item(index, completion))
        except Exception as error:  # noqa: BLE001  handed to the caller in its item
            item = _sendable(Item(index, error=error))
        except BaseException as error:  # noqa: BLE001  a tool that ends its thread: the driver waits for an answer
            item = Item(index, error=RLMSecureError(f"the run raised {type(error).__name__}"))
        return item, {} if folder is None else _taken(folder)

    def _context(self, number: int, place: Any) -> Any:
        """A context that several prompts share: fetched once, one object or one sealed memfd for all of them."""
        with self._fetching:
            if number not in self._contexts:
                while len(self._contexts) >= _CONTEXTS:
                    del self._contexts[next(iter(self._contexts))]
                found = self._fetch(place)
                self._contexts[number] = share(found, Gate(self._rlm.policy)) if isinstance(found, Flat) else found
            return self._contexts[number]

    def _connected(self) -> bool:
        """Whether the driver was heard, also where this process has not run since then."""
        return time.monotonic() - self._heard_at <= SILENCE

    def _watch(self) -> None:
        """End the runs of a driver that is gone: they spend money, and nobody would get their answers."""
        while not self._ended.wait(1.0):
            if not self._connected():
                self._tree.stop(_GONE)
                return


class _Outbox:
    """Messages that wait for the driver. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Message]] = deque()
        self._number = 0
        self._dropped = 0
        self._changed = False
        self._more = threading.Condition()

    def put(self, message: Message) -> None:
        with self._more:
            self._number += 1
            self._waiting.append((self._number, message))
            self._more.notify_all()

    def event(self, message: Message) -> None:
        """As put(), unless too many wait: then it is counted."""
        with self._more:
            if len(self._waiting) >= _EVENTS:
                self._dropped += 1
                return
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self.put(("dropped", dropped))
        self.put(message)

    def changed(self) -> None:
        """The account has changed, which every answer to a poll has."""
        with self._more:
            self._changed = True
            self._more.notify_all()

    def get(self, confirmed: int, seconds: float) -> list[tuple[int, Message]]:
        """The messages after `confirmed`; waits up to `seconds` for one, or for a changed account."""
        with self._more:
            while self._waiting and self._waiting[0][0] <= confirmed:
                self._waiting.popleft()
            self._more.wait_for(lambda: self._waiting or self._changed, seconds)
            self._changed = False
            return [self._waiting[at] for at in range(min(_AT_ONCE, len(self._waiting)))]


@dataclass(frozen=True, slots=True)
class _Forward:
    """A callback of the caller's, which the driver calls."""

    put: Callable[[Message], None]
    name: str

    def __call__(self, *arguments: Any) -> None:
        self.put(("call", (self.name, arguments)))


class _Audit:
    """The caller's audit log, which the driver writes: its chain, its key and its file never leave that machine."""

    def __init__(self, put: Callable[[Message], None]) -> None:
        self._put = put

    def __getattr__(self, method: str) -> Callable[..., None]:
        if method not in AUDITED:
            raise AttributeError(method)
        return lambda *arguments, **named: self._put(("audit", (method, arguments, named)))


def _taken(folder: Path) -> dict[str, bytes]:
    """The files of a folder, which is then removed; none where it cannot be read."""
    try:
        logs = {file.name: file.read_bytes() for file in folder.iterdir()}
        remove(folder)
    except OSError as error:
        _log.warning("a run's log files are lost: %s", error.strerror)
        return {}
    return logs


def _on_disk(rlm: RLM) -> bool:
    return rlm.logger is not None and rlm.logger.log_dir is not None


def _sendable(item: Item[Any]) -> Item[Any]:
    """The item, if the driver can read it; an error of another package, or what cannot be sent, is told in words.

    What cannot be sent would end the answer to a poll, and with it the actor and what else runs there.
    """
    error = item.error
    try:
        if error is None:
            require_picklable("the answer", {"completion": item.completion})
        elif isinstance(error, RLMSecureError):
            require_picklable("the error", vars(error))
        elif type(error).__module__ == builtins.__name__ and not isinstance(error, BaseExceptionGroup):
            require_picklable("the error", {"error": error})
        else:
            return Item(item.index, error=RLMSecureError(f"{type(error).__qualname__}: {error}"))
    except TypeError as refused:
        return Item(item.index, error=RLMSecureError(str(error or refused)))
    return item
