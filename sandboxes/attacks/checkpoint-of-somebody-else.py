"""Answer a request for a checkpoint with the old process instead of a copy.

guarantee: session-isolation
layer: kernel
wins: breaks
outcome: kills its own process tree
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


def fake(self, request):
    os.dup2(self._channel.take_fd(), 3)
    return conclude(self._channel.nonce)


kind = worker()
if kind is None:
    os._exit(1)
kind._checkpoint = fake

start = time.process_time()
while time.process_time() - start < 0.1:
    pass
# next cell
print("after the checkpoint")
# next cell
while True:
    pass
# next cell
print("after its end")
