"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD | supervise [CONFIG] | dial SOCKET`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Do what the first argument names."""
    match sys.argv[1:]:
        case ["zygote", fd]:
            gc.disable()  # what it imports is no garbage; on again before the first session, in zygote.serve
            from . import zygote

            zygote.main(int(fd))
        case ["supervise", *rest]:
            from . import supervisor

            supervisor.main(rest)
        case ["dial", path]:
            from . import dial

            dial.main(path)
        case _:
            sys.exit("usage: BUNDLE zygote FD | supervise [CONFIG] | dial SOCKET")
