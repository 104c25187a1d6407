"""Leave a process behind that nobody waits for.

guarantee: no-leftovers
layer: kernel
wins: remains
outcome: harmless
"""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2, 3):
            try:
                os.close(fd)
            except OSError:
                pass
        time.sleep(120)
    os._exit(0)
time.sleep(0.2)
