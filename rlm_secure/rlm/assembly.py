"""Builds what a run works with, of RLM and of agents alike: its tree with the ledger, its clients, its sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlm_secure.clients.base import Client, adapt
from rlm_secure.clients.prices import Prices
from rlm_secure.clients.windows import Windows
from rlm_secure.environments import REPL
from rlm_secure.errors import CellCrashed, SessionEnded
from rlm_secure.events import Listener, SandboxTaken
from rlm_secure.loggers import logger
from rlm_secure.policy import Policy
from rlm_secure.rlm.budget import Allowance, Ledger
from rlm_secure.rlm.tree import Tree

_log = logger("rlm_secure")


def new_tree(
    policy: Policy,
    *,
    max_budget: float | None,
    max_tokens: int | None,
    max_timeout: float | None,
    listeners: Sequence[Listener | None],
    prices: Prices,
    windows: Windows,
    whose: object,
    children: int = 1,
    streams: bool = False,
    ledger: Ledger | None = None,
) -> Tree:
    """A tree of runs, not yet entered. See Tree. Its ledger is `ledger`, or one of its own."""
    allowance = Allowance.of(policy, max_tokens=max_tokens, max_budget=max_budget, max_timeout=max_timeout)
    return Tree(
        ledger or Ledger(allowance),
        concurrency=policy.lm.concurrency,
        children=children,
        listeners=[each for each in listeners if each is not None],
        policy=policy,
        prices=prices,
        windows=windows,
        whose=whose,
        streams=streams,
    )


def joined(
    tree: Tree, policy: Policy, made: Any, model: str | None, *, depth: int = 0, parent: Client | None = None
) -> Client:
    """The client `made` as one of the tree: within the policy's limits, its connections end with the tree.

    `model` is its model where it names none, `parent` the client of the parent run. Raises PriceUnknownError if the
    tree's cost limit must hold and the model has no price.
    """
    client = adapt(made)
    client.model_name = client.model_name or model
    client.retries = min(client.retries, policy.lm.retries)
    client.reply_bytes = policy.lm.reply_bytes
    if parent is not None:
        client.inherit(parent)
    tree.expect_price(depth, client)
    tree.adopt(client)
    return client


def opened(
    tree: Tree,
    open_one: Callable[[], REPL],
    *,
    depth: int = 0,
    files: Mapping[str, bytes | bytearray | str | Path] | None = None,
) -> REPL:
    """What `open_one` opens, with these files; retry once if its sandbox is lost before the first cell."""
    began = time.monotonic()
    try:
        made = open_one()
    except (SessionEnded, CellCrashed) as lost:
        if isinstance(lost, CellCrashed) and lost.wall != "container":
            raise
        _log.warning("a session is opened once more: %s", lost)
        made = open_one()
    try:
        for name, data in (files or {}).items():
            made.files[name] = data
    except BaseException:  # Ctrl-C as well: the session must not outlive it
        made.cleanup()
        raise
    details = made.report.details
    if isinstance(sandbox := details.get("sandbox"), str):
        seconds, reused = time.monotonic() - began, bool(details.get("reused"))
        tree.emit(SandboxTaken(depth=depth, sandbox=sandbox, reused=reused, seconds=seconds))
    return made
