"""Make fifty processes.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
"""

import os

children = []
try:
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        children.append(pid)
finally:
    for pid in children:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass  # where SIGCHLD is ignored, nobody has to wait
print("WON", len(children))
