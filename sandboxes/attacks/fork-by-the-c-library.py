"""Make a process with fork(3).

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
"""

import os

pid = os.fork()
if pid == 0:
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON forked")
