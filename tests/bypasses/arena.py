"""Runs attacks, each in a fork of its own, with the language layer or without it.

Speaks JSON lines: {"source", "wall", "damage"} in, {"won", "how"} out. `wall` runs the source as a cell with every
facade granted; without it the same source is plain Python, with every builtin and every module.
"""

from __future__ import annotations

import builtins
import json
import os
import resource
import select
import signal
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 20


def worth(value: object, shared: Mapping[int, str], depth: int = 3) -> str | None:
    """Why `value` is loot, if it is."""
    from tests.bypasses.host import CANARY
    from tests.guest.walk import complaint

    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return "holds the canary" if CANARY in text else None
    if isinstance(value, types.TracebackType):
        return None  # __exit__ is given one; its frame is closed
    if why := complaint(value, shared):
        return why
    if depth and isinstance(value, dict | types.MappingProxyType):
        value = [*value.keys(), *value.values()]
    if depth and isinstance(value, list | tuple | set | frozenset):
        return next((why for item in list(value)[:500] if (why := worth(item, shared, depth - 1))), None)
    return None


def fight(source: str, wall: bool, damage: str | None, shared: Mapping[int, str]) -> tuple[bool, str]:
    """Run one attack in this process: whether it won, and how it ended."""
    from rlm_secure.guest import compiler, facades, guards
    from tests.bypasses import host

    how = "ran to its end"
    space: dict[str, Any]
    try:
        if wall:
            space = guards.build_globals(facades.NAMES, lambda *values, **options: None)
            space.update(host.names())
            code = compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=100_000)
            compiler.run(code, space)
        else:
            space = {"__builtins__": builtins, "__name__": "__main__", **host.names()}
            exec(builtins.compile(source, "<control>", "exec", dont_inherit=True), space)
    except compiler.Refusal as refusal:
        return False, f"refused: {refusal.rule}"
    except BaseException as error:
        how = f"{type(error).__name__}: {error}"[:200]
    why = worth(space.get("LOOT"), shared)
    if why is None and damage and eval(damage, {"__import__": __import__, "CANARY": host.CANARY, "sys": sys}):
        why = f"damage: {damage}"
    return why is not None, why or how


def child(request: dict[str, Any], shared: Mapping[int, str], out: int) -> None:
    """Fight in a fork, bounded, and report. Never returns: a child that did would answer in its parent's place."""
    try:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        sys.stdin.close()
        with open(os.devnull, "w") as sink:
            sys.stdout = sys.stderr = sink
            won, how = fight(**request, shared=shared)
        os.write(out, b"%d%s" % (won, how.encode()))  # not json: an attack may have poisoned it
    finally:
        os._exit(0)


def serve() -> None:
    """One fork per line of standard input."""
    from rlm_secure.guest import compiler, facades, guards
    from tests.bypasses import host
    from tests.guest.walk import shared_containers

    assert compiler and guards and host  # imported before the first fork
    facades.preload()
    shared = shared_containers()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(json.loads(line), shared, writer)
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
    sys.path.insert(0, str(ROOT))
    serve()
