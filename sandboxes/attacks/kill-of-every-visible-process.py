"""Ask, for each pid there could be but its own, whether it may signal that process.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import errno

last = None
for pid in range(2, 40_000):
    if pid == os.getpid():
        continue
    try:
        call("kill", pid, 0)
        print("WON", another(pid))
        break
    except OSError as error:
        last = last if last and error.errno == errno.ESRCH else error
else:
    raise last
