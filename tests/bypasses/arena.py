"""Runs attacks, each in a fork of its own: `arena.py cell` as cells, `arena.py plain` as plain Python, and
`arena.py packages` as cells that have imported numpy, pandas and matplotlib.

Speaks JSON lines: {"source", "damage"} in, {"won", "how"} out. A cell is granted every facade; plain Python has every
builtin and every module, and in that process no part of the guest that could have changed one.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import resource
import select
import signal
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.bypasses import host  # noqa: E402
from tests.guest.walk import complaint, shared_containers  # noqa: E402

SECONDS = 20
#: The packages that this process has loaded, and how a cell imports them.
LOADED: list[str] = []
IMPORTS = "import numpy, pandas, matplotlib.pyplot\nimport numpy as np, pandas as pd, matplotlib.pyplot as plt\n"


def load_packages() -> None:
    """Load those of the policy `data`, as its zygote does."""
    from rlm_secure.environments.local import packages as installed
    from rlm_secure.guest import packages

    names = ["matplotlib", "numpy", "pandas"]
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # pandas would start a thread of it; a zygote does not find it
    packages.load(names, installed.folders(names))
    packages.close(names)
    LOADED.extend(names)


def worth(value: object, shared: Mapping[int, str], depth: int = 3) -> str | None:
    """Why `value` is loot, if it is."""
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return "holds the canary" if host.CANARY in text else None
    if isinstance(value, types.TracebackType):
        return None  # __exit__ is given one; its frame is closed
    if why := complaint(value, shared):
        return why
    if depth and isinstance(value, dict | types.MappingProxyType):
        value = [*value.keys(), *value.values()]
    if depth and isinstance(value, list | tuple | set | frozenset):
        return next((why for item in list(value)[:500] if (why := worth(item, shared, depth - 1))), None)
    return None


def as_plain(source: str) -> tuple[dict[str, Any], str]:
    """Run `source` with nothing in its way: its globals, and how it ended."""
    space: dict[str, Any] = {"__builtins__": builtins, "__name__": "__main__", **host.names()}
    gc.disable()  # it would walk over forged objects, sooner or later by what ran before
    try:
        exec(builtins.compile(source, "<control>", "exec", dont_inherit=True), space)
    except BaseException as error:
        return space, f"{type(error).__name__}: {error}"[:200]
    return space, "ran to its end"


def as_cell(source: str) -> tuple[dict[str, Any], str]:
    """Run `source` behind the language layer alone: its globals, and how it ended."""
    from rlm_secure.guest.language import compiler, guards, imports

    space = guards.build_globals(imports.NAMES | set(LOADED), lambda *values, **options: None)
    space.update(host.names())
    try:
        if LOADED:
            compiler.run(compiler.compile_cell(IMPORTS, source_bytes=1 << 20, ast_nodes=100_000), space)
        compiler.run(compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=100_000), space)
    except compiler.CellRefused as refusal:
        return space, f"refused: {refusal.rule}"
    except BaseException as error:
        return space, f"{type(error).__name__}: {error}"[:200]
    return space, "ran to its end"


def judge(space: Mapping[str, Any], damage: str | None) -> str | None:
    """Why the attack won, if it did."""
    loot = space.get("LOOT")
    shared = shared_containers() if isinstance(loot, dict | list | set | tuple | bytearray) else {}
    if why := worth(loot, shared):
        return why
    if damage and eval(damage, {"__import__": __import__, "CANARY": host.CANARY, "sys": sys}):
        return f"damage: {damage}"
    return None


def child(run: Callable[[str], tuple[dict[str, Any], str]], source: str, damage: str | None, out: int) -> None:
    """Fight in a fork, bounded, and report. Never returns: a child that did would answer in its parent's place."""
    try:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        sys.stdin.close()
        with open(os.devnull, "w") as sink:
            sys.stdout = sys.stderr = sink
            space, how = run(source)
            why = judge(space, damage)
        os.write(out, b"%d%s" % (why is not None, (why or how).encode()))  # not json: it may have been poisoned
    finally:
        os._exit(0)


def serve(run: Callable[[str], tuple[dict[str, Any], str]]) -> None:
    """One fork per line of standard input."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(run, request["source"], request["damage"], writer)
        os.close(writer)
        ready, _, _ = select.select([reader], [], [], SECONDS + 5)
        data = os.read(reader, 65536) if ready else b""
        os.close(reader)
        if not data:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        answer = {"won": data[:1] == b"1", "how": data[1:].decode() or "died or hung"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    if sys.argv[1] != "plain":
        from rlm_secure.guest.language import compiler, facades, guards

        assert compiler and guards  # imported before the first fork
        if sys.argv[1] == "packages":
            load_packages()
        facades.preload()
        serve(as_cell)
    else:
        serve(as_plain)
