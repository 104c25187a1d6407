"""Fork once more than the host asked for, and leave that process running.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: channel
"""

import gc
import json
import os
import time


def worker():
    for found in gc.get_objects():
        if type(found).__name__ == "SessionWorker" and hasattr(found, "_checkpoint"):
            return type(found)
    return None


def conclude(nonce):
    said = {"op": "done", "stdout": "", "stderr": "", "dropped": 0, "variables": {}, "answer": None, "error": None}
    body = json.dumps({**said, "cpu": 0.0, "peak": 1, "nonce": nonce}).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)


hidden = []


def fork_twice(self, request):
    fd = self._channel.take_fd()
    for _ in range(2):
        pid = os.fork()
        if pid == 0 and not hidden:
            os.close(3)
            time.sleep(5)
            os._exit(0)
        hidden.append(pid)
        if pid == 0:
            os.dup2(fd, 3)
            os.close(fd)
            return conclude(self._channel.nonce)
    os.close(fd)


kind = worker()
if kind is None:
    hidden.append(os.posix_spawn("/bin/sleep", ["sleep", "1"], {}))
else:
    kind._checkpoint = fork_twice

start = time.process_time()
while time.process_time() - start < 0.1:
    pass
# next cell
if not hidden:
    raise PermissionError(1, "no process was left behind")
print("WON", hidden[0])
