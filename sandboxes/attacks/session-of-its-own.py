"""Leave the session and process group that it is killed by.

guarantee: no-leftovers
layer: kernel
wins: prints
outcome: harmless
"""

import os

pid = os.fork()
if pid == 0:
    os.setsid()
    os._exit(0)
try:
    os.waitpid(pid, 0)
except ChildProcessError:
    pass  # where SIGCHLD is ignored, nobody has to wait
print("WON left")
