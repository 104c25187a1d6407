"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD | supervise [CONFIG] | dial SOCKET`."""

from __future__ import annotations

import sys


def main() -> None:
    """Do what the first argument names."""
    match sys.argv[1:]:
        case ["zygote", fd]:
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
