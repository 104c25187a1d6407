"""Run a shell with posix_spawn(3) that computes.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
"""

import os

reading, writing = os.pipe()
output = (os.POSIX_SPAWN_DUP2, writing, 1)
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo $((6*7))"], {}, file_actions=[output])
os.close(writing)
said = os.read(reading, 100)
os.close(reading)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
if said != b"42\n":
    raise OSError(int(said.rpartition(b" ")[2] or 8), f"no program ran: {said!r}")
print("WON a program ran, and computed", said.decode())
