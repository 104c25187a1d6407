"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD | zygote PATH | supervise [CONFIG] | dial SOCKET`.

`supervise --zygote PATH [CONFIG]` starts no zygote, but waits for one at PATH.
"""

from __future__ import annotations

import gc
import os
import sys
import types


def _never(**_handlers: object) -> None:
    """No handler is registered."""


def main() -> None:
    """Do what the first argument names."""
    # A cell's classes say that they are from `__main__`, and library code looks there for what their methods may name.
    sys.modules["__main__"] = types.ModuleType("__main__")
    match sys.argv[1:]:
        case ["zygote", path] if not path.isdigit():
            from .zygote import apart

            apart.become_zygote(path)
        case ["zygote", fd]:
            gc.disable()  # what it imports is no garbage; on again before the first session, in zygote.serve
            # What modules do after a fork is for threads, and for copies that go on side by side. A session is alone;
            # it has its seed from the host, and keeps it in its copies, so that it can be run again.
            os.register_at_fork = _never
            from .zygote import zygote

            zygote.main(int(fd))
        case ["supervise", "--zygote", path, *rest]:
            from .supervisor import supervisor

            supervisor.main(rest, path)
        case ["supervise", *rest]:
            from .supervisor import supervisor

            supervisor.main(rest)
        case ["dial", path]:
            from .supervisor import dial

            dial.main(path)
        case _:
            sys.exit("usage: BUNDLE zygote FD | zygote PATH | supervise [--zygote PATH] [CONFIG] | dial SOCKET")
