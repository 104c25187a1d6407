"""The program of a throwaway world: builds it, and runs in it what it is told, one attack after the other.

    python -m tests.attacks.throwaway        started by World, in an arena; nowhere else

On standard input come the cells of attacks, a line of JSON each; on standard output goes what each of them did.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlm_secure.testing import arena
from rlm_secure.testing.arena import build as arenas
from rlm_secure.testing.target import Target
from tests.attacks.throwaway import build, session
from tests.attacks.throwaway.manifest import Kind, Look, Lookout, changes, clock, pids

#: More than this many changes are a world in ruins.
_MOST_CHANGES = 1000
#: What a process held goes a moment after it, such as its keys: what is still there at the last look stays.
_LOOKS, _PAUSE = 4, 0.1
#: A process of somebody else's, which no attack has any business with.
_DECOY = "import time; time.sleep(86400)  # somebody is still at work"


def main() -> int:
    """Leave every namespace of the arena, and wait for the world's first process."""
    if arena.inside() is None:
        raise arena.NotInArena("a throwaway world stands in an arena only")
    os.umask(0o022)
    arenas._die_with_parent()
    arenas._unshare(build.NAMESPACES, "namespaces for a world")
    _say({"unshared": True})
    sys.stdin.readline()  # who started it has mapped its users by now
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    init = os.fork()
    if init == 0:
        arenas._die_with_parent()
        build.world()
        _serve()
        os._exit(0)
    sys.stdin.close()
    return os.waitstatus_to_exitcode(os.waitpid(init, 0)[1])


def _serve() -> None:
    """Answer until one has changed something: then nothing can be told of the next."""
    arena.waive(disposable=True)
    subprocess.Popen([sys.executable, "-I", "-S", "-c", _DECOY], start_new_session=True)
    with Target() as target:
        lookout = Lookout(target.tag, {str(target.directory)})
        untouched = lookout.look(without=_planted(target))
        spoiled = False
        while not spoiled and (line := sys.stdin.readline()):
            answer = _attempt(json.loads(line), target, lookout, untouched)
            spoiled = answer["spoiled"]
            _say(answer)
        os._exit(0)  # the kernel cleans up


def _attempt(asked: dict[str, Any], target: Target, lookout: Lookout, untouched: Look) -> dict[str, Any]:
    """Run one attack and compare; then clean up as every user of a target does, and compare again."""
    scratch = Path(tempfile.mkdtemp(prefix=target.tag, dir="/tmp"))  # and the target cleans it up with its own
    lookout = replace(lookout, planted={str(target.directory), str(scratch)})
    keepers, before = pids(), {**untouched, Kind.CLOCK: clock()}
    ended, said = session.run(asked["cells"], asked["seconds"], target, scratch)
    session.end(keepers)
    for _ in range(_LOOKS):
        after = lookout.look(without=_planted(target))
        if not (found := changes(before, after)):
            break
        time.sleep(_PAUSE)
    mounted = target.mounted()
    try:
        _clean_up(asked["cleaned"], target)
        lookout = replace(lookout, planted={str(target.directory), str(scratch)})  # a mended one has another name
        cleaned = changes(before, lookout.glance(without=_planted(target)))
    except OSError as error:
        cleaned = [(Kind.FILES, f"what was planted cannot be cleaned up: {error}")]
    return {
        "ended": ended,
        "said": said,
        "changes": found[:_MOST_CHANGES],
        "mounted": mounted,
        "cleaned": cleaned[:_MOST_CHANGES],
        "spoiled": bool(found or mounted or cleaned),
    }


def _clean_up(how: str, target: Target) -> None:
    match how:
        case "by reset":
            target.reset()
        case "by close":
            target.close()
        case "by rmtree":  # as it was once done, through a mount of the root
            shutil.rmtree(target.directory, ignore_errors=True)


def _planted(target: Target) -> frozenset[int]:
    """The target's own process, which is there to be attacked."""
    return frozenset({target._bystander.pid})


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
