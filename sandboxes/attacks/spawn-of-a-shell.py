"""Run a shell with posix_spawn(3).

guarantee: no-exec
layer: kernel
wins: writes
outcome: harmless
"""

import os

command = f"echo made > {TARGET['inbox']}/made"
pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], {})
os.waitpid(pid, 0)
