"""`RLM.batch(..., engine="ray")`: the prompts of a batch on the nodes of a Ray cluster.

One actor on each node that has a CPU, with a zygote and walls of its own, made from the RLM's configuration. A node
whose walls are not those that the policy requires gets no prompt. The allowance is one: see rlm_secure.scale.leases.
Answers are delivered as they come, each once: what a node that died had not delivered runs again elsewhere. A node that
joins later, or comes back, gets its part of what runs at the same time: see rlm_secure.scale.shares.

A large context that several prompts share is in the object store: see rlm_secure.scale.contexts.

A program that is connected to a cluster (`ray.init(address=...)`) uses that; otherwise a local Ray is started, on the
loopback address and without a dashboard, and stays until the program ends or calls `ray.shutdown()`. Ray trusts whoever
reaches its ports: see threat-model.md.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rlm_secure import documents, files, threads
from rlm_secure.errors import (
    AuditLogError,
    CancellationError,
    EnforcementError,
    EnvironmentUnavailable,
    LogError,
    PriceUnknownError,
    TimeoutExceededError,
)
from rlm_secure.events import tell
from rlm_secure.loggers import logger
from rlm_secure.rlm.batch import Batch, Item
from rlm_secure.rlm.budget import LIMITS, Spent
from rlm_secure.rlm.rlm import RLM
from rlm_secure.scale.connection import connected
from rlm_secure.scale.contexts import SharedContexts, fetched
from rlm_secure.scale.leases import Account, LeaseNeed, Leases
from rlm_secure.scale.node import AUDITED, SILENCE, Examined, Message, Node, NodeOrder
from rlm_secure.scale.shares import NodeShare, part, shared_out

#: Callbacks of an RLM that are called here for what happens on a node.
_HEARD: Final = ("on_event", "on_subcall_start", "on_subcall_complete", "on_iteration_start", "on_iteration_complete")
#: Seconds between two looks at the batch's own end, and for which a node may hold a poll.
_LOOK: Final = 0.25
_POLL: Final = 10.0
#: Seconds between two polls of a node that cannot be reached.
_AGAIN: Final = 0.1
#: Seconds without an answer after which a node gets no more signs of life: it answers each poll within _POLL.
_STILL: Final = 2 * _POLL
#: Seconds after which a node is lost that cannot be reached or does not answer, and its lease is others': by then it
#: has heard nothing for SILENCE, and spends no more of it.
_LOST: Final = SILENCE + _STILL + _POLL
#: Seconds between two signs of life for the nodes, which hear no poll while a callback of the caller's runs.
_ALIVE: Final = 10.0
#: Seconds between two looks at which nodes the cluster has.
_LOOK_FOR_NODES: Final = 1.0
#: Seconds for a node to end what it runs.
_END: Final = 5.0
#: How often a prompt, and an actor on a node that lives, is started.
_ATTEMPTS: Final = 3
#: Nodes are told of what others keep when that has grown by the limit, divided by this.
_KEPT: Final = 16

_log = logger("rlm_secure")


def run(rlm: RLM[Any], batch: Batch) -> None:
    """Complete the prompts of `batch` on the nodes of the cluster.

    Raises MissingExtra without Ray, TypeError for an RLM that cannot be pickled, EnforcementError if no node has the
    walls that the policy requires, and EnvironmentUnavailable if there is no node for another reason; both name the
    nodes.
    """
    ray = connected()
    if batch.todo:
        _Driver(ray, rlm, batch).run()


@dataclass(eq=False)
class _Worker:
    """One actor, as the driver knows it. `share` is what it was last told that it may have."""

    node_id: str
    where: str
    share: NodeShare
    children: int
    starts: int = 1
    name: str = ""
    actor: Any = None
    waiting: Any = None
    ready: bool = False
    confirmed: int = 0
    running: list[int] = field(default_factory=list)
    unreachable: float | None = None
    #: Seconds since its last answer.
    silent: float = 0.0
    recalled: bool = False
    account: Account = field(default_factory=Account)
    #: Its threads, each of which runs a prompt where there is one; the calls that it had before it was told of fewer.
    threads: int = 0
    before: int = 0
    #: The last message that it was told, and those that it has not confirmed.
    number: int = 0
    told: dict[int, Message] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether it has no more than its share of calls, and will not."""
        return self.account.most == self.share.calls >= self.account.held.calls

    @property
    def used(self) -> NodeShare:
        """What it may still use."""
        running = min(len(self.running), self.threads)
        return self.share.most(NodeShare(running, 0 if self.settled else self.before))


class _Driver:
    """One batch on a cluster. Everything happens in the thread that calls run()."""

    def __init__(self, ray: Any, rlm: RLM[Any], batch: Batch) -> None:
        self._ray = ray
        self._errors = import_module("ray.exceptions")
        self._rlm = rlm
        self._batch = batch
        self._tree = batch.tree
        self._leases = Leases(self._tree.ledger)
        self._todo = deque(batch.todo)
        self._left = len(batch.todo)
        self._looked = time.monotonic()
        self._done = threading.Event()
        self._attempts: Counter[int] = Counter()
        self._workers: list[_Worker] = []
        self._needs: dict[tuple[str, Any], LeaseNeed] = {}
        self._unfit: dict[str, Examined] = {}
        self._lost: list[str] = []
        self._named = 0
        self._whole = NodeShare(batch.concurrency, rlm.policy.lm.concurrency)
        #: The nodes that had an actor and live, those that have had none yet, and when both were looked at.
        self._seen: set[str] = set()
        self._new: list[dict[str, Any]] = []
        self._asked_nodes = 0.0
        #: What was spent when all were told of it for the last time.
        self._said = Spent()
        self._failed: AuditLogError | None = None
        #: What was asked of those that run, with what it names on this machine read.
        self._prompts: dict[int, Any] = {}
        self._contexts = SharedContexts(ray, rlm, batch)
        self._sent = rlm.changed(**dict.fromkeys(_HEARD), audit=None, verbose=False)
        self._sent.__reduce__()  # raises TypeError, before Ray would print what it cannot pickle

    def run(self) -> None:
        stopped = False
        threads.start(self._show_life, "rlm-secure-ray-alive")
        try:
            self._start()
            while self._left:
                self._hear(_LOOK)
                if self._tree.stopped and not stopped:
                    stopped = True
                    self._stop()
                if self._tree.overdue() or (stopped and not any(each.running for each in self._workers)):
                    self._give_up()
                if not stopped:
                    self._grow()
                    self._dispatch()
                self._lend()
                if not self._workers:
                    self._no_node()
            self._end()
        except BaseException:  # Ctrl-C as well
            self._tree.stop("Execution cancelled: its batch was cancelled")
            self._abandon()
            raise
        finally:
            self._done.set()
            for each in self._workers:
                self._kill(each)

    def _show_life(self) -> None:
        while not self._done.wait(_ALIVE):
            # Also those whose first answer nobody has read yet: they have been examined, and look at the clock.
            for worker in [each for each in self._workers if each.unreachable is None and each.silent < _STILL]:
                with suppress(Exception):  # its next poll tells
                    worker.actor.hear.remote()

    # -- actors --------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Which nodes could have an actor and had none."""
        self._asked_nodes = time.monotonic()
        nodes = [each for each in self._ray.nodes() if each["Alive"] and each["Resources"].get("CPU", 0) >= 1]
        self._seen &= {each["NodeID"] for each in nodes}
        self._new = [each for each in nodes if each["NodeID"] not in self._seen]

    def _start(self) -> None:
        """Start an actor on each node, as many as can have a prompt and a model call at the same time."""
        self._look()
        if not self._new:
            raise EnvironmentUnavailable("the Ray cluster has no node with a CPU; add one, or use engine='threads'")
        self._share_out()

    def _grow(self) -> None:
        """Give work to nodes that came after the batch began."""
        if self._todo and time.monotonic() - self._asked_nodes > _LOOK_FOR_NODES:
            with suppress(self._errors.RayError):  # the batch goes on with the nodes that it has
                self._look()
        self._share_out()

    def _share_out(self) -> None:
        """Tell the nodes what each may have at the same time, and start actors on new ones where something is free."""
        most = min(self._whole.slots, self._whole.calls)
        joining = max(0, min(len(self._new), len(self._todo), most - len(self._workers)))
        shares = shared_out(self._whole, [(each.share, each.used) for each in self._workers], joining)
        for worker, share in zip(tuple(self._workers), shares, strict=False):
            if share != worker.share and worker.ready and worker.settled:
                worker.before, worker.share = worker.share.calls, share
                worker.threads = max(worker.threads, share.slots)
                self._tell(worker, ("share", (share.slots, share.calls)))
        calls = self._rlm.policy.lm.concurrency
        children = max(1, min(self._rlm.max_concurrent_subcalls, calls))
        for share in shares[len(shares) - joining :]:
            if share.enough:
                node = self._new.pop(0)
                where = f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
                number = len(self._workers)
                self._begin(_Worker(node["NodeID"], where, share, max(1, part(children, number, len(shares)))))

    def _begin(self, last: _Worker) -> None:
        """Start an actor on the node of `last`."""
        ray, self._named = self._ray, self._named + 1
        self._seen.add(last.node_id)
        name = f"{last.node_id[:8]}-{self._named}"
        account = Account(most=last.share.calls)  # as it begins
        worker = _Worker(last.node_id, last.where, last.share, last.children, last.starts, name, account=account)
        worker.threads = worker.share.slots
        affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        options = ray.remote(_Actor).options(
            num_cpus=1,
            max_concurrency=4,  # a poll, what is told, and the end
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=affinity(worker.node_id, soft=False),
        )
        worker.actor = options.remote()
        order = NodeOrder(
            self._tree.ledger.allowance,
            deadline=time.time() + self._tree.ledger.seconds_left,
            slots=worker.share.slots,
            calls=worker.share.calls,
            children=worker.children,
            heard=tuple(each for each in _HEARD if getattr(self._rlm, each) is not None),
            audited=self._rlm.audit is not None,
        )
        # The key of the model's provider is in it: the arguments of a method go from this process to the actor's, and
        # are in no record of the cluster; what an actor is created with is.
        worker.waiting = worker.actor.begin.remote(self._sent, order)
        self._workers.append(worker)

    def _kill(self, worker: _Worker) -> None:
        with suppress(self._errors.RayError, ValueError):
            self._ray.kill(worker.actor, no_restart=True)

    def _end(self) -> None:
        """End the actors, and charge what their last accounts say."""
        ending = {worker.actor.end.remote(worker.confirmed): worker for worker in self._workers if worker.ready}
        ended, _ = self._ray.wait(list(ending), num_returns=len(ending), timeout=_END) if ending else ([], [])
        for each in ended:
            try:
                self._take(ending[each], *self._ray.get(each))
            except Exception as error:  # noqa: BLE001  all answers are here, and its last account counts
                said = f"{type(error).__name__}: {error}"
                _log.warning("the node %s did not end in order: %s", ending[each].where, said)
        for worker in self._workers:
            if worker.ready:
                self._leases.leave(worker.name)

    def _abandon(self) -> None:
        """Have the nodes end what runs there: sandboxes cost money, and log files are in a temporary folder."""
        with suppress(Exception):  # they are killed in any case
            ending = [worker.actor.end.remote(worker.confirmed) for worker in self._workers if worker.ready]
            if ending:
                self._ray.wait(ending, num_returns=len(ending), timeout=_END)

    # -- what nodes say ------------------------------------------------------------------------------

    def _hear(self, seconds: float) -> None:
        """Take the answers that are there, and wait for the first up to `seconds`."""
        waiting = {worker.waiting: worker for worker in self._workers if worker.waiting is not None}
        found, _ = self._ray.wait(list(waiting), num_returns=1, timeout=seconds) if waiting else ([], [])
        if found and len(waiting) > 1:
            found, _ = self._ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        if not waiting:
            time.sleep(seconds)
        for each in found:
            self._answer(waiting[each], each)
        self._bury(time.monotonic())
        for worker in self._workers:
            if worker.waiting is None:  # its last poll failed
                time.sleep(_AGAIN)
                worker.waiting = worker.actor.poll.remote(worker.confirmed, _POLL)

    def _bury(self, now: float) -> None:
        """A node that has a poll and does not answer it, as a process that is stopped, is dead to the batch."""
        passed, self._looked = min(now - self._looked, 1.0), now  # no more where this program itself was stopped
        for worker in list(self._workers):
            worker.silent += passed if worker.ready else 0.0  # before that, it may wait for a processor
            if worker.silent > _LOST:
                self._died(worker, f"it has not answered for {_LOST:.0f} s")

    def _answer(self, worker: _Worker, answer: Any) -> None:
        worker.silent = 0.0
        try:
            told = self._ray.get(answer)
        except self._errors.ActorUnavailableError as error:
            now = time.monotonic()
            worker.unreachable = worker.unreachable or now
            if not worker.ready or now - worker.unreachable > _LOST:
                self._died(worker, type(error).__name__)
            else:
                worker.waiting = None  # again after a look at the others
            return
        except self._errors.RayTaskError as error:
            self._died(worker, f"{type(error.cause).__name__}: {error.cause}")
            return
        except self._errors.RayError as error:
            self._died(worker, type(error).__name__)
            return
        if worker.unreachable is not None:
            worker.unreachable = None
            worker.actor.tell.remote(list(worker.told.items()))  # once more: it may have missed some
        try:
            if worker.ready:
                self._take(worker, *told)
            else:
                self._ready(worker, told)
        except Exception as error:  # noqa: BLE001  a node that is out of order takes no answer of the others with it
            self._died(worker, f"what it says is out of order: {type(error).__name__}: {error}")
            return
        if worker.ready:
            worker.waiting = worker.actor.poll.remote(worker.confirmed, _POLL)

    def _ready(self, worker: _Worker, found: Examined) -> None:
        """Give a node work if it has the walls; else none, for the whole batch."""
        if found.missing or found.problem:
            self._unfit[worker.where] = found
            _log.warning("the node %s gets no prompt: %s", worker.where, _unfit(found))
            self._workers.remove(worker)
            self._kill(worker)
            return
        walls = 0 if found.report is None else len(found.report.walls)
        _log.info("the node %s was examined: %d walls, and those that are required hold", worker.where, walls)
        worker.ready = True
        self._leases.join(worker.name)
        others = self._leases.others(worker.name)
        if others.refused or others.kept:  # what is left it hears with its first lease
            self._tell(worker, ("spent", (others,)))

    def _take(self, worker: _Worker, messages: list[tuple[int, Message]], heard: int, account: Account) -> None:
        worker.told = {number: message for number, message in worker.told.items() if number > heard}
        self._leases.report(worker.name, account)
        worker.account = account
        if not account.left:
            worker.recalled = False
        for number, (kind, content) in messages:
            if number > worker.confirmed + 1:
                raise ValueError("a message is missing")
            if number == worker.confirmed + 1:
                worker.confirmed = number
                getattr(self, f"_on_{kind}")(worker, content)

    def _on_need(self, worker: _Worker, need: LeaseNeed) -> None:
        self._leases.check(need)
        self._needs[worker.name, need.kind] = need

    def _on_unknown(self, worker: _Worker, error: Any) -> None:
        if not isinstance(error, PriceUnknownError):
            raise TypeError("an unknown price is told by its error")
        self._tree.ledger.refuse_unknown(error)
        for each in self._workers:
            if each.ready and each is not worker:
                self._tell(each, ("unknown", (error,)))

    def _on_call(self, _worker: _Worker, called: tuple[str, tuple[Any, ...]]) -> None:
        name, arguments = called
        if name in _HEARD:
            tell(getattr(self._rlm, name), *arguments)

    def _on_dropped(self, worker: _Worker, count: int) -> None:
        _log.warning("%d events of the node %s were not sent: too many waited", count, worker.where)

    def _on_audit(self, worker: _Worker, recorded: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
        method, (session, *arguments), named = recorded
        if method not in AUDITED or self._failed is not None:
            return
        try:
            getattr(self._rlm.audit, method)(f"{session}@{worker.name}", *arguments, **named)
        except AuditLogError as error:
            self._failed = error
            self._tree.stop(f"Execution cancelled: {error}")

    def _on_item(self, worker: _Worker, delivered: tuple[Item[Any], dict[str, bytes]]) -> None:
        item, logs = delivered
        if not isinstance(item, Item):
            raise TypeError("an item is none")
        if item.index not in worker.running:
            return
        if item.completion is not None:
            item.completion.prompt = self._prompts[item.index]
        elif not isinstance(item.error, Exception):
            raise TypeError("an item has an answer or an error")
        self._finish(self._logged(item, logs))
        worker.running.remove(item.index)  # last: what cannot be read runs again

    def _logged(self, item: Item[Any], logs: dict[str, bytes]) -> Item[Any]:
        """The item, with its log files written to the caller's folder; or a LogError where the policy requires them."""
        logger = self._rlm.logger
        try:
            for name, data in logs.items():
                if logger is not None and logger.log_dir is not None and Path(name).name == name:
                    descriptor = files.create(Path(logger.log_dir) / name, folders=True)
                    with os.fdopen(descriptor, "wb") as file:
                        file.write(data)
        except OSError as error:
            problem = f"the log of prompt {item.index} cannot be written: {error.strerror}"
            if not self._rlm.policy.data.log_optional:
                partial = None if item.completion is None else item.completion.response
                return Item(item.index, error=LogError(problem, partial_answer=partial))
            _log.warning("%s", problem)
        return item

    def _finish(self, item: Item[Any]) -> None:
        if self._failed is not None and isinstance(item.error, CancellationError):
            error = AuditLogError(str(self._failed), partial_answer=item.error.partial_answer)
            item = Item(item.index, error=error)
        self._batch.finish(item)
        self._left -= 1
        self._prompts.pop(item.index, None)

    # -- what nodes are told -------------------------------------------------------------------------

    def _tell(self, worker: _Worker, *messages: Message) -> None:
        """Send messages, each kept until the node has confirmed it."""
        first = worker.number + 1
        worker.number += len(messages)
        worker.told.update(enumerate(messages, first))
        worker.actor.tell.remote(list(enumerate(messages, first)))

    def _dispatch(self) -> None:
        """Give each node what it runs at once, and one more that waits there for a free slot."""
        for worker in [each for each in self._workers if each.ready]:
            begun: list[Message] = []
            ahead = worker.threads == worker.share.slots  # where it has more threads, one more would not wait
            while self._todo and len(worker.running) < worker.share.slots + (
                ahead and len(self._todo) > self._batch.concurrency
            ):
                index = self._todo.popleft()
                try:
                    prompt = documents.resolved(self._batch.prompts[index], self._rlm.policy.limits.context_bytes)
                    stored = self._contexts.stored(index, prompt)
                except Exception as error:  # noqa: BLE001  handed to the caller in its item
                    self._finish(Item(index, error=error))
                    continue
                self._prompts[index] = prompt
                worker.running.append(index)
                what = (prompt, None) if stored is None else stored
                begun.append(("run", (index, *what, self._batch.questions[index])))
            if begun:
                self._tell(worker, *begun)

    def _lend(self) -> None:
        """Answer the calls that wait for a lease, in the order in which they asked; take back what none may keep."""
        workers = {each.name: each for each in self._workers if each.ready}
        short = False
        for (name, kind), need in list(self._needs.items()):
            try:
                amount = self._leases.lease(name, need)
            except LIMITS as limit:
                self._tell(workers[name], ("refusal", (kind, limit, self._leases.others(name))))
            else:
                if amount is None:
                    short = True
                    continue
                self._tell(workers[name], ("lease", (kind, amount, self._leases.others(name))))
            del self._needs[name, kind]
        for name in self._leases.holding() if short else ():
            if not workers[name].recalled:
                workers[name].recalled = True
                self._tell(workers[name], ("recall", ()))
        spent, allowance = self._tree.ledger.spent, self._tree.ledger.allowance
        over = spent.cost_usd > allowance.cost_usd or spent.tokens > allowance.tokens
        news = spent - self._said
        if (over and spent != self._said) or news.refused or news.kept > self._tree.records.limit // _KEPT:
            self._said = spent
            for name, worker in workers.items():  # runs end after their turn, as they do in threads
                self._tell(worker, ("spent", (self._leases.others(name),)))

    # -- ends ----------------------------------------------------------------------------------------

    def _died(self, worker: _Worker, why: str) -> None:
        """Run the prompts of a node elsewhere that it had not delivered, and start another actor if the node lives."""
        count = len(worker.running)
        _log.warning("the actor on the node %s is lost (%s); its %d prompts run again", worker.where, why, count)
        self._workers.remove(worker)
        self._kill(worker)
        if worker.ready:
            self._leases.leave(worker.name)
        self._needs = {key: need for key, need in self._needs.items() if key[0] != worker.name}
        for index in reversed(worker.running):
            self._attempts[index] += 1
            if self._attempts[index] < _ATTEMPTS:
                self._todo.appendleft(index)
            else:
                said = f"prompt {index} was begun {_ATTEMPTS} times, and each time the actor that ran it was lost"
                self._finish(Item(index, error=EnvironmentUnavailable(said)))
        alive = any(each["Alive"] and each["NodeID"] == worker.node_id for each in self._ray.nodes())
        if alive and worker.starts < _ATTEMPTS and not self._tree.stopped:
            worker.starts += 1
            self._begin(worker)
        else:
            self._lost.append(f"{worker.where}: {why}")

    def _stop(self) -> None:
        """The batch was stopped, or its time is over: its runs end on every node."""
        try:
            self._tree.check()
        except (TimeoutExceededError, CancellationError) as why:
            for worker in [each for each in self._workers if each.ready]:
                self._tell(worker, ("stop", (str(why),)))

    def _give_up(self) -> None:
        """The prompts that have no answer get what ended the batch."""
        running = [index for worker in self._workers for index in worker.running]
        for worker in self._workers:
            worker.running.clear()
        for index in (*running, *self._todo):
            try:
                self._tree.check()
            except (TimeoutExceededError, CancellationError) as why:
                self._finish(Item(index, error=why))
        self._todo.clear()

    def _no_node(self) -> None:
        """No node is left. Raise if none had a prompt; else the prompts that have no answer get this error."""
        unfit = [f"{where} {_unfit(found)}" for where, found in self._unfit.items()]
        said = f"no node of the Ray cluster is left: {'; '.join((*unfit, *self._lost))}"
        if unfit and not self._lost:
            missing = {wall.value for found in self._unfit.values() for wall in found.missing}
            raise EnforcementError(said, missing=tuple(sorted(missing))) if missing else EnvironmentUnavailable(said)
        while self._todo:
            self._finish(Item(self._todo.popleft(), error=EnvironmentUnavailable(said)))


class _Actor(Node):
    """A node's part of a batch, as an actor."""

    def __init__(self) -> None:
        super().__init__(fetched)


def _unfit(found: Examined) -> str:
    """Why a node gets no work, as the end of a sentence that begins with its name."""
    walls = ", ".join(wall.value for wall in found.missing)
    return f"lacks what the policy requires: {walls}" if walls else f"cannot run it: {found.problem}"
