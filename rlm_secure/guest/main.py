"""Entry of the bundle: `python -I -S -B BUNDLE zygote FD | zygote PATH | modules | supervise [CONFIG] | dial SOCKET`.

`supervise --zygote PATH [CONFIG]` starts no zygote, but waits for one at PATH.
"""

from __future__ import annotations

import gc
import os
import sys
import types


def _never(**_handlers: object) -> None:
    """Registers no handler."""


def main() -> None:
    """Run the program that the first argument names."""
    # A cell's classes have `__main__` as their module, and library code looks up names of their methods there.
    sys.modules["__main__"] = types.ModuleType("__main__")
    match sys.argv[1:]:
        case ["zygote", path] if not path.isdigit():
            from .zygote import apart

            apart.become_zygote(path)
        case ["zygote", fd]:
            gc.disable()  # imports leave no garbage; enabled again before the first session, in zygote.serve
            # Modules register fork handlers for threads, and for processes that continue side by side. A session has
            # neither. Its random seed comes from the host, and its checkpoints must keep it, so that a run can be
            # repeated.
            os.register_at_fork = _never
            from .zygote import zygote

            zygote.main(int(fd))
        case ["modules"]:
            from .zygote import boot, zygote

            for imported in boot.imported():
                sys.stdout.write("\0".join(imported) + "\n")
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
            programs = "zygote FD | zygote PATH | modules | supervise [--zygote PATH] [CONFIG] | dial SOCKET"
            sys.exit(f"usage: BUNDLE {programs}")
